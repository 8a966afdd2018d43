/** Tests of files that a server or a file system does not take: each is named, all others are uploaded, and a deletion always ends. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, rmSync, symlinkSync } from 'node:fs'
import { rm, symlink, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readTree, runMover } from './mover-run.ts'
import type { SeenRequest } from './s3-server.ts'
import { PART, useWrittenBackFolder } from './written-back-folder.ts'

const folder = useWrittenBackFolder()
const { download, upload, stored, pod } = folder

/** Makes folders in each other until their path is longer than Linux takes, as a process with a faulty recursion does. */
function makeDeep(folder: string): void {
  const script =
    'mkdir -p "$0" && cd "$0" || exit; n=$(printf "%0200d" 0); for i in $(seq 30); do mkdir $n && cd -P $n || exit; done; : > file'
  execFileSync('bash', ['-c', script, folder])
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
}

describe('a path that is longer than Linux takes', () => {
  test('does not keep a deletion from its end', async () => {
    makeDeep(join(folder.root, 'data', 'a'))

    expect((await runMover(folder.root, ['delete'])).result).toMatchObject({ outcome: 'completed', files: 1 })
    expect(await readTree(folder.root)).toEqual({ termination: expect.any(String) })
  })

  test('in a staging directory is removed by the next download', async () => {
    folder.s3.put('data/a', 'x')
    makeDeep(join(folder.root, '.data.mover', 'files', 'd'))

    expect((await download()).result).toMatchObject({ outcome: 'completed', files: 1 })
  })

  test('is an error of an upload, after all other files', async () => {
    await pod('ok')
    makeDeep(join(folder.root, 'data', 'deep'))

    const { result } = await upload()

    expect(result).toMatchObject({ outcome: 'failed', code: 'UnsafeKey', retry: false })
    expect(result.message).toContain('deep/000')
    expect(stored()).toEqual({ ok: 'x' })
  })
})

// All of these are in the files of the mover too, where one of them ends a line.
test.each(['\u2028', '\u2029', '\u0085', '\r', '\n', '\v', '\\', '"', '\x01'])(
  'a name with %j is one name in each task',
  async (odd) => {
    const name = `a${odd}b`
    for (const path of [name, `${name}c/d`]) folder.s3.put(`data/${path}`, 'x')

    expect((await download()).result).toMatchObject({ outcome: 'completed', files: 2 })
    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
    expect((await runMover(folder.root, ['check', '--contents', 'checksums'])).result.outcome).toBe('completed')
    folder.s3.put('data/new', 'x')
    expect((await download('--existing', 'verify')).result).toMatchObject({ outcome: 'completed', movedBytes: 1 })
    await pod(name, 'y')
    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 1 })
    expect(stored()).toEqual({ [name]: 'y', [`${name}c/d`]: 'x', new: 'x' })
  },
)

describe('a file that the server does not take', () => {
  const long = `${'d'.repeat(250)}/`.repeat(4)
  test.each([
    { name: 'with a key of more than 1024 bytes', refused: `${long}${'f'.repeat(30)}`, code: 'UnsafeKey' },
    {
      name: 'whose name the server refuses',
      refused: 'm',
      status: 400,
      error: 'XMinioInvalidObjectName',
      code: 'Rejected',
    },
    {
      name: 'whose name is too long for the server',
      refused: 'm',
      status: 400,
      error: 'KeyTooLongError',
      code: 'UnsafeKey',
    },
    { name: 'that a lock protects', refused: 'm', status: 409, error: 'BlobImmutableDueToPolicy', code: 'Rejected' },
  ])('$name is named, and all others are uploaded', async ({ refused, status = 0, error = '', code }) => {
    for (const path of ['a', refused, 'z']) await pod(path)
    folder.s3.misbehave(({ method, key }) =>
      status > 0 && method !== 'HEAD' && key === `data/${refused}` ? { status, code: error } : undefined,
    )

    const { result } = await upload('--parallel', '1')

    expect(result).toMatchObject({ outcome: 'failed', code, retry: false })
    expect(result.message).toContain(`s3://lake/data/${refused.slice(0, 100)}`)
    expect(stored()).toEqual({ a: 'x', z: 'x' })
  })

  test('does not hide other files behind a conflict: the failure is not a conflict alone', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    folder.s3.put('data/a', 'theirs')
    await pod('a', 'mine')
    await pod(`${long}${'f'.repeat(30)}`)

    expect((await upload()).result.code).toBe('UnsafeKey')
  })

  test('does not end an upload because of its name, however many such files there are', async () => {
    const good = Array.from({ length: 200 }, (_, i) => `${long}good-${i}`)
    await Promise.all([...good, ...good.map((path) => `${path}${'f'.repeat(30)}`)].map((path) => pod(path)))

    const { result } = await upload()

    expect(result).toMatchObject({ outcome: 'failed', code: 'UnsafeKey' })
    expect(Object.keys(stored()).sort()).toEqual(good.sort())
  })

  test('ends an upload after many that the server rejects', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, i) => pod(`${i}`)))
    folder.s3.misbehave(({ method }) => (method === 'PUT' ? { status: 400, code: 'InvalidRequest' } : undefined))

    expect((await upload()).result.code).toBe('Rejected')
    expect(folder.s3.requests.filter(({ method }) => method === 'PUT').length).toBeLessThan(150)
  })
})

describe('a folder that replaces a file', () => {
  test('is not uploaded while the object of the file exists', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    await rm(join(folder.root, 'data', 'a'))
    await pod('a/b')
    await pod('c')

    const { result } = await upload()

    expect(result).toMatchObject({ outcome: 'failed', code: 'KeyConflict', retry: false })
    expect(result.message).toContain('s3://lake/data/a/b, while s3://lake/data/a exists')
    expect(stored()).toEqual({ a: 'x', c: 'x' })

    folder.s3.objects.delete('data/a')
    expect((await upload()).result.outcome).toBe('completed')
    expect(stored()).toEqual({ 'a/b': 'x', c: 'x' })
  })

  test.each([
    { name: 'the objects of the folder exist', key: 'data/a/b' },
    { name: 'the object of the empty folder exists', key: 'data/a/' },
  ])('the other way round: not while $name', async ({ key }) => {
    folder.s3.put(key, key.endsWith('/') ? '' : 'x')
    folder.s3.put('data/c', 'x')
    await download()
    await rm(join(folder.root, 'data', 'a'), { recursive: true })
    await pod('a', 'file')

    expect((await upload()).result).toMatchObject({ outcome: 'failed', code: 'KeyConflict' })
    expect([...folder.s3.objects.keys()].sort()).toEqual([key, 'data/c'])
  })

  test('and is replaced by the file again is an unchanged file', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    await rm(join(folder.root, 'data', 'a'))
    await pod('a/b')
    await rm(join(folder.root, 'data', 'a'), { recursive: true })
    await pod('a')

    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  })
})

describe('what changes during an upload', () => {
  const isFirst = (key: string) => {
    let left = 1
    return ({ key: seen }: SeenRequest) => seen === key && left-- > 0
  }

  test('a folder that a pod deletes is no error', async () => {
    await pod('d/a')
    await pod('d/e/f')
    const first = isFirst('data/d/a')
    folder.s3.misbehave((request) => {
      if (first(request)) rmSync(join(folder.root, 'data', 'd', 'e'), { recursive: true })
      return undefined
    })

    expect((await upload('--parallel', '1')).result).toMatchObject({ outcome: 'completed' })
    expect(stored()).toMatchObject({ 'd/a': 'x' })
  })

  test('a directory that is missing is an error: it does not count as written back', async () => {
    expect((await upload()).result).toMatchObject({ outcome: 'failed' })
  })

  test('a file that a pod writes all the time is uploaded as it was, and named', async () => {
    for (const name of ['log', 'other']) await pod(name)
    folder.s3.misbehave(({ method, key }) => {
      if (method === 'PUT' && key === 'data/log') appendFileSync(join(folder.root, 'data', 'log'), 'y')
      return undefined
    })

    const message = 'still being written: log; their last changes are not uploaded'
    expect((await upload()).result).toMatchObject({ outcome: 'failed', code: 'SourceChanged', message })
    expect(stored()).toEqual({ log: 'xyy', other: 'x' })
  })

  test('a large file that becomes shorter is uploaded in the next round, with all others', async () => {
    await pod('large', 'y'.repeat(2 * PART + 10))
    await pod('other')
    let left = 1
    folder.s3.misbehave(({ method, query }) => {
      if (method === 'PUT' && query.get('partNumber') === '1' && left-- > 0)
        return { hold: truncate(join(folder.root, 'data', 'large'), 9) }
      // S3 refuses parts that are too short, except the last one.
      return method === 'POST' && query.has('uploadId') ? { status: 400, code: 'EntityTooSmall' } : undefined
    })

    expect((await upload()).result).toMatchObject({ outcome: 'completed' })
    expect(stored()).toEqual({ large: 'y'.repeat(9), other: 'x' })
  })
})

test('links, pipes and sockets are named in the result, since they are not uploaded', async () => {
  await pod('model-5', 'weights')
  await symlink('model-5', join(folder.root, 'data', 'latest'))
  execFileSync('mkfifo', [join(folder.root, 'data', 'pipe')])
  symlinkSync('.', join(folder.root, 'data', 'folder'))

  const { result } = await upload()

  expect(result).toMatchObject({ outcome: 'completed', files: 1 })
  expect(result.message).toMatch(/; not uploaded, since they are no files: (?=.*latest)(?=.*pipe)(?=.*folder)/)
})
