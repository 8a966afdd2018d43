/** Tests which files a mover writes back to a bucket, and which it deletes from a node. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { lastProgress, makeRoot, readResult, readTree, runMover, startMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'

const PART = 5 * 1024 * 1024

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server({ pageSize: 2 })
  root = makeRoot()
})

const upload = (...more: string[]) =>
  runMover(root, [
    ...['upload', '--endpoint', s3.url, '--source', join(root, 'data'), '--target', 's3://lake/results/'],
    ...['--part-size', `${PART}`, '--retries', '2', ...more],
  ])
const remove = () => runMover(root, ['delete'])

async function write(files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
}

const stored = () => Object.fromEntries([...s3.objects].map(([key, { body }]) => [key, body.toString('latin1')]))
const writes = () => s3.requests.filter(({ method }) => method === 'PUT').map(({ key }) => key)

describe('an upload', () => {
  test('puts every file below the prefix, large ones in parts', async () => {
    const large = randomBytes(2 * PART + 1)
    await write({ 'data/a b+c': 'x', 'data/sub/empty': '', 'data/large': large })

    const { status, result } = await upload()

    expect(status).toBe(0)
    const wanted = { 'results/a b+c': 'x', 'results/sub/empty': '', 'results/large': large.toString('latin1') }
    expect(stored()).toEqual(wanted)
    expect(result).toMatchObject({
      outcome: 'completed',
      files: 3,
      bytes: large.length + 1,
      movedBytes: large.length + 1,
    })
  })

  test('says of large files that it compares, the same and others, how far it is', async () => {
    const large = randomBytes(3 * PART)
    await write({ 'data/same': large, 'data/other': large })
    await upload()
    await write({ 'data/other': randomBytes(3 * PART) })

    const { said, result } = await upload()

    expect(result).toMatchObject({ outcome: 'completed', movedBytes: 3 * PART })
    expect(lastProgress(said)).toEqual({ doneBytes: 6 * PART, totalBytes: 6 * PART })
  })

  test('again sends only what has changed since', async () => {
    const large = randomBytes(PART + 1)
    await write({ 'data/a': 'x', 'data/b': 'y', 'data/large': large })
    await upload()
    await write({ 'data/b': 'z' })
    const before = writes().length

    const { result } = await upload()

    expect(writes().slice(before)).toEqual(['results/b'])
    expect(result).toMatchObject({ files: 3, movedBytes: 1 })
  })

  test('deletes nothing, and touches nothing beside its prefix', async () => {
    s3.put('results/old', 'kept')
    s3.put('other', 'kept')
    await write({ 'data/a': 'x' })

    await upload()

    expect(stored()).toEqual({ 'results/old': 'kept', other: 'kept', 'results/a': 'x' })
  })

  test('follows no link out of the directory', async () => {
    const elsewhere = makeRoot()
    await writeFile(join(elsewhere, 'secret'), 'x')
    await write({ 'data/a': 'x' })
    await symlink(elsewhere, join(root, 'data', 'folder'))
    await symlink(join(elsewhere, 'secret'), join(root, 'data', 'file'))

    expect((await upload()).status).toBe(0)
    expect(Object.keys(stored())).toEqual(['results/a'])
  })

  test('continues when the server returns errors for a while', async () => {
    await write({ 'data/a': 'x', 'data/large': randomBytes(PART + 1) })
    let left = 2
    s3.misbehave(({ method }) => (method === 'PUT' && left-- > 0 ? { status: 503 } : undefined))

    expect((await upload()).status).toBe(0)
    expect(s3.objects.size).toBe(2)
  })

  test('that fails leaves no parts behind that cost money', async () => {
    await write({ 'data/large': randomBytes(PART + 1) })
    s3.misbehave(({ query }) => (query.get('partNumber') === '2' ? { status: 403, code: 'AccessDenied' } : undefined))

    expect(await upload()).toMatchObject({ status: 3, result: { code: 'AccessDenied' } })
    expect(s3.uploads.size).toBe(0)
  })

  test('to a key instead of a prefix is refused with the way out', async () => {
    const { status, said } = await upload('--target', 's3://lake/results')

    expect(status).toBe(2)
    expect(said).toContain('--target s3://lake/results: must end in a slash')
  })

  test('uploads further changes until it is stopped', async () => {
    await write({ 'data/a': 'x' })
    const ending = new AbortController()
    s3.misbehave(({ method, key }) => {
      if (method === 'PUT' && key === 'results/a') void write({ 'data/b': 'y' })
      if (method === 'PUT' && key === 'results/b') setImmediate(() => ending.abort())
      return undefined
    })

    const words = ['upload', '--endpoint', s3.url, '--source', join(root, 'data'), '--target', 's3://lake/results/']
    const { status, result } = await runMover(root, [...words, '--watch', '1'], { signal: ending.signal })

    expect({ status, outcome: result.outcome }).toEqual({ status: 4, outcome: 'canceled' })
    expect(Object.keys(stored())).toContain('results/b')
  })
})

describe('a part that is too large for the memory, as of a file of many TiB', () => {
  const MIB = 1 << 20
  const inParts = ['--part-size', '20Mi', '--parallel', '1']

  test('is read while it is sent, and again after a broken connection', async () => {
    const large = randomBytes(45 * MIB)
    await write({ 'data/large': large, 'data/whole': large.subarray(0, 19 * MIB) })
    let left = 2
    s3.misbehave(({ query }) => (query.has('partNumber') && left-- > 0 ? { loseAnswer: true } : undefined))

    const { result } = await upload(...inParts)

    expect(result).toMatchObject({ outcome: 'completed', movedBytes: 64 * MIB })
    expect(s3.objects.get('results/large')?.body.equals(large)).toBe(true)
    expect(s3.objects.get('results/whole')?.body.equals(large.subarray(0, 19 * MIB))).toBe(true)
  })

  test('needs little memory', async () => {
    await mkdir(join(root, 'data'))
    await writeFile(join(root, 'data', 'large'), '')
    await truncate(join(root, 'data', 'large'), 400 * MIB)
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://s3')
      if (request.method === 'HEAD') return void response.writeHead(pathname === '/lake/' ? 200 : 404).end()
      request.on('end', () => void response.writeHead(200).end()).resume()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close().closeAllConnections())
    const { port } = server.address() as AddressInfo

    const mover = startMover(root, [
      ...['upload', '--endpoint', `http://127.0.0.1:${port}`, '--source', join(root, 'data')],
      ...['--target', 's3://lake/results/', '--part-size', '400Mi'],
    ])
    let peak = 0
    const timer = setInterval(() => {
      const status = readFileSync(`/proc/${mover.pid}/status`, 'utf8')
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024)
    }, 20)
    await mover.ended.finally(() => clearInterval(timer))

    expect(readResult(root)).toMatchObject({ outcome: 'completed', movedBytes: 400 * MIB })
    expect(peak).toBeLessThan(300 * MIB)
  })
})

describe('a delete', () => {
  test('really deletes the data and what a download left, and nothing else', async () => {
    await write({ 'data/a': 'xx', 'data/sub/b': 'y', '.data.mover/journal': 'z', 'other/c': 'kept' })

    const { status, result } = await remove()

    expect(status).toBe(0)
    expect(result).toMatchObject({ verb: 'delete', outcome: 'completed', files: 4 - 1, bytes: 4 })
    expect(await readTree(root)).toMatchObject({ 'other/c': 'kept' })
    expect((await readdir(root)).sort()).toEqual(['other', 'termination'])
  })

  test('of nothing is completed work', async () => {
    expect(await remove()).toMatchObject({ status: 0, result: { files: 0, message: 'no data to delete' } })
  })

  test('continues the upload of another mover', async () => {
    await write({ '.data.deleting/a': 'x', 'data/b': 'y' })

    expect((await remove()).result).toMatchObject({ outcome: 'completed', files: 2 })
    expect(await readdir(root)).toEqual(['termination'])
  })

  test('removes a link, not what it leads to', async () => {
    const elsewhere = makeRoot()
    await writeFile(join(elsewhere, 'precious'), 'x')
    await write({ 'data/a': 'x' })
    await symlink(elsewhere, join(root, 'data', 'link'))

    expect((await remove()).status).toBe(0)
    expect(await readdir(elsewhere)).toEqual(['precious'])
    expect(await readdir(root)).toEqual(['termination'])
  })

  test('outside the root is refused', async () => {
    const elsewhere = makeRoot()
    await writeFile(join(elsewhere, 'precious'), 'x')

    const { status, result } = await runMover(root, ['delete', '--target', elsewhere])

    expect({ status, code: result.code }).toEqual({ status: 3, code: 'Rejected' })
    expect(await readdir(elsewhere)).toEqual(['precious'])
  })

  test('is followed by a download that begins anew', async () => {
    s3.put('raw/a', 'x')
    const words = ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/']
    await runMover(root, words)
    await remove()

    expect((await runMover(root, words)).result).toMatchObject({ outcome: 'completed', movedBytes: 1 })
  })
})

describe('to prepare a directory', () => {
  const prepare = () => runMover(root, ['prepare'])

  test('makes it where there is none', async () => {
    expect(await prepare()).toMatchObject({ status: 0, result: { verb: 'prepare', outcome: 'completed' } })
    expect(await readTree(join(root, 'data'))).toEqual({})
  })

  test('leaves alone what is in it', async () => {
    await write({ 'data/a': 'x' })

    expect((await prepare()).result.message).toBe('can be read')
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'x' })
  })

  test('fails where there is a file', async () => {
    await write({ data: 'x' })

    expect(await prepare()).toMatchObject({ status: 3, result: { outcome: 'failed', code: 'KeyConflict' } })
  })

  test('follows no link', async () => {
    await symlink(makeRoot(), join(root, 'data'))

    expect((await prepare()).result.code).toBe('Rejected')
  })

  test('that must exist creates nothing, and names a link', async () => {
    const words = ['prepare', '--must-exist', 'true']
    const missing = await runMover(root, words)
    expect(missing).toMatchObject({ status: 3, result: { code: 'NotFound', retry: false } })
    expect(await readTree(root)).not.toHaveProperty('data')

    await symlink(makeRoot(), join(root, 'data'))
    const linked = await runMover(root, words)
    expect(linked).toMatchObject({ status: 3, result: { code: 'LinkInPath', retry: false } })
    expect(linked.result.message).toContain('data is a symbolic link')
  })
})

describe('invalid arguments cause exit status 2 and a message with the remedy', () => {
  test.each([
    { words: ['transfer'], says: 'expected one of download, upload, check, prepare, delete, not transfer' },
    { words: ['download'], says: '--source is missing' },
    { words: ['download', '--source', 'https://host/x'], says: 'must be s3://bucket/key' },
    {
      words: ['download', '--source', 's3://lake/x', '--part-size', '8M'],
      says: '--part-size 8M: must be an amount of bytes like 8Mi',
    },
    {
      words: ['download', '--source', 's3://lake/x', '--parallel', '0'],
      says: '--parallel 0: must be a whole number from 1 to 256',
    },
    {
      words: ['download', '--source', 's3://lake/x', '--endpoint', 'host:9000'],
      says: '--endpoint: must be a URL',
    },
    {
      words: ['download', '--source', 's3://lake/x', '--endpoint', 'http://me:secret@h'],
      says: 'without credentials in it',
    },
    {
      words: ['download', '--source', 's3://lake/x', '--verify', 'maybe'],
      says: '--verify maybe: must be checksum or size',
    },
    { words: ['delete', '--attempt', 'x'], says: '--attempt x: must be a whole number' },
  ])('$words', async ({ words, says }) => {
    const { status, said } = await runMover(root, words)

    expect(status).toBe(2)
    expect(said).toContain(says)
    expect(said).not.toContain('me:secret')
  })

  test('and each may be in the environment instead', async () => {
    s3.put('raw/a', 'x')
    const env = {
      MOVER_ENDPOINT: s3.url,
      MOVER_SOURCE: 's3://lake/raw/',
      MOVER_MATCH: '*.bin\n*a',
      MOVER_PART_SIZE: '1Mi',
    }

    expect((await runMover(root, ['download'], { env })).status).toBe(0)
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'x' })
  })
})
