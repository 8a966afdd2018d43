/** Downloads from servers that are compatible with S3, but lack a part of its protocol. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'
import { type Fault, type S3Server, type SeenRequest, startS3Server } from './s3-server.ts'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  s3.put('raw/a', 'abc')
})

const download = (source: string) =>
  runMover(root, ['download', '--endpoint', s3.url, '--source', source, '--retries', '1'])
const data = () => readTree(join(root, 'data'))
const isObject = ({ key }: SeenRequest) => key !== ''

describe.each(['s3://lake/raw/', 's3://lake/raw/a'])('of %s', (source) => {
  test.each([
    { name: 'Backblaze', status: 400, code: 'InvalidArgument' },
    { name: 'a server without this header', status: 501, code: 'NotImplemented' },
  ])('a request for a checksum is sent again without it to $name', async ({ status, code }) => {
    const message = "Unsupported header 'x-amz-checksum-mode' received for this API call."
    s3.misbehave((request): Fault | undefined =>
      request.headers['x-amz-checksum-mode'] === undefined ? undefined : { status, code, message },
    )

    expect((await download(source)).result).toMatchObject({ outcome: 'completed' })
    expect(await data()).toEqual({ a: 'abc' })
    expect(s3.requests.filter(({ headers }) => headers['x-amz-checksum-mode'] !== undefined).length).toBeLessThan(3)
  })

  test('a wrong answer 412 is proven by the ETag, and the condition left out', async () => {
    s3.misbehave((request) => (request.headers['if-match'] === undefined ? undefined : { status: 412 }))

    expect((await download(source)).result).toMatchObject({ outcome: 'completed' })
    expect(await data()).toEqual({ a: 'abc' })
  })
})

test('an object that changes before each request is not taken for a wrong answer 412', async () => {
  let changes = 0
  s3.misbehave((request) => {
    if (request.headers['if-match'] !== undefined) s3.put('raw/a', `${changes++}`)
    return undefined
  })

  expect((await download('s3://lake/raw/a')).result).toMatchObject({ outcome: 'failed', code: 'SourceChanged' })
})

test.each<{ name: string; headers: Record<string, string> }>([
  { name: 'by the header of GCS', headers: { 'x-goog-stored-content-length': '3' } },
  { name: 'by a range', headers: {} },
])('the size of an object whose HEAD has no length is known $name', async ({ headers }) => {
  s3.misbehave((request) => {
    if (request.method !== 'HEAD' || !isObject(request)) return undefined
    const etag = `"${s3.objects.get('raw/a')?.etag}"`
    return { write: (response) => void response.writeHead(200, { ...headers, etag }).end() }
  })

  expect((await download('s3://lake/raw/a')).result).toMatchObject({ outcome: 'completed', bytes: 3 })
  expect(await data()).toEqual({ a: 'abc' })
})

test.each([
  { name: 'a server that is busy', fault: { status: 503, code: 'SlowDown' }, want: { outcome: 'completed', bytes: 3 } },
  {
    name: 'keys that may not read',
    fault: { status: 403, code: 'AccessDenied' },
    want: { code: 'AccessDenied', retry: false },
  },
])('the request for the size of an object tells $name', async ({ fault, want }) => {
  let isFirst = true
  s3.misbehave((request) => {
    if (!isObject(request)) return undefined
    if (request.method === 'HEAD') return { ignore: 'length' }
    if (!isFirst) return undefined
    isFirst = false
    return { ...fault, headers: { 'retry-after': '0' } }
  })

  expect((await download('s3://lake/raw/a')).result).toMatchObject(want)
})

test('an object without a size in any response is refused, and nothing appears', async () => {
  s3.misbehave((request) => {
    if (!isObject(request)) return undefined
    return request.method === 'HEAD' ? { ignore: 'length' } : { ignore: 'range' }
  })

  const { result } = await download('s3://lake/raw/a')

  const message = expect.stringContaining('no valid content-length')
  expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', message })
  expect(await readdir(root)).not.toContain('data')
})

test.each<{ name: string; fault: Fault; want: string }>([
  { name: 'of a bucket in another region', fault: { status: 301 }, want: 'set --region' },
  {
    name: 'to another scheme',
    fault: { status: 301, headers: { location: 'https://s3.example.org/lake/raw/a' } },
    want: 'the server redirects to https://s3.example.org/lake/raw/a; check the endpoint',
  },
  {
    name: 'of a proxy',
    fault: { status: 302, headers: { location: 'https://login.example.org/?token=hunter2' } },
    want: 'the server redirects to https://login.example.org/; check the endpoint',
  },
])('a redirect $name is an error with its remedy', async ({ fault, want }) => {
  s3.misbehave((request) => (isObject(request) ? fault : undefined))

  const { result } = await download('s3://lake/raw/a')

  expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', retry: false })
  expect(result.message).toContain(want)
  expect(result.message).not.toContain('hunter2')
})
