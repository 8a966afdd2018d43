/** Tests that an upload changes only the objects whose files pods changed, and never an object that another client changed meanwhile. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runMover } from './mover-run.ts'
import type { SeenRequest } from './s3-server.ts'
import { PART, useWrittenBackFolder } from './written-back-folder.ts'

const folder = useWrittenBackFolder()
const { download, upload, stored, pod } = folder

const otherClient = (key: string, content: string | undefined) =>
  content === undefined ? folder.s3.objects.delete(`data/${key}`) : folder.s3.put(`data/${key}`, content)
const writes = () =>
  folder.s3.requests.filter(({ method }) => method === 'PUT' || method === 'POST').map(({ key }) => key.slice(5))
const isWrite = ({ method, key }: SeenRequest) => method === 'PUT' && key === 'data/a'

describe('an upload after a download', () => {
  test('leaves objects alone that another client changed and that pods did not touch', async () => {
    for (const name of ['changed', 'deleted', 'same']) folder.s3.put(`data/${name}`, `${name} 1`)
    await download()
    otherClient('changed', 'changed 2')
    otherClient('deleted', undefined)
    await pod('result', 'new')

    const { result } = await upload()

    expect(result).toMatchObject({ outcome: 'completed', movedBytes: 3 })
    expect(stored()).toEqual({ changed: 'changed 2', same: 'same 1', result: 'new' })
    expect(writes()).toEqual(['result'])
  })

  test('of an object whose ETag is no checksum sends nothing while the file is untouched', async () => {
    folder.s3.put('data/encrypted', 'x', {
      etag: 'f'.repeat(32),
      headers: { 'x-amz-server-side-encryption': 'aws:kms' },
    })
    await download()

    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
    expect(writes()).toEqual([])
  })

  test.each([
    { name: 'a whole file', bytes: 3 },
    { name: 'a file in parts', bytes: PART + 1 },
  ])('compares sizes of $name if ETags only look like an MD5', async ({ bytes }) => {
    folder.s3.encryptWith({ server: 'odd' })
    folder.s3.put('data/a', 'x', { etag: 'f'.repeat(32) })
    await download('--verify', 'size')
    await pod('a', 'y'.repeat(bytes))
    expect((await upload('--verify', 'size')).result).toMatchObject({ outcome: 'completed', movedBytes: bytes })
    await pod('a', 'z'.repeat(bytes))

    expect((await upload('--verify', 'size')).result).toMatchObject({ outcome: 'completed', movedBytes: bytes })
    expect(stored()).toEqual({ a: 'z'.repeat(bytes) })
  })

  test('sends nothing for a file that was written again with the same content', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    await pod('a', 'x')
    await utimes(join(folder.root, 'data', 'a'), 1, 1)

    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  })

  test.each([
    { name: 'whose ETag is a checksum', headers: {} },
    { name: 'that a KMS key encrypts', headers: { 'x-amz-server-side-encryption': 'aws:kms' } },
  ])('sends a write to mapped memory without a new file time, to an object $name', async ({ headers }) => {
    folder.s3.encryptWith(headers)
    const path = join(folder.root, 'data', 'a')
    const now = new Date()
    await pod('a', 'first')
    await utimes(path, now, now)
    await upload()
    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
    // As with mmap: the page is changed again before the kernel has written it.
    await pod('a', 'later')
    await utimes(path, now, now)

    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 5 })
    expect(stored()).toEqual({ a: 'later' })
  })

  test('reads no file again whose time is old', async () => {
    const old = new Date(Date.now() - 600_000)
    await pod('a', 'x')
    await utimes(join(folder.root, 'data', 'a'), old, old)
    await upload()

    const record = await readFile(join(folder.root, '.data.mover', 'uploads'), 'utf8')
    expect(record).toContain('"mtimeMs"')
    expect(record).not.toContain('"sha256"')
  })

  test('expects the object of the download, or none, in each write', async () => {
    folder.s3.put('data/a', 'x', { etag: 'etag-of-a' })
    await download()
    await pod('a', 'changed')
    await pod('b', 'new')

    await upload()

    const conditions = folder.s3.requests
      .filter(({ method }) => method === 'PUT')
      .map(({ key, headers }) => [key, headers['if-match'] ?? headers['if-none-match']])
    expect(Object.fromEntries(conditions)).toEqual({ 'data/a': '"etag-of-a"', 'data/b': '*' })
  })

  test('expects its own object in the next round', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    for (const content of ['first', 'second']) {
      await pod('a', content)
      expect((await upload()).result.outcome).toBe('completed')
    }

    expect(stored()).toEqual({ a: 'second' })
  })

  test('of one object expects that object', async () => {
    folder.s3.put('data/one.csv', 'x', { etag: 'etag-of-one' })
    await runMover(folder.root, ['download', ...folder.words(), '--source', 's3://lake/data/one.csv'])
    await pod('one.csv', 'changed')

    expect((await upload()).result).toMatchObject({ outcome: 'completed' })
    expect(stored()).toEqual({ 'one.csv': 'changed' })
  })

  test.each([
    { name: 'in one piece', content: 'changed' },
    { name: 'in parts', content: 'c'.repeat(PART + 1) },
  ])('sends the MD5 of each body $name: buckets with locked objects require it', async ({ content }) => {
    await pod('a', content)

    await upload()

    const bodies = folder.s3.requests.filter(({ method }) => method === 'PUT')
    expect(bodies).toHaveLength(content.length > PART ? 2 : 1)
    for (const { headers } of bodies) expect(headers['content-md5']).toMatch(/^[A-Za-z0-9+/]{22}==$/)
  })

  test.each([
    { name: 'in one piece', content: 'changed' },
    { name: 'in parts', content: 'c'.repeat(PART + 1) },
  ])('keeps what other clients said about the object, written $name', async ({ content }) => {
    const headers = {
      'content-type': 'text/csv',
      'cache-control': 'no-cache',
      'content-encoding': 'br',
      'x-amz-meta-owner': 'sales  team',
      'x-amz-storage-class': 'STANDARD_IA',
    }
    folder.s3.put('data/a', 'x', { headers: { ...headers, 'x-amz-version-id': 'v1' } })
    await download()
    await pod('a', content)

    expect((await upload()).result).toMatchObject({ outcome: 'completed' })
    const written = folder.s3.requests.find(
      ({ method, query }) => (method === 'POST' && query.has('uploads')) || method === 'PUT',
    )
    expect(written?.headers).toMatchObject(headers)
    expect(written?.headers['x-amz-version-id']).toBeUndefined()
  })

  test.each([
    ['gzip', 'gzip'],
    ['identity', undefined],
  ])('keeps the encoding %s of an object that GCS decodes on the way', async (stored, sent) => {
    folder.s3.put('data/a', 'x', { headers: { 'x-goog-stored-content-encoding': stored } })
    await download()
    await pod('a', 'changed')

    await upload()

    expect(folder.s3.requests.find(({ method }) => method === 'PUT')?.headers['content-encoding']).toBe(sent)
  })

  test('does not keep an archive, nor the encoding of a body that was sent in chunks', async () => {
    folder.s3.put('data/a', 'x', { headers: { 'x-amz-storage-class': 'GLACIER', 'content-encoding': 'aws-chunked' } })
    await download()
    await pod('a', 'changed')

    await upload()

    const { headers } = folder.s3.requests.find(({ method }) => method === 'PUT') ?? {}
    expect([headers?.['x-amz-storage-class'], headers?.['content-encoding']]).toEqual([undefined, undefined])
  })

  test.each([
    { name: 'in one piece', content: 'changed' },
    { name: 'in parts', content: 'c'.repeat(PART + 1) },
  ])('lets the server choose a storage class instead of a refused one, written $name', async ({ content }) => {
    // MinIO has the name of a tier as the class of an object that it moved there, and refuses that name in a write.
    folder.s3.put('data/a', 'x', { headers: { 'x-amz-storage-class': 'WARM-TIER' } })
    await download()
    await pod('a', content)
    folder.s3.misbehave(({ method, headers }) =>
      method !== 'HEAD' && 'x-amz-storage-class' in headers ? { status: 400, code: 'InvalidStorageClass' } : undefined,
    )

    expect((await upload()).result).toMatchObject({ outcome: 'completed' })
    expect(stored()).toEqual({ a: content })
  })

  test('leaves out its own metadata if that of the object fills the limit of the server', async () => {
    const kept = { 'x-amz-meta-note': 'n'.repeat(2_030), 'content-encoding': 'gzip,aws-chunked' }
    folder.s3.put('data/a', 'x', { headers: kept })
    await download()
    await pod('a', 'changed')
    folder.s3.misbehave(({ method, headers }) =>
      method === 'PUT' && 'x-amz-meta-lodestone-upload' in headers
        ? { status: 400, code: 'MetadataTooLarge' }
        : undefined,
    )

    expect((await upload()).result).toMatchObject({ outcome: 'completed' })
    expect(stored()).toEqual({ a: 'changed' })
    expect(folder.s3.requests.findLast(({ method }) => method === 'PUT')?.headers).toMatchObject({
      'x-amz-meta-note': kept['x-amz-meta-note'],
      'content-encoding': 'gzip',
    })
  })

  test.each([
    { name: 'an error', body: '<?xml version="1.0"?>\n  <Error><Code>InternalError</Code></Error>' },
    { name: 'an error with a namespace', body: '<Error xmlns="urn:s3"><Code>SlowDown</Code></Error>' },
    { name: 'half of its text', body: '<?xml version="1.0"?>\n     ' },
  ])('completes an object in parts although the first answer has $name', async ({ body }) => {
    let left = 1
    const content = 'c'.repeat(PART + 1)
    await pod('a', content)
    await pod('b', 'small')
    folder.s3.misbehave(({ method, query }) =>
      method === 'POST' && query.has('uploadId') && left-- > 0
        ? { write: (response) => void response.writeHead(200).end(body) }
        : undefined,
    )

    expect((await upload()).result).toMatchObject({ outcome: 'completed', files: 2 })
    expect(stored()).toEqual({ a: content, b: 'small' })
  })

  test('of a shard keeps an object of another shard with the same name', async () => {
    folder.s3.put('data/0_a', 'x')
    folder.s3.put('data/1_a', 'of the other shard')
    await download('--match', '*0_*')
    await pod('1_a', 'mine')

    expect((await upload()).result).toMatchObject({ outcome: 'failed', code: 'WriteConflict' })
    expect(stored()).toMatchObject({ '0_a': 'x', '1_a': 'of the other shard' })
  })
})

describe('a conflict', () => {
  test.each<{ name: string; before?: string; other: string | undefined }>([
    { name: 'changed by both', before: 'x', other: 'theirs' },
    { name: 'deleted by another client and changed by a pod', before: 'x', other: undefined },
    { name: 'created by both', other: 'theirs' },
  ])('keeps both versions of an object $name, names it, and is not completed', async ({ before, other }) => {
    folder.s3.put('data/unrelated', 'x')
    if (before !== undefined) folder.s3.put('data/a', before)
    await download()
    otherClient('a', other)
    await pod('a', 'mine')
    await pod('b', 'result')

    const { status, result } = await upload()

    expect({ status, ...result }).toMatchObject({ status: 3, outcome: 'failed', code: 'WriteConflict', retry: false })
    expect(result.message).toMatch(/s3:\/\/lake\/data\/a \(copy \.lodestone-conflict-[0-9a-f]{12}\)/)
    const { a, b, ...copies } = stored()
    expect({ a, b }).toEqual({ a: other, b: 'result' })
    expect(Object.values(copies).sort()).toEqual(['mine', 'x'])
    expect(await readFile(join(folder.root, 'data', 'a'), 'utf8')).toBe('mine')
  })

  test('that begins between check and write is noticed by the condition of the write', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    await pod('a', 'mine')
    folder.s3.misbehave((request) => {
      if (isWrite(request)) otherClient('a', 'theirs')
      return undefined
    })

    expect((await upload()).result.code).toBe('WriteConflict')
    expect(stored()).toMatchObject({ a: 'theirs' })
  })

  test.each(['ignores', 'rejects'])('is found before the write on a server that %s conditions', async (how) => {
    for (const name of ['a', 'b']) folder.s3.put(`data/${name}`, 'x')
    await download()
    otherClient('a', 'theirs')
    for (const name of ['a', 'b', 'c']) await pod(name, 'mine')
    folder.s3.misbehave(({ headers, method }) => {
      if (how === 'ignores') return { ignore: 'if-match' }
      const isConditional = method === 'PUT' && (headers['if-match'] ?? headers['if-none-match']) !== undefined
      return isConditional ? { status: 501, code: 'NotImplemented' } : undefined
    })

    expect((await upload()).result.code).toBe('WriteConflict')
    expect(stored()).toMatchObject({ a: 'theirs', b: 'mine', c: 'mine' })
  })

  test.each(['f', 'ö'])('of the longest name of %s has a copy that can be downloaded', async (letter) => {
    const name = letter.repeat(255 / Buffer.byteLength(letter))
    folder.s3.put(`data/d/${name}`, 'x')
    await download()
    otherClient(`d/${name}`, 'theirs')
    await pod(`d/${name}`, 'mine')

    const { result } = await upload()
    expect(result.code).toBe('WriteConflict')
    await runMover(folder.root, ['delete'])

    expect((await download()).result).toMatchObject({ outcome: 'completed', files: 2 })
    const [copy = ''] = Object.keys(stored()).filter((path) => path !== `d/${name}`)
    expect(stored()).toEqual({ [`d/${name}`]: 'theirs', [copy]: 'mine' })
    expect(result.message).toContain(`(copy ${copy.slice(2)})`)
  })

  test('makes one copy, however often it is uploaded, until a user deletes the copy', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    otherClient('a', 'theirs')
    await pod('a', 'mine')
    await upload()
    await upload()
    const copies = [...folder.s3.objects.keys()].filter((key) => key !== 'data/a')
    expect(copies).toHaveLength(1)

    folder.s3.objects.delete(copies[0] ?? '')

    expect((await upload()).result.outcome).toBe('completed')
    expect(stored()).toEqual({ a: 'theirs' })
  })

  test('has another copy if a pod writes into memory without a new time of the file', async () => {
    const path = join(folder.root, 'data', 'a')
    const now = new Date()
    folder.s3.put('data/a', 'x')
    await download()
    otherClient('a', 'theirs')
    await pod('a', 'first')
    await utimes(path, now, now)
    await upload()
    await upload()
    // As with mmap: the page is changed again before the kernel has written it.
    await pod('a', 'later')
    await utimes(path, now, now)

    expect((await upload()).result.code).toBe('WriteConflict')
    expect(Object.values(stored()).sort()).toEqual(['first', 'later', 'theirs'])
  })

  test('is over for later changes too when a user chooses the version of the pod', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    otherClient('a', 'theirs')
    await pod('a', 'mine')
    await upload()
    const copy = [...folder.s3.objects.keys()].find((key) => key !== 'data/a') ?? ''
    folder.s3.put('data/a', 'mine')
    folder.s3.objects.delete(copy)
    await upload()
    await pod('a', 'mine, changed')

    expect((await upload()).result.outcome).toBe('completed')
    expect(stored()).toEqual({ a: 'mine, changed' })
  })

  test('is none when the other client wrote the same content', async () => {
    folder.s3.put('data/a', 'x')
    await download()
    otherClient('a', 'same')
    await pod('a', 'same')

    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  })
})

describe('a lost answer', () => {
  const KMS = { 'x-amz-server-side-encryption': 'aws:kms' }

  test.each([
    { name: 'to the end of a multipart upload', bytes: PART + 1 },
    { name: 'to the end of a multipart upload, on a server without conditions', bytes: PART + 1, ignore: true },
    { name: 'to the end of a multipart upload with a KMS key', bytes: PART + 1, encryption: KMS },
    { name: 'to a write of one piece with a KMS key', bytes: 9, encryption: KMS },
  ])('$name is not an error when the object is there', async ({ bytes, ignore = false, encryption = {} }) => {
    await pod('large', randomBytes(bytes))
    let left = 1
    folder.s3.encryptWith(encryption)
    folder.s3.misbehave(({ method, query }) => {
      const isLast = method === (bytes > PART ? 'POST' : 'PUT') && !query.has('uploads')
      if (isLast && left-- > 0) return { loseAnswer: true }
      return ignore ? { ignore: 'if-match' } : undefined
    })

    expect((await upload()).result).toMatchObject({ outcome: 'completed', files: 1 })
    expect(folder.s3.objects.size).toBe(1)
    expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  })
})

describe('names that are not UTF-8', () => {
  const name = (path: string) => execFileSync('bash', ['-c', `mkdir -p "$(dirname $'${path}')"; printf y > $'${path}'`])

  test.each([
    { name: 'file', path: 'caf\\xe9.txt', says: 'caf\\xe9.txt' },
    { name: 'folder', path: 'd\\xff/x', says: 'd\\xff' },
  ])('of a $name are an error with the path, and all other files are uploaded', async ({ path, says }) => {
    await pod('ok', 'x')
    name(`${folder.root}/data/${path}`)

    const { result } = await upload()

    expect(result).toMatchObject({ outcome: 'failed', code: 'UnsafeKey', retry: false })
    expect(result.message).toContain(says)
    expect(stored()).toEqual({ ok: 'x' })
  })

  test('do not keep a delete from its work', async () => {
    await pod('ok', 'x')
    name(`${folder.root}/data/caf\\xe9/x\\xff`)

    expect((await runMover(folder.root, ['delete'])).result).toMatchObject({ outcome: 'completed', files: 2 })
    await rm(join(folder.root, 'data'), { recursive: true, force: true })
  })

  test('of files outside of the download are removed from its staging directory', async () => {
    folder.s3.put('data/a', 'x')
    await mkdir(join(folder.root, '.data.mover', 'files'), { recursive: true })
    name(`${folder.root}/.data.mover/files/d\\xff/x`)

    expect((await download()).result).toMatchObject({ outcome: 'completed', files: 1 })
  })
})
