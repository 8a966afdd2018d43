/** Checks of downloaded data, and replacements of data that changed at the source or was damaged on the disk. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'

const PART = 65_536
let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  s3.put('raw/a', 'first')
  s3.put('raw/deep/b', 'second')
  s3.put('raw/large', randomBytes(PART * 3))
  await download()
})

const at = (...path: string[]) => join(root, 'data', ...path)
const state = (...path: string[]) => join(root, '.data.mover', ...path)
const check = (contents: string, ...more: string[]) => runMover(root, ['check', '--contents', contents, ...more])
const download = (...more: string[]) =>
  runMover(root, ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/', '--part-size', `${PART}`, ...more])
const tree = async () => {
  const { large, ...small } = await readTree(at())
  return { ...small, large: large?.length }
}
const WHOLE = { a: 'first', 'deep/b': 'second', large: PART * 3 }
const SIZE = PART * 3 + 11
const bodies = () => s3.requests.filter(({ method, key }) => method === 'GET' && key !== '').map(({ key }) => key)

async function damage(name: string): Promise<void> {
  const file = await open(at(name), 'r+')
  await file.write('X', 0)
  await file.close()
}

describe('a check', () => {
  test.each(['record', 'files', 'checksums'])(
    'of the %s of complete data succeeds, and asks no server',
    async (contents) => {
      s3.requests.length = 0

      const { status, result } = await check(contents)

      expect({ status, ...result }).toMatchObject({
        status: 0,
        verb: 'check',
        files: 3,
        bytes: PART * 3 + 11,
        oldTrees: 0,
      })
      expect(s3.requests).toEqual([])
      expect(await tree()).toEqual(WHOLE)
    },
  )

  test.each<{ name: string; harm: () => Promise<unknown>; contents: string; code: string; message: RegExp }>([
    {
      name: 'a replaced disk',
      harm: async () => {
        await rm(at(), { recursive: true })
        await rm(state(), { recursive: true })
      },
      contents: 'record',
      code: 'DataMissing',
      message: /neither data nor the record of a download: the disk was replaced/,
    },
    {
      name: 'a replaced disk on which the kubelet made a directory',
      harm: async () => {
        await rm(at(), { recursive: true })
        await rm(state(), { recursive: true })
        await mkdir(at())
      },
      contents: 'files',
      code: 'DataMissing',
      message: /the disk was replaced/,
    },
    {
      name: 'a deleted directory',
      harm: () => rm(at(), { recursive: true }),
      contents: 'record',
      code: 'DataMissing',
      message: /data was deleted, although the record of its download is there/,
    },
    {
      name: 'deleted files',
      harm: () => Promise.all([rm(at('a')), rm(at('deep'), { recursive: true })]),
      contents: 'files',
      code: 'DataDamaged',
      message: /^2 of 3 files are missing or have another size: a, deep\/b$/,
    },
    {
      name: 'a truncated file',
      harm: () => truncate(at('large'), PART),
      contents: 'files',
      code: 'DataDamaged',
      message: /^1 of 3 files are missing or have another size: large$/,
    },
    {
      name: 'a directory in place of a file',
      harm: async () => {
        await rm(at('a'))
        await mkdir(at('a'))
      },
      contents: 'files',
      code: 'DataDamaged',
      message: /: a$/,
    },
    {
      name: 'other content of the same size',
      harm: () => damage('a'),
      contents: 'checksums',
      code: 'DataDamaged',
      message: /^1 files do not match their checksums: a$/,
    },
    {
      name: 'a missing record, where pods write nothing',
      harm: () => rm(state('complete.json')),
      contents: 'files',
      code: 'DataDamaged',
      message: /has files, but no record of a download/,
    },
    {
      name: 'a missing record, where pods may have written',
      harm: () => rm(state('complete.json')),
      contents: 'record',
      code: 'TargetExists',
      message: /has files, but no record of a download/,
    },
    {
      name: 'a damaged list of files',
      harm: () => writeFile(state('manifest'), '{"key'),
      contents: 'files',
      code: 'DataDamaged',
      message: /the list of files is damaged/,
    },
    {
      name: 'a shortened list of files',
      harm: () => writeFile(state('manifest'), ''),
      contents: 'files',
      code: 'DataDamaged',
      message: /the list of files has 0 files, and 3 were downloaded/,
    },
  ])('finds $name', async ({ harm, contents, code, message }) => {
    await harm()

    const { status, result } = await check(contents)

    expect(status).not.toBe(0)
    expect(result).toMatchObject({ outcome: 'failed', code })
    expect(result.message).toMatch(message)
  })

  test('of the record allows what pods write and delete', async () => {
    await rm(at('a'))
    await writeFile(at('new'), 'of a pod')

    expect((await check('record')).status).toBe(0)
  })

  test('of a directory without any data finds that it is missing', async () => {
    const other = makeRoot()

    expect((await runMover(other, ['check'])).result).toMatchObject({ code: 'DataMissing' })
  })

  test('rejects a time that is none', async () => {
    expect((await check('record', '--delete-old', 'soon')).status).toBe(2)
  })
})

describe('a replacement', () => {
  test('of an unchanged source changes nothing', async () => {
    const { ino } = await stat(at())
    s3.requests.length = 0

    const { result } = await download('--existing', 'compare')

    expect(result).toMatchObject({ outcome: 'completed', message: 'the data is unchanged', movedBytes: 0 })
    expect(result).not.toHaveProperty('replaced')
    expect((await stat(at())).ino).toBe(ino)
    expect(bodies()).toEqual([])
    expect(existsSync(state('replacement'))).toBe(false)
  })

  test('downloads changed objects only, and keeps the old tree for pods that use it', async () => {
    s3.put('raw/a', 'changed')
    s3.put('raw/new', 'new')
    s3.objects.delete('raw/deep/b')
    const before = await readTree(at())
    const { ino } = await stat(at('large'))
    s3.requests.length = 0

    const { result } = await download('--existing', 'compare')

    expect(result).toMatchObject({ files: 3, movedBytes: 10, oldTrees: 1, replaced: true })
    expect(bodies().sort()).toEqual(['raw/a', 'raw/new'])
    expect(await tree()).toEqual({ a: 'changed', new: 'new', large: PART * 3 })
    expect((await stat(at('large'))).ino).toBe(ino)
    const [old = ''] = await readdir(state('old'))
    expect(await readTree(state('old', old))).toEqual(before)
    expect((await check('checksums')).status).toBe(0)
  })

  test.each(['compare', 'verify'])('counts each file once in its progress (%s)', async (existing) => {
    s3.put('raw/a', 'other')

    const { said } = await download('--existing', existing)

    const [last = '{}'] = said.split('\n').filter((line) => line.includes('"completed"'))
    expect(JSON.parse(last)).toMatchObject({ doneFiles: 3, totalFiles: 3, doneBytes: SIZE, totalBytes: SIZE })
  })

  test('of which an object is denied reports no more bytes than there are', async () => {
    s3.put('raw/a', 'other')
    s3.misbehave(({ key }) => (key === 'raw/a' ? { status: 403 } : undefined))

    const { result } = await download('--existing', 'verify')

    expect(result).toMatchObject({ code: 'AccessDenied', files: 2, bytes: SIZE - 5, totalBytes: SIZE })
  })

  test.each([
    { name: 'FIFO', make: (path: string) => execFileSync('mkfifo', [path]) },
    { name: 'link to a device', make: (path: string) => symlink('/dev/zero', path) },
  ])('downloads a file again in whose place a pod put a $name', async ({ make }) => {
    await rm(at('a'))
    await make(at('a'))

    expect((await download('--existing', 'verify')).result).toMatchObject({ outcome: 'completed', movedBytes: 5 })
    expect(await tree()).toEqual(WHOLE)
  })

  test('deletes old trees when no pod uses them', async () => {
    s3.put('raw/a', 'changed')
    await download('--existing', 'compare')

    expect((await check('files', '--delete-old', '2026-01-01T00:00:00Z')).result.oldTrees).toBe(1)
    s3.put('raw/a', 'changed again')
    expect((await download('--existing', 'compare', '--delete-old', 'all')).result.oldTrees).toBe(1)
    expect((await check('files', '--delete-old', 'all')).result.oldTrees).toBe(0)

    expect(await readdir(state('old'))).toEqual([])
    expect(await tree()).toMatchObject({ a: 'changed again' })
  })

  test.each([
    { name: 'a deleted file', harm: () => rm(at('a')), want: ['raw/a'] },
    { name: 'a truncated file', harm: () => truncate(at('a'), 2), want: ['raw/a'] },
    { name: 'other content of the same size', harm: () => damage('a'), want: ['raw/a'] },
    { name: 'no damage', harm: async () => undefined, want: [] },
  ])('of damaged data repairs $name, and downloads nothing else', async ({ harm, want }) => {
    await harm()
    s3.requests.length = 0

    const { status } = await download('--existing', 'verify')

    expect(status).toBe(0)
    expect(bodies()).toEqual(want)
    expect(await tree()).toEqual(WHOLE)
    expect((await check('checksums')).status).toBe(0)
  })

  test('of missing data is a download', async () => {
    await rm(at(), { recursive: true })

    expect((await download('--existing', 'verify')).status).toBe(0)
    expect(await tree()).toEqual(WHOLE)
  })

  test.each([
    { name: 'between its two renames', move: () => rename(at(), state('replacement', 'files')) },
    { name: 'before it replaced the list of files', move: async () => undefined },
  ])('that was killed $name is completed by the next mover, whatever it does', async ({ move }) => {
    const before = await readBytes(state('manifest'))
    s3.put('raw/a', 'changed')
    await download('--existing', 'compare')
    const [old = ''] = await readdir(state('old'))
    const upload = () =>
      runMover(root, ['upload', '--source', at(), '--target', 's3://lake/raw/', '--endpoint', s3.url])
    for (const next of [download, () => check('files'), upload]) {
      // The state at that moment: the old tree is aside, the new one is complete.
      await mkdir(state('replacement'))
      await move()
      for (const name of ['complete.json', 'manifest', 'checksums']) {
        await writeFile(state('replacement', name), await readBytes(state(name)))
      }
      await writeFile(state('manifest'), before)

      const { result } = await next()

      expect(result.outcome).toBe('completed')
      expect(await tree()).toMatchObject({ a: 'changed' })
      expect(await readdir(state('old'))).toEqual([old])
      expect((await check('checksums')).status).toBe(0)
    }
    expect(s3.requests.filter(({ method }) => method === 'PUT')).toEqual([])
  })

  test('never writes to the published files, also when an object changes twice', async () => {
    s3.put('raw/a', 'changed')
    // The first attempt links deep/b, and fails at the changed object.
    s3.misbehave(({ key }) => (key === 'raw/a' ? { status: 403 } : undefined))
    expect((await download('--existing', 'compare')).status).toBe(3)
    s3.misbehave(() => undefined)
    s3.put('raw/deep/b', 'SECOND')
    const before = await readTree(at())
    await download('--existing', 'compare')

    const [old = ''] = await readdir(state('old'))
    expect(await readTree(state('old', old))).toEqual(before)
    expect(await tree()).toEqual({ a: 'changed', 'deep/b': 'SECOND', large: PART * 3 })
  })

  test('of a stream is built beside the files that pods use', async () => {
    const stream = makeRoot()
    const words = ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/', '--in-place', 'true']
    await runMover(stream, words)
    s3.put('raw/a', 'changed')

    const { result } = await runMover(stream, [...words, '--existing', 'compare'])

    expect(result.oldTrees).toBe(1)
    expect(await readTree(join(stream, 'data'))).toMatchObject({ a: 'changed', 'deep/b': 'second' })
  })
})

async function readBytes(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}
