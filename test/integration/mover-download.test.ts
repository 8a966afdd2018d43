/** Downloads with a server that behaves, and with all that an S3 server should not do. */
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { createCrc } from '../../src/mover/checksum/crc.ts'
import { KEYS, lastProgress, makeRoot, readTree, runMover } from './mover-run.ts'
import { type Fault, isObjectGet, type S3Server, type SeenRequest, startS3Server } from './s3-server.ts'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server({ pageSize: 7 })
  root = makeRoot()
})

const PART = 65_536
const download = (source: string, ...more: string[]) =>
  runMover(root, [
    'download',
    '--endpoint',
    s3.url,
    '--source',
    source,
    '--part-size',
    `${PART}`,
    '--retries',
    '2',
    ...more,
  ])
const data = () => readTree(join(root, 'data'))

describe('a download', () => {
  test('brings everything below a prefix, over many pages, with the new result', async () => {
    for (let i = 0; i < 30; i++) s3.put(`raw/${i % 3}/file ${i}.bin`, `content ${i}`)
    s3.put('raw/empty', '')
    s3.put('raw/folder/', '')
    s3.put('raw-2/other', 'no')
    const large = randomBytes(PART * 5 + 1)
    s3.put('raw/large', large)

    const { status, result } = await download('s3://lake/raw/')

    const tree = await data()
    expect(status).toBe(0)
    expect(Object.keys(tree)).toHaveLength(33)
    expect(tree).toMatchObject({
      '1/file 4.bin': 'content 4',
      empty: '',
      'folder/': '',
      large: large.toString('latin1'),
    })
    const own = [...s3.objects].filter(([key]) => key.startsWith('raw/'))
    const bytes = own.reduce((sum, [, { body }]) => sum + body.length, 0)
    expect(result).toMatchObject({ outcome: 'completed', attempt: 1, files: 32, bytes, movedBytes: bytes })
    expect(result.digest).toMatch(/^[0-9a-f]{64}$/)
    expect(s3.bodyBytes()).toBe(bytes)
  })

  test('can be read by every user, as consumers run as any user', async () => {
    s3.put('raw/a/b', 'x')

    await download('s3://lake/raw/')

    const modes = await Promise.all(
      ['', 'a', 'a/b'].map(async (path) => (await stat(join(root, 'data', path))).mode & 0o777),
    )
    expect(modes).toEqual([0o755, 0o755, 0o644])
  })

  test('of a key without a slash at its end is that object alone', async () => {
    s3.put('raw/a', 'x')
    s3.put('raw/ab', 'y')

    expect((await download('s3://lake/raw/a')).status).toBe(0)
    expect(await data()).toEqual({ a: 'x' })
    // To list may be forbidden where to read is not.
    expect(s3.requests.filter(({ query }) => query.has('list-type'))).toEqual([])
  })

  test('a second time asks the server nothing, and says the same', async () => {
    s3.put('raw/a', 'x')
    const first = await download('s3://lake/raw/')
    const asked = s3.requests.length

    const second = await download('s3://lake/raw/', '--attempt', '2')

    expect(second.status).toBe(0)
    expect(s3.requests).toHaveLength(asked)
    const { digest, bytes, files } = first.result
    expect(second.result).toMatchObject({
      digest,
      bytes,
      files,
      movedBytes: 0,
      attempt: 2,
      message: 'the data is complete already',
    })
  })

  test('of other data to the same target is rejected, and no data is lost', async () => {
    s3.put('raw/a', 'x')
    s3.put('new/a', 'y')
    await download('s3://lake/raw/')

    const { status, result } = await download('s3://lake/new/')

    expect({ status, code: result.code }).toEqual({ status: 3, code: 'TargetExists' })
    expect(result.message).toContain('s3://lake/raw/')
    expect(await data()).toEqual({ a: 'x' })
  })

  test('to files that no mover wrote is refused', async () => {
    await mkdir(join(root, 'data'))
    await writeFile(join(root, 'data', 'precious'), 'x')

    expect((await download('s3://lake/raw/')).result).toMatchObject({ code: 'TargetExists', retry: false })
    expect(await data()).toEqual({ precious: 'x' })
  })

  test('replaces an empty directory, such as the kubelet creates for an early pod', async () => {
    s3.put('raw/a', 'x')
    await mkdir(join(root, 'data'))

    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', files: 1 })
    expect(await data()).toEqual({ a: 'x' })
  })

  test('does not replace files that a pod writes, and continues after their deletion', async () => {
    s3.put('raw/a', 'x')
    await mkdir(join(root, 'data'))
    s3.misbehave((request) => {
      if (isObjectGet(request)) writeFileSync(join(root, 'data', 'output'), 'y')
      return undefined
    })
    for (const attempt of ['1', '2']) {
      const { result } = await download('s3://lake/raw/', '--attempt', attempt)
      expect(result).toMatchObject({ outcome: 'failed', code: 'TargetExists', retry: false })
      expect(await data()).toEqual({ output: 'y' })
    }
    await rm(join(root, 'data', 'output'))
    s3.misbehave(() => undefined)
    const before = s3.bodyBytes()

    expect((await download('s3://lake/raw/')).result.outcome).toBe('completed')
    expect(await data()).toEqual({ a: 'x' })
    expect(s3.bodyBytes()).toBe(before)
  })

  test.each([[], ['--in-place', 'true']])(
    'that was complete and was emptied since is made again %s',
    async (...more) => {
      s3.put('raw/a', 'x')
      await download('s3://lake/raw/', ...more)
      await rm(join(root, 'data'), { recursive: true })
      await mkdir(join(root, 'data'))

      expect((await download('s3://lake/raw/', ...more)).result).toMatchObject({ outcome: 'completed', movedBytes: 1 })
      expect(await data()).toEqual({ a: 'x' })
    },
  )

  test('has equal digests for equal data, and others for other data', async () => {
    s3.put('raw/a', 'x')
    const digest = async () => {
      root = makeRoot()
      return (await download('s3://lake/raw/')).result.digest
    }
    const first = await digest()

    expect(await digest()).toBe(first)
    s3.put('raw/a', 'y')
    expect(await digest()).not.toBe(first)
  })

  test.each([
    { name: 'a glob selects, slashes included', match: ['*0_1*'], want: ['a/train_0_1.bin'] },
    {
      name: 'one of several globs is enough',
      match: ['*0_1*', '*0_?.bin'],
      want: ['a/train_0_1.bin', 'b/train_0_2.bin'],
    },
    {
      name: 'a glob may name the whole path as mc sees it',
      match: ['s3/lake/raw/b/*'],
      want: ['b/test.bin', 'b/train_0_2.bin'],
    },
    { name: 'flat leaves the folders away', match: ['*_?_*', '--flat=true'], want: ['train_0_1.bin', 'train_0_2.bin'] },
  ])('$name', async ({ match, want }) => {
    for (const key of ['a/train_0_1.bin', 'b/train_0_2.bin', 'b/test.bin']) s3.put(`raw/${key}`, key)
    const words = match.flatMap((glob) => (glob.startsWith('--') ? [glob] : ['--match', glob]))

    expect((await download('s3://lake/raw/', ...words)).status).toBe(0)
    expect(Object.keys(await data()).sort()).toEqual(want)
  })

  test.each([
    {
      name: 'keys that URLs and XML have other uses for',
      keys: ['a b+c', 'd&e<f>', '100%', 'é/ü?#', "it's", 'x=1;y', '~!*()'],
    },
    { name: 'keys with characters that XML has none for', keys: ['new\nline', 'bell\x07', 'tab\t'] },
  ])('$name are files of that name', async ({ keys }) => {
    for (const key of keys) s3.put(`raw/${key}`, key)

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(Object.keys(await data()).sort()).toEqual([...keys].sort())
  })
})

describe('keys that are no paths are rejected before the download begins', () => {
  test.each([
    { keys: ['../escape'], code: 'UnsafeKey', says: 'contains ..' },
    { keys: ['a/../../escape'], code: 'UnsafeKey', says: 'contains ..' },
    { keys: ['/etc/passwd'], code: 'UnsafeKey', says: 'is absolute' },
    { keys: ['a//b'], code: 'UnsafeKey', says: 'has an empty part' },
    { keys: ['./a'], code: 'UnsafeKey', says: 'contains .' },
    { keys: ['..'], code: 'UnsafeKey', says: 'contains ..' },
    { keys: ['x\0y'], code: 'UnsafeKey', says: 'NUL' },
    { keys: ['x'.repeat(256)], code: 'UnsafeKey', says: 'more than 255 bytes' },
    { keys: ['a', 'a/b'], code: 'KeyConflict', says: 'a is a file and a folder' },
    { keys: ['a', 'a!', 'a/b'], code: 'KeyConflict', says: 'a is a file and a folder' },
    { keys: ['a', 'a/'], code: 'KeyConflict', says: 'a is a file and a folder' },
  ])('$keys', async ({ keys, code, says }) => {
    s3.put('raw/good', 'x')
    for (const key of keys) s3.put(`raw/${key}`, key.endsWith('/') ? '' : 'bad')

    const { status, result } = await download('s3://lake/raw/')

    expect({ status, code: result.code }).toEqual({ status: 3, code })
    expect(result.message).toContain(says)
    expect(s3.gets()).toEqual([])
    expect((await readdir(root)).sort()).toEqual(['.data.mover', 'termination'])
  })

  test('and so is data whose name ends with a slash', async () => {
    s3.put('raw/a', '1')
    s3.put('raw/folder/', 'data')

    expect((await download('s3://lake/raw/')).result).toMatchObject({
      code: 'UnsafeKey',
      message: expect.stringContaining('"raw/folder/" has data, but its name ends with a slash'),
    })
  })

  test('data whose name is the prefix itself is left out, and the result says so', async () => {
    s3.put('raw/a', '1')
    s3.put('raw/', 'data')

    const message = '1 files, 1 B; left out: s3://lake/raw/ has data, but its name ends with a slash'
    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', message })
  })

  test('and an excluded key is neither downloaded nor refused', async () => {
    for (const key of ['good', 'a', 'a/b', '../escape', 'folder/']) s3.put(`raw/${key}`, 'data')
    const excluded = ['--exclude', 'a', '--exclude', '../*', '--exclude', '*/']

    expect((await download('s3://lake/raw/', ...excluded)).result).toMatchObject({ outcome: 'completed', files: 2 })
    expect(await data()).toEqual({ good: 'data', 'a/b': 'data' })
  })

  test('and so are two objects for one file', async () => {
    s3.put('raw/a/x', '1')
    s3.put('raw/b/x', '2')

    expect((await download('s3://lake/raw/', '--flat', 'true')).result).toMatchObject({
      code: 'KeyConflict',
      message: expect.stringContaining('two objects have the path x'),
    })
  })
})

/** A fault for the first so many requests of objects. */
function digestOf(crc: ReturnType<typeof createCrc>, body: Buffer): string {
  crc.update(body)
  return crc.digest()
}

function firstly(times: number, fault: Fault) {
  let left = times
  return (request: SeenRequest) => (isObjectGet(request) && left-- > 0 ? fault : undefined)
}

describe('a server that returns errors for a while', () => {
  test.each<{ name: string; fault: Fault; again: number }>([
    { name: 'resets the connection before it answers', fault: { breakAfter: 0 }, again: 0 },
    { name: 'resets the connection in the middle', fault: { breakAfter: 10_000 }, again: 0 },
    { name: 'resets the connection after the last byte', fault: { breakAfter: PART, chunked: true }, again: 0 },
    { name: 'ends the body too early', fault: { endAfter: 10_000 }, again: 0 },
    { name: 'ends the body at once', fault: { endAfter: 0 }, again: 0 },
    { name: 'asks for less', fault: { status: 503, code: 'SlowDown', headers: { 'retry-after': '0' } }, again: 0 },
    { name: 'asks for less in other words', fault: { status: 429 }, again: 0 },
    { name: 'fails inside', fault: { status: 500, code: 'InternalError' }, again: 0 },
    { name: 'found the client slow', fault: { status: 400, code: 'RequestTimeout' }, again: 0 },
    { name: 'damages an object on the way', fault: { corrupt: true }, again: 1 },
  ])('and $name: the data comes all the same, and no byte twice without need', async ({ fault, again }) => {
    const [small, large] = [randomBytes(50_000), randomBytes(PART * 4)]
    s3.put('raw/small', small)
    s3.put('raw/large', large, { etag: `${'0'.repeat(32)}-4` })
    const isCorrupt = 'corrupt' in fault
    const spoil = firstly(isCorrupt ? 1 : 3, fault)
    s3.misbehave((request) => (isCorrupt && request.key !== 'raw/small' ? undefined : spoil(request)))

    const { status } = await download('s3://lake/raw/')

    expect(status).toBe(0)
    expect(await data()).toEqual({ small: small.toString('latin1'), large: large.toString('latin1') })
    expect(s3.bodyBytes()).toBe(small.length + large.length + again * small.length)
  })

  test.each([0, 10_000])(
    'that ends the body of a whole object after %d bytes does not have another object',
    async (endAfter) => {
      const small = randomBytes(50_000)
      s3.put('raw/small', small)
      s3.misbehave(firstly(1, { endAfter }))

      const { status } = await download('s3://lake/raw/')

      expect(status).toBe(0)
      expect(await data()).toEqual({ small: small.toString('latin1') })
      expect(s3.bodyBytes()).toBe(small.length)
      expect(s3.requests.filter(({ method, key }) => method === 'GET' && key === '')).toHaveLength(1)
    },
  )

  test('that breaks repeatedly is continued, as long as each response has data', async () => {
    const large = randomBytes(PART * 2)
    s3.put('raw/large', large)
    s3.misbehave((request) => (isObjectGet(request) ? { breakAfter: 20_000 } : undefined))

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(await data()).toEqual({ large: large.toString('latin1') })
  })

  test('that never recovers: gives up after the retries and keeps the downloaded files', async () => {
    s3.put('raw/a', randomBytes(PART))
    s3.put('raw/b', randomBytes(PART))
    s3.misbehave(({ key }) => (key === 'raw/b' ? { status: 503, code: 'SlowDown' } : undefined))

    const failed = await download('s3://lake/raw/', '--parallel', '1')

    expect(failed.status).toBe(1)
    expect(failed.result).toMatchObject({ code: 'Unreachable', retry: true, bytes: PART, files: 1 })
    expect(failed.result.message).toMatch(/s3:\/\/lake\/raw\/b: 503 SlowDown .*after 3 attempts/)
    expect(await readdir(root)).not.toContain('data')
    s3.misbehave(() => ({ status: 503 }))
    // It has not listed the source, so it does not know which of the files are data.
    expect((await download('s3://lake/raw/', '--attempt', '2')).result).toMatchObject({ code: 'Unreachable', bytes: 0 })
    s3.misbehave(() => undefined)
    const next = await download('s3://lake/raw/', '--attempt', '3')
    expect(next.result).toMatchObject({ outcome: 'completed', bytes: 2 * PART, movedBytes: PART })
  })

  test('that is not there at all', async () => {
    await s3.close()

    const { status, result } = await download('s3://lake/raw/')

    expect(status).toBe(1)
    expect(result).toMatchObject({ outcome: 'failed', code: 'Unreachable', retry: true })
    expect(result.message).toContain('ECONNREFUSED')
  })

  test('Retry-After is waited for', async () => {
    s3.put('raw/a', 'x')
    s3.misbehave(firstly(1, { status: 503, headers: { 'retry-after': '1' } }))
    const before = performance.now()

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(performance.now() - before).toBeGreaterThanOrEqual(1000)
  })
})

describe('a source that changes between two attempts', () => {
  test.each([
    { name: 'with the same part size', words: [[], []] },
    { name: 'with another part size', words: [[], ['--part-size', `${PART * 2}`]] },
    {
      name: 'in place',
      words: [
        ['--in-place', 'true'],
        ['--in-place', 'true'],
      ],
    },
    {
      name: 'in place, with another part size',
      words: [
        ['--in-place', 'true'],
        ['--in-place', 'true', '--part-size', `${PART * 2}`],
      ],
    },
  ])('leaves no file that the source does not have any more: $name', async ({ words: [first = [], second = []] }) => {
    for (const key of ['gone', 'old/gone', 'stays']) s3.put(`raw/${key}`, key)
    s3.put('raw/z', 'z')
    s3.misbehave(({ key }) => (key === 'raw/z' ? { status: 503 } : undefined))
    expect((await download('s3://lake/raw/', ...first, '--parallel', '1')).status).toBe(1)
    s3.objects.delete('raw/gone')
    s3.objects.delete('raw/old/gone')
    s3.misbehave(() => undefined)

    const { status, result } = await download('s3://lake/raw/', ...second, '--attempt', '2')

    expect({ status, files: result.files }).toEqual({ status: 0, files: 2 })
    expect(await data()).toEqual({ stays: 'stays', z: 'z' })
  })

  test('in place keeps the files of a pod', async () => {
    s3.put('raw/gone', 'x')
    s3.put('raw/z', 'z')
    s3.misbehave(({ key }) => (key === 'raw/z' ? { status: 503 } : undefined))
    await download('s3://lake/raw/', '--in-place', 'true', '--parallel', '1')
    await writeFile(join(root, 'data', 'output'), 'of a pod')
    s3.objects.delete('raw/gone')
    s3.misbehave(() => undefined)

    expect((await download('s3://lake/raw/', '--in-place', 'true', '--attempt', '2')).status).toBe(0)
    expect(await data()).toEqual({ output: 'of a pod', z: 'z' })
  })
})

describe('a server that redirects with 307', () => {
  const redirect = (location: string): Fault => ({ status: 307, code: 'TemporaryRedirect', headers: { location } })

  test('to the same origin is followed once', async () => {
    s3.put('raw/a', 'x')
    s3.put('other/a', 'x')
    s3.misbehave(({ key }) => (key === 'raw/a' ? redirect('/lake/other/a') : undefined))

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(await data()).toEqual({ a: 'x' })
  })

  test('of a request for the region still names the region', async () => {
    s3.put('raw/a', 'x')
    const headers = { location: 'http://127.0.0.1:9/lake', 'x-amz-bucket-region': 'eu-south-2' }
    s3.misbehave(({ method, key }) => (method === 'HEAD' && key === '' ? { status: 307, headers } : undefined))

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(s3.gets()[0]?.headers.authorization).toContain('/eu-south-2/s3/')
  })

  test.each([
    { name: 'to the same place again', to: () => '/lake/raw/a', says: 'redirects to /lake/raw/a; check' },
    {
      name: 'to another origin',
      to: () => 'http://127.0.0.1:9/lake/raw/a',
      says: 'redirects to http://127.0.0.1:9/lake/raw/a; check',
    },
    { name: 'to no URL', to: () => 'http://', says: 'redirects to http://; check' },
  ])('$name fails for good', async ({ to, says }) => {
    s3.put('raw/a', 'x')
    s3.misbehave(({ key }) => (key === 'raw/a' ? redirect(to()) : undefined))

    const { status, result } = await download('s3://lake/raw/')

    expect({ status, code: result.code, retry: result.retry }).toEqual({ status: 3, code: 'Rejected', retry: false })
    expect(result.message).toContain(says)
  })
})

describe('a refusal ends the mover at once, with the remedy', () => {
  test.each([
    {
      name: 'no right to list',
      spoils: 'list',
      status: 403,
      code: 'AccessDenied',
      want: 'AccessDenied',
      says: 'use other keys in the Secret',
    },
    {
      name: 'no right to read',
      spoils: 'get',
      status: 403,
      code: 'AccessDenied',
      want: 'AccessDenied',
      says: 's3://lake/raw/a',
    },
    {
      name: 'an unknown key',
      spoils: 'list',
      status: 403,
      code: 'InvalidAccessKeyId',
      want: 'AccessDenied',
      says: 'does not know the access key',
    },
    {
      name: 'an unknown key that the server reports with 404',
      spoils: 'list',
      status: 404,
      code: 'XAdminUserNotFound',
      want: 'AccessDenied',
      says: 'does not know the access key',
    },
    {
      name: 'a wrong secret',
      spoils: 'list',
      status: 403,
      code: 'SignatureDoesNotMatch',
      want: 'AccessDenied',
      says: 'secret key',
    },
    {
      name: 'an old token',
      spoils: 'list',
      status: 400,
      code: 'ExpiredToken',
      want: 'AccessDenied',
      says: 'renew the Secret',
    },
    {
      name: 'no bucket',
      spoils: 'list',
      status: 404,
      code: 'NoSuchBucket',
      want: 'NotFound',
      says: 'the bucket does not exist; check the source and the endpoint',
    },
    {
      name: 'an archive',
      spoils: 'get',
      status: 403,
      code: 'InvalidObjectState',
      want: 'Rejected',
      says: 'restore it first',
    },
    {
      name: 'another region',
      spoils: 'list',
      status: 301,
      code: 'PermanentRedirect',
      want: 'Rejected',
      says: '--region',
    },
    { name: 'something unheard of', spoils: 'list', status: 418, code: 'Teapot', want: 'Rejected', says: '418 Teapot' },
  ])('$name', async ({ spoils, status, code, want, says }) => {
    s3.put('raw/a', 'x')
    s3.misbehave((request) => {
      const isSpoilt = spoils === 'get' ? isObjectGet(request) : request.query.has('list-type')
      return isSpoilt ? { status, code } : undefined
    })

    const answer = await download('s3://lake/raw/')

    expect(answer.status).toBe(3)
    expect(answer.result).toMatchObject({ outcome: 'failed', code: want, retry: false })
    expect(answer.result.message).toContain(says)
    expect(s3.requests.filter(({ method }) => method === 'GET')).toHaveLength(spoils === 'get' ? 2 : 1)
    expect(answer.said + answer.result.message).not.toContain(KEYS.AWS_SECRET_ACCESS_KEY)
  })

  // Of one object, the first request is HEAD, whose response has no reason.
  test.each(['s3://lake/raw/', 's3://lake/raw/a'])(
    'a wrong clock of the node, for which another node can help: %s',
    async (source) => {
      s3.put('raw/a', 'x')
      s3.misbehave(({ query, key }) =>
        query.has('list-type') || key === 'raw/a' ? { status: 403, code: 'RequestTimeTooSkewed' } : undefined,
      )

      const { status, result } = await download(source)

      expect({ status, ...result }).toMatchObject({ status: 1, outcome: 'failed', code: 'ClockSkew', retry: true })
      expect(result.message).toContain('the clock of the node is wrong; synchronize it')
    },
  )

  test.each([
    { source: 's3://lake/missing', code: 'NotFound' },
    { source: 's3://lake/missing/', code: 'NotFound', says: 'no object below s3://lake/missing/; check the source' },
    {
      source: 's3://ocean/raw/',
      code: 'NotFound',
      says: 'the bucket does not exist; check the source and the endpoint',
    },
  ])('$source is not there', async ({ source, code, says = 'missing' }) => {
    const { status, result } = await download(source)

    expect({ status, code: result.code }).toEqual({ status: 3, code })
    expect(result.message).toContain(says)
  })

  test('globs that match no object are an error, and not an empty data set', async () => {
    s3.put('raw/a', 'x')

    expect((await download('s3://lake/raw/', '--match', '*.tfrecord')).result).toMatchObject({
      code: 'NothingSelected',
      message: expect.stringContaining('none of the 1 objects below s3://lake/raw/ matches *.tfrecord'),
    })
  })
})

describe('an object that changes meanwhile', () => {
  const [old, changed] = ['a', 'b'].map((char) => Buffer.alloc(PART * 3, char))

  test.each([
    { name: 'is noticed by If-Match', ignore: undefined },
    { name: 'is noticed at a server that does not know If-Match', ignore: 'if-match' as const },
  ])('$name, and never mixed', async ({ ignore }) => {
    s3.put('raw/a', old as Buffer)
    let parts = 0
    s3.misbehave((request) => {
      if (isObjectGet(request) && ++parts === 2) s3.put('raw/a', changed as Buffer)
      return ignore === undefined ? undefined : { ignore }
    })

    const { status, result } = await download('s3://lake/raw/', '--parallel', '1')

    expect(status).toBe(0)
    expect(s3.gets().every(({ headers }) => headers['if-match'] !== undefined)).toBe(true)
    expect(await data()).toEqual({ a: String(changed) })
    expect(result.bytes).toBe(PART * 3)
  })

  test('is listed again when it has gone, and the rest is not fetched again', async () => {
    s3.put('raw/a', 'kept')
    s3.put('raw/b', 'goes')
    s3.misbehave(({ method, key }) => {
      if (method === 'GET' && key === 'raw/b') s3.objects.delete('raw/b')
      return undefined
    })

    expect((await download('s3://lake/raw/', '--parallel', '1')).result).toMatchObject({
      outcome: 'completed',
      files: 1,
    })
    expect(await data()).toEqual({ a: 'kept' })
    expect(s3.gets().filter(({ key }) => key === 'raw/a')).toHaveLength(1)
  })

  test('all the time is a failure for now, and there is no target', async () => {
    let version = 0
    s3.put('raw/a', 'version 0')
    s3.misbehave((request) => {
      if (isObjectGet(request)) s3.put('raw/a', `version ${++version}`)
      return undefined
    })

    const { status, result } = await download('s3://lake/raw/')

    expect({ status, ...result }).toMatchObject({ status: 1, code: 'SourceChanged', retry: true })
    expect(await readdir(root)).not.toContain('data')
  })
})

describe('a download is checked', () => {
  const large = randomBytes(PART * 3)
  const checksum = { 'x-amz-checksum-sha256': 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' }

  test.each([
    { name: 'a small object against its MD5', put: () => s3.put('raw/a', 'x', { etag: 'a'.repeat(32) }), says: 'md5' },
    {
      name: 'a large object against its MD5',
      put: () => s3.put('raw/a', large, { etag: 'a'.repeat(32) }),
      says: 'md5',
    },
    {
      name: 'a small object against a checksum',
      put: () => s3.put('raw/a', 'x', { headers: checksum }),
      says: 'sha256',
    },
    {
      name: 'a large object against a checksum',
      put: () => s3.put('raw/a', large, { headers: checksum }),
      says: 'sha256',
    },
  ])('$name', async ({ put, says }) => {
    put()

    const { status, result } = await download('s3://lake/raw/')

    expect({ status, ...result }).toMatchObject({ status: 1, code: 'ChecksumMismatch', retry: true })
    expect(result.message).toContain(`s3://lake/raw/a: its ${says} is `)
    expect(await readdir(root)).not.toContain('data')
  })

  test.each([
    { name: 'SHA-256', header: 'sha256', of: (body: Buffer) => createHash('sha256').update(body).digest('hex') },
    { name: 'CRC-64/NVME', header: 'crc64nvme', of: (body: Buffer) => digestOf(createCrc('crc64nvme'), body) },
    { name: 'CRC-32C', header: 'crc32c', of: (body: Buffer) => digestOf(createCrc('crc32c'), body) },
    { name: 'CRC-32', header: 'crc32', of: (body: Buffer) => crc32(body).toString(16).padStart(8, '0') },
  ])('small and large, against $name, but not an ETag that only looks like an MD5', async ({ header, of }) => {
    for (const [key, body] of Object.entries({ 'raw/large': large, 'raw/small': Buffer.from('x') })) {
      const value = Buffer.from(of(body), 'hex').toString('base64')
      s3.put(key, body, { etag: 'a'.repeat(32), headers: { [`x-amz-checksum-${header}`]: value } })
    }
    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', files: 2 })
  })

  test('by its CRC too when an earlier mover fetched some parts, which are read again', async () => {
    const value = Buffer.from(digestOf(createCrc('crc64nvme'), large), 'hex').toString('base64')
    s3.put('raw/a', large, { headers: { 'x-amz-checksum-crc64nvme': value } })
    const isLast = ({ headers }: SeenRequest) => headers.range?.startsWith(`bytes=${2 * PART}-`)
    s3.misbehave((request) => (isLast(request) ? { status: 403 } : undefined))
    const source = ['s3://lake/raw/', '--parallel', '1'] as const
    expect((await download(...source)).result.code).toBe('AccessDenied')
    s3.misbehave(() => undefined)

    expect((await download(...source)).result).toMatchObject({ outcome: 'completed', movedBytes: PART })

    await rm(join(root, 'data'), { recursive: true })
    await rm(join(root, '.data.mover'), { recursive: true, force: true })
    s3.misbehave((request) => (isLast(request) ? { corrupt: true } : undefined))
    expect((await download(...source)).result).toMatchObject({
      code: 'ChecksumMismatch',
      message: expect.stringContaining('its crc64nvme is '),
    })
    s3.misbehave(() => undefined)
    expect((await download(...source)).result).toMatchObject({ outcome: 'completed', movedBytes: large.length })
  })

  test('once more when its connection broke in the middle', async () => {
    const body = Buffer.from('x'.repeat(PART / 2))
    const value = Buffer.from(digestOf(createCrc('crc64nvme'), body), 'hex').toString('base64')
    s3.put('raw/a', body, { headers: { 'x-amz-checksum-crc64nvme': value } })
    s3.misbehave(firstly(1, { breakAfter: 1000 }))

    expect((await download('s3://lake/raw/')).result.outcome).toBe('completed')
  })

  test.each([
    { name: 'an ETag of parts', etag: `${'a'.repeat(32)}-3`, headers: {}, words: [] },
    {
      name: 'an ETag of an encrypted object',
      etag: 'a'.repeat(32),
      headers: { 'x-amz-server-side-encryption': 'aws:kms' },
      words: [],
    },
    {
      name: 'a checksum of checksums',
      etag: 'a'.repeat(32),
      headers: { 'x-amz-checksum-sha1': 'AAAA-2', 'x-amz-server-side-encryption': 'aws:kms' },
      words: [],
    },
    {
      name: 'a server whose ETags are no MD5, on demand',
      etag: 'a'.repeat(32),
      headers: {},
      words: ['--verify', 'size'],
    },
  ])('but not against $name', async ({ etag, headers, words }) => {
    s3.put('raw/large', large, { etag, headers })
    s3.put('raw/small', 'x', { etag, headers })

    expect((await download('s3://lake/raw/', ...words)).status).toBe(0)
  })

  test('a large object that was damaged is downloaded anew by the next attempt', async () => {
    s3.put('raw/a', large)
    s3.misbehave(firstly(1, { corrupt: true }))

    expect((await download('s3://lake/raw/')).result.code).toBe('ChecksumMismatch')
    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', movedBytes: large.length })
    expect(await data()).toEqual({ a: large.toString('latin1') })
  })

  test('a server without ranges has another message than one that sends too much', async () => {
    s3.put('raw/a', large)
    s3.misbehave(() => ({ ignore: 'range' }))

    expect((await download('s3://lake/raw/')).result).toMatchObject({
      code: 'Rejected',
      message: expect.stringContaining('does not support ranges'),
    })
  })

  test('a broken download begins from its start again if the server has no ranges', async () => {
    const body = 'x'.repeat(PART / 2)
    s3.put('raw/a', body)
    let requests = 0
    s3.misbehave(({ key }) => (key === 'raw/a' && ++requests === 1 ? { breakAfter: 1000 } : { ignore: 'range' }))

    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed' })
    expect(await data()).toEqual({ a: body })
  })

  test('a range that a server ignores once, although it accepts ranges, is retried', async () => {
    s3.put('raw/a', large, { headers: { 'accept-ranges': 'bytes' } })
    s3.misbehave(firstly(1, { ignore: 'range' }))

    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', movedBytes: large.length })
    expect(await data()).toEqual({ a: large.toString('latin1') })
  })
})

describe('a later attempt', () => {
  test('does not bring back what has gone, and takes what is new', async () => {
    s3.put('raw/a', 'same')
    s3.put('raw/b', 'goes')
    s3.put('raw/c', 'changes')
    s3.put('raw/d/e', 'a file comes in the place of its folder')
    s3.misbehave(({ key }) => (key === 'raw/z' ? { status: 403 } : undefined))
    s3.put('raw/z', 'fails')
    expect((await download('s3://lake/raw/', '--parallel', '1')).status).toBe(3)
    for (const key of ['raw/b', 'raw/d/e', 'raw/z']) s3.objects.delete(key)
    s3.put('raw/c', 'changed')
    s3.put('raw/d', 'new')

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(await data()).toEqual({ a: 'same', c: 'changed', d: 'new' })
    expect(s3.gets().filter(({ key }) => key === 'raw/a')).toHaveLength(1)
  })

  test('with parts of another size begins anew', async () => {
    const large = randomBytes(PART * 4)
    s3.put('raw/a', large)
    s3.misbehave(({ headers }) => (headers.range?.startsWith(`bytes=${PART * 3}`) ? { status: 403 } : undefined))
    await download('s3://lake/raw/', '--parallel', '1')
    s3.misbehave(() => undefined)

    expect((await download('s3://lake/raw/', '--part-size', `${PART + 7}`)).status).toBe(0)
    expect(await data()).toEqual({ a: large.toString('latin1') })
  })

  test('of a large object keeps each part that had arrived, also of larger requests', async () => {
    const large = randomBytes(PART * 16)
    const value = Buffer.from(digestOf(createCrc('crc64nvme'), large), 'hex').toString('base64')
    s3.put('raw/a', large, { headers: { 'x-amz-checksum-crc64nvme': value } })
    s3.misbehave((request) => (isObjectGet(request) ? { breakAfter: PART * 2 + 10 } : undefined))
    expect((await download('s3://lake/raw/', '--parallel', '1', '--retries', '0')).result.code).toBe('Unreachable')
    expect(s3.gets().at(-1)?.headers.range).toBe(`bytes=0-${PART * 8 - 1}`)
    s3.misbehave(() => undefined)

    const { result } = await download('s3://lake/raw/')

    expect(result).toMatchObject({ outcome: 'completed', bytes: PART * 16, movedBytes: PART * 14 })
    expect(await data()).toEqual({ a: large.toString('latin1') })
  })

  test('counts the data of an earlier mover as done after a check', async () => {
    const large = randomBytes(PART * 4)
    const value = Buffer.from(digestOf(createCrc('crc64nvme'), large), 'hex').toString('base64')
    s3.put('raw/a', large, { headers: { 'x-amz-checksum-crc64nvme': value } })
    s3.misbehave(({ headers }) => (headers.range?.startsWith(`bytes=${PART * 3}`) ? { status: 403 } : undefined))
    await download('s3://lake/raw/', '--parallel', '1')
    s3.misbehave(() => undefined)

    const { said, result } = await download('s3://lake/raw/')

    expect(result).toMatchObject({ outcome: 'completed', movedBytes: PART })
    expect(lastProgress(said)).toEqual({ doneBytes: large.length, totalBytes: large.length })
  })

  test.each(['', ' 1'])('does not trust a line of the journal that was cut to the id and %j', async (rest) => {
    const large = randomBytes(PART * 4)
    s3.put('raw/a', large, { etag: 'no-checksum' })
    s3.misbehave(({ headers }) => (headers.range?.startsWith(`bytes=${PART}-`) ? { status: 503 } : undefined))
    await download('s3://lake/raw/', '--parallel', '4')
    const journal = join(root, '.data.mover', 'journal')
    const id = /^[\w-]{16}(?= 3$)/m.exec(await readFile(journal, 'utf8'))?.[0]
    await appendFile(journal, `${id}${rest}`)
    // The next mover adds its own lines.
    await download('s3://lake/raw/', '--parallel', '4')
    s3.misbehave(() => undefined)

    expect((await download('s3://lake/raw/')).result).toMatchObject({ outcome: 'completed', movedBytes: PART })
    expect(await data()).toEqual({ a: large.toString('latin1') })
  })

  test.each([0.3, 0.98])('in place continues after a mover that had written %d of its list of files', async (share) => {
    s3.put('raw/a', 'x')
    s3.put('raw/b', 'x')
    s3.misbehave(({ key }) => (key === '' ? undefined : { status: 403 }))
    await download('s3://lake/raw/', '--in-place', 'true')
    const manifest = join(root, '.data.mover', 'manifest')
    await truncate(manifest, Math.floor((await stat(manifest)).size * share))
    s3.misbehave(() => undefined)

    expect((await download('s3://lake/raw/', '--in-place', 'true')).status).toBe(0)
    expect(await data()).toEqual({ a: 'x', b: 'x' })
  })

  test('ignores a journal whose files were deleted', async () => {
    const large = randomBytes(PART * 4)
    s3.put('raw/a', 'x')
    s3.put('raw/b', large)
    s3.misbehave(({ headers }) => (headers.range?.startsWith(`bytes=${PART * 3}`) ? { status: 403 } : undefined))
    await download('s3://lake/raw/', '--parallel', '1')
    s3.misbehave(() => undefined)
    for (const file of ['a', 'b']) await rm(join(root, '.data.mover', 'files', file))

    expect((await download('s3://lake/raw/')).status).toBe(0)
    expect(await data()).toEqual({ a: 'x', b: large.toString('latin1') })
  })
})

test('a server that gives one page again and again is refused, and nothing appears', async () => {
  for (let i = 0; i < 20; i++) s3.put(`raw/${i}`, 'x')
  s3.misbehave(() => ({ ignore: 'token' }))

  const { status, result } = await download('s3://lake/raw/')

  expect(status).toBe(3)
  const message = expect.stringContaining('the server repeats a page of the listing')
  expect(result).toMatchObject({ code: 'Rejected', message })
  expect(await readdir(root)).not.toContain('data')
})

describe('the disk', () => {
  test('is checked first: with too little space, nothing is downloaded', async () => {
    s3.put('raw/a', 'x')

    const { status, result } = await download('s3://lake/raw/', '--keep-free', '400Ti')

    expect({ status, code: result.code }).toEqual({ status: 3, code: 'NoSpace' })
    // The controller chooses another node by the size, and knows the disk of this one.
    const { totalBytes = 0, freeBytes = 0 } = result.disk ?? {}
    expect([result.totalBytes, totalBytes >= freeBytes, freeBytes > 0]).toEqual([1, true, true])
    expect(result.message).toMatch(
      /^1 B needed and 400.0 TiB reserved, but the disk of .* has .*; free disk or use another node$/,
    )
    expect(s3.gets()).toEqual([])
  })

  test.each([
    { name: 'outside the root', target: '../elsewhere' },
    { name: 'that is the root', target: '.' },
    { name: 'beside a root of the same beginning', target: '../root-2/data' },
  ])('a target $name is refused', async ({ target }) => {
    const result = await download('s3://lake/raw/', '--target', join(root, target))

    expect(result.result).toMatchObject({ code: 'Rejected', message: expect.stringContaining('is not below the root') })
    expect(s3.requests).toEqual([])
  })

  test.each([
    { name: 'the target', link: 'data' },
    { name: 'a folder above the target', link: 'sub', target: 'sub/data' },
    { name: "the mover's own folder", link: '.data.mover' },
  ])('$name as a symbolic link is refused', async ({ link, target = 'data' }) => {
    const elsewhere = makeRoot()
    await symlink(elsewhere, join(root, link))

    const { result } = await download('s3://lake/raw/', '--target', join(root, target))

    expect(result).toMatchObject({ code: 'Rejected', message: expect.stringContaining('symbolic link') })
    expect(await readdir(elsewhere)).toEqual([])
  })

  test('a symbolic link that a consumer puts in the way is not followed, at any depth', async () => {
    const elsewhere = makeRoot()
    await mkdir(join(elsewhere, 'b'))
    s3.put('raw/a/b/c', 'x')
    await mkdir(join(root, 'data'))
    await mkdir(join(root, '.data.mover'))
    await symlink(elsewhere, join(root, 'data', 'a'))

    const { result } = await download('s3://lake/raw/', '--in-place', 'true')

    expect(result).toMatchObject({ code: 'Rejected', message: expect.stringContaining('symbolic link') })
    expect(await readdir(join(elsewhere, 'b'))).toEqual([])
  })

  test('the message names a root that is not mounted', async () => {
    const { result } = await download(
      's3://lake/raw/',
      '--root',
      join(root, 'missing'),
      '--target',
      join(root, 'missing', 'data'),
    )

    expect(result).toMatchObject({
      code: 'Rejected',
      message: expect.stringContaining('does not exist; mount it in the Pod'),
    })
  })
})

describe('credentials', () => {
  const anonymously = { env: {} }

  test('come from a mounted Secret with the keys that VCK has', async () => {
    s3.put('raw/a', 'x')
    const secret = makeRoot()
    await writeFile(join(secret, 'awsAccessKeyID'), 'FROM-FILE\n')
    await writeFile(join(secret, 'awsSecretAccessKey'), 'x\n')

    expect((await download('s3://lake/raw/', '--credentials', secret)).status).toBe(0)
    // Where the bucket is, is asked without.
    const [, ...signed] = s3.requests
    expect(signed.every(({ headers }) => headers.authorization?.includes('Credential=FROM-FILE/'))).toBe(true)
  })

  test('of a Secret without a key are reported with the name of the key', async () => {
    const secret = makeRoot()
    await writeFile(join(secret, 'awsAccessKeyID'), 'x')

    expect((await download('s3://lake/raw/', '--credentials', secret)).result).toMatchObject({
      code: 'AccessDenied',
      message: expect.stringContaining('the Secret has no awsSecretAccessKey'),
    })
  })

  test('may be none: requests are not signed', async () => {
    s3.put('raw/a', 'x')

    const { status } = await runMover(
      root,
      ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/'],
      anonymously,
    )

    expect(status).toBe(0)
    expect(s3.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([])
  })

  test('sign for the region that the server names', async () => {
    s3.put('raw/a', 'x')

    await download('s3://lake/raw/')

    expect(s3.requests.slice(1).every(({ headers }) => headers.authorization?.includes('/eu-north-1/s3/'))).toBe(true)
  })
})

test('a result that cannot be left is no success', async () => {
  s3.put('raw/a', 'x')

  const { status, said } = await download('s3://lake/raw/', '--termination-log', join(root, 'missing', 'log'))

  expect(status).toBe(1)
  expect(said).toContain('the termination message cannot be written')
})
