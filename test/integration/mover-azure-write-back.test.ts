/** Tests that an upload to Azure Blob Storage writes with conditions, and keeps both versions after a conflict. */
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeRoot, runMover } from './mover-run.ts'

const PREFIX = '/lake/raw/'
const md5 = (body: Buffer) => createHash('md5').update(body).digest('base64')

/** Starts a container with one blob `a`. Azure answers a failed `If-None-Match: *` with 409, and a failed `If-Match` with 412. */
async function startContainer() {
  const blobs = new Map<string, { body: Buffer; etag: string }>()
  const conditions: Record<string, string | undefined> = {}
  const leased = new Set<string>()
  const sent: Record<string, Record<string, unknown>> = {}
  const put = (name: string, text: string | Buffer) =>
    blobs.set(name, { body: Buffer.from(text), etag: `0x${blobs.size}${text.length}` })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://azure')
    const { 'if-match': match, 'if-none-match': noneMatch } = request.headers
    if (searchParams.get('comp') === 'list') {
      const listed = [...blobs].map(
        ([name, { body, etag }]) =>
          `<Blob><Name>raw/${name}</Name><Properties><Etag>${etag}</Etag><Content-Length>${body.length}</Content-Length></Properties></Blob>`,
      )
      return void response.end(
        `<EnumerationResults><Blobs>${listed.join('')}</Blobs><NextMarker/></EnumerationResults>`,
      )
    }
    const name = pathname.slice(PREFIX.length)
    const blob = blobs.get(name)
    const fail = (status: number, code: string) => void response.writeHead(status, { 'x-ms-error-code': code }).end()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (match !== undefined && match !== `"${blob?.etag}"`) return fail(412, 'ConditionNotMet')
      if (request.method === 'PUT') {
        if (leased.has(name)) return fail(412, 'LeaseIdMissing')
        conditions[name] = match ?? noneMatch
        sent[name] = request.headers
        if (noneMatch === '*' && blob) return fail(409, 'BlobAlreadyExists')
        put(name, Buffer.concat(chunks))
        return void response.writeHead(201, { etag: `"${blobs.get(name)?.etag}"` }).end()
      }
      if (!blob) return fail(404, 'BlobNotFound')
      const headers = {
        etag: `"${blob.etag}"`,
        'content-length': blob.body.length,
        'content-md5': md5(blob.body),
        'content-type': 'text/csv',
        'x-ms-meta-owner': 'sales',
        'x-ms-blob-type': 'BlockBlob',
      }
      response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : blob.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const root = makeRoot()
  const run = (verb: string, ...words: string[]) =>
    runMover(root, [verb, '--endpoint', endpoint, '--retries', '2', ...words], {
      env: {
        AZURE_STORAGE_ACCOUNT: 'sales',
        AZURE_STORAGE_SAS_TOKEN: '?sig=x',
        MOVER_CREDENTIAL_ENDPOINTS: endpoint,
      },
    })
  put('a', 'x')
  return {
    blobs,
    conditions,
    sent,
    lease: (name: string) => leased.add(name),
    put,
    pod: (name: string, text: string) => writeFile(join(root, 'data', name), text),
    download: () => run('download', '--source', 'az://lake/raw/'),
    upload: () => run('upload', '--source', join(root, 'data'), '--target', 'az://lake/raw/'),
    stored: () => Object.fromEntries([...blobs].map(([name, { body }]) => [name, body.toString()])),
  }
}

test('an upload expects the blob of the download, or none, in each write', async () => {
  const { download, pod, upload, stored, conditions, blobs } = await startContainer()
  await download()
  const { etag } = blobs.get('a') ?? {}
  await pod('a', 'changed')
  await pod('b', 'new')

  expect((await upload()).result).toMatchObject({ outcome: 'completed' })
  expect(conditions).toEqual({ a: `"${etag}"`, b: '*' })
  expect(stored()).toEqual({ a: 'changed', b: 'new' })
})

test.each([
  { name: 'changed', change: 'theirs' },
  { name: 'deleted', change: undefined },
])('a blob that another client $name and pods changed: two versions, a failed upload', async ({ change }) => {
  const { download, pod, put, upload, stored, blobs } = await startContainer()
  await download()
  if (change === undefined) blobs.delete('a')
  else put('a', change)
  await pod('a', 'mine')

  const { result } = await upload()

  expect(result).toMatchObject({ outcome: 'failed', code: 'WriteConflict' })
  const { a, ...copies } = stored()
  expect([a, Object.values(copies)]).toEqual([change, ['mine']])
})

test('a blob that pods did not change stays as another client wrote it', async () => {
  const { download, put, upload, stored } = await startContainer()
  await download()
  put('a', 'theirs')

  expect((await upload()).result).toMatchObject({ outcome: 'completed', movedBytes: 0 })
  expect(stored()).toEqual({ a: 'theirs' })
})

test('a changed blob keeps its content type and its metadata', async () => {
  const { download, pod, upload, sent } = await startContainer()
  await download()
  await pod('a', 'changed')

  await upload()

  expect(sent['a']).toMatchObject({ 'x-ms-blob-content-type': 'text/csv', 'x-ms-meta-owner': 'sales' })
})

test.each(['a.', 'b\\c'])(
  'a file %s that would become another blob is named, and all others are uploaded',
  async (name) => {
    const { download, pod, upload, stored } = await startContainer()
    await download()
    await pod(name, 'y')
    await pod('ok', 'x')

    expect((await upload()).result).toMatchObject({ outcome: 'failed', code: 'UnsafeKey', retry: false })
    expect(stored()).toEqual({ a: 'x', ok: 'x' })
  },
)

test('a leased blob is one clear permanent error, after all other files', async () => {
  const { download, pod, upload, stored, lease } = await startContainer()
  await download()
  lease('a')
  await pod('a', 'changed')
  await pod('b', 'new')

  const { result } = await upload()

  expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', retry: false })
  expect(result.message).toContain('another client has a lease on the blob')
  expect(stored()).toEqual({ a: 'x', b: 'new' })
})
