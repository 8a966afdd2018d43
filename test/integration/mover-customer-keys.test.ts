/** Objects that a key of the customer encrypts (SSE-C): S3 answers each request for one with status 400. */
import { readdirSync, readlinkSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'
import { type S3Server, type SeenRequest, startS3Server } from './s3-server.ts'

/** The answers of servers to a request without the key. A response to HEAD has no body. */
const ANSWERS = [
  {
    server: 'AWS, MinIO and LocalStack',
    code: 'InvalidRequest',
    message:
      'The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.',
  },
  {
    server: 'Ceph and SeaweedFS',
    code: 'InvalidArgument',
    message:
      'Requests specifying Server Side Encryption with Customer provided keys must provide a valid encryption algorithm.',
  },
  {
    server: 'OpenStack Swift',
    code: 'BadRequest',
    message: 'Missing X-Amz-Server-Side-Encryption-Customer-Key header',
  },
] as const
const [AWS] = ANSWERS

const PART = 65_536
const SECRET = 'raw/secret'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  s3.put('raw/plain', 'plain')
})

const encrypt = (answer: { code: string; message: string }, key = SECRET) =>
  s3.misbehave((request) => (isRead(request, key) ? { status: 400, ...answer } : undefined))
const isRead = ({ method, key }: SeenRequest, wanted: string) =>
  key === wanted && (method === 'GET' || method === 'HEAD')
const run = (verb: string, ...more: string[]) =>
  runMover(root, [verb, '--endpoint', s3.url, '--source', 's3://lake/raw/', '--retries', '3', ...more])
const download = (...more: string[]) => run('download', '--part-size', `${PART}`, ...more)
const upload = () =>
  runMover(root, [
    'upload',
    '--endpoint',
    s3.url,
    '--source',
    join(root, 'data'),
    '--target',
    's3://lake/raw/',
    '--retries',
    '3',
  ])
const readsOf = (wanted: string) => s3.requests.filter((request) => isRead(request, wanted))

/** One permanent error that names the object and the cause. */
function expectRefused({ status, result }: Awaited<ReturnType<typeof runMover>>, key = SECRET): void {
  expect({ status, ...result }).toMatchObject({ status: 3, outcome: 'failed', code: 'Rejected', retry: false })
  expect(result.message).toContain(`s3://lake/${key}: the object is encrypted with a key of the customer (SSE-C)`)
  expect(readsOf(key).length).toBeLessThanOrEqual(2)
  expect(openFiles().filter((path) => path.startsWith(root))).toEqual([])
}

/** The files that this process has open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // It was closed meanwhile.
      return []
    }
  })
}

describe.each(ANSWERS)('an object with a key of the customer, at $server', (answer) => {
  test.each([
    { name: 'a small object', bytes: 6, words: [] },
    { name: 'an empty object of a source that is one object', bytes: 0, words: ['--source', `s3://lake/${SECRET}`] },
    { name: 'an object in parts, whose checksum is requested before', bytes: PART * 2, words: [] },
    { name: 'an object in parts without a checksum', bytes: PART * 2, words: ['--verify', 'size'] },
  ])('fails the download of $name for good, after one request for its reason', async ({ bytes, words }) => {
    s3.put(SECRET, Buffer.alloc(bytes, 's'))
    encrypt(answer)

    expectRefused(await download(...words))
  })
})

describe('a source with an object of a key of the customer', () => {
  beforeEach(() => {
    s3.put(SECRET, 'secret')
    encrypt(AWS)
  })

  test('is downloaded without the object when a glob excludes it', async () => {
    expect((await download('--exclude', '*secret')).result.outcome).toBe('completed')
    expect(await readTree(join(root, 'data'))).toEqual({ plain: 'plain' })
  })

  test('is deleted from the node after the download failed', async () => {
    expectRefused(await download())

    expect((await runMover(root, ['delete'])).result.outcome).toBe('completed')
    expect(Object.keys(await readTree(root))).toEqual(['termination'])
  })

  test('fails the write-back to that object for good, which keeps it', async () => {
    await download('--exclude', '*secret')
    await appendFile(join(root, 'data', 'secret'), 'of a pod')

    expectRefused(await upload())
    expect(s3.objects.get(SECRET)?.body.toString()).toBe('secret')
  })
})

test('a HEAD that a server rejects without a reason is one error, in any case', async () => {
  s3.misbehave(({ method, key }) => (method === 'HEAD' && key !== '' ? { status: 400 } : undefined))

  const { status, result } = await download('--source', 's3://lake/raw/plain')

  expect({ status, ...result }).toMatchObject({ status: 3, code: 'Rejected' })
  expect(result.message).toContain('s3://lake/raw/plain: the server answers 400')
  expect(s3.bodyBytes()).toBeLessThanOrEqual(1)
})

test('an encrypted object that needs a signature is no object of a key of the customer', async () => {
  encrypt(
    {
      code: 'InvalidArgument',
      message: 'Requests specifying Server Side Encryption with AWS KMS managed keys require AWS Signature Version 4.',
    },
    'raw/plain',
  )

  const { result } = await download()

  expect(result).toMatchObject({ code: 'Rejected', message: expect.not.stringContaining('SSE-C') })
})
