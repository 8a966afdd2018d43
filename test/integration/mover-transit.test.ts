/** Downloads from servers that send other bytes than they store, or ranges that may be of several versions of an object. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'
import { type Fault, isObjectGet, type S3Server, startS3Server } from './s3-server.ts'

const PART = 65_536

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
})

const download = (...more: string[]) => {
  const server = ['--endpoint', s3.url, '--part-size', `${PART}`, '--retries', '3']
  return runMover(root, ['download', '--source', 's3://lake/raw/', ...server, ...more])
}
const data = () => readTree(join(root, 'data'))

describe('an object that is stored with Content-Encoding', () => {
  const text = randomBytes(50_000).toString('hex')
  const stored = gzipSync(text)
  const plain = gunzipSync(stored)

  test.each<{ name: string; headers: (etag: string) => Record<string, string | number> }>([
    { name: 'that says so (GCS)', headers: () => ({ 'x-goog-stored-content-encoding': 'gzip' }) },
    { name: 'with the ETag and another length', headers: (etag) => ({ etag, 'content-length': plain.length }) },
  ])('arrives as stored from a server $name that decodes it for clients without gzip', async ({ headers }) => {
    s3.put('raw/a', stored, { etag: 'e-1', headers: { 'content-encoding': 'gzip' } })
    s3.misbehave((request) => {
      const isDecoded = isObjectGet(request) && request.headers['accept-encoding'] !== 'gzip'
      return isDecoded ? { write: (response) => void response.writeHead(200, headers('"e-1"')).end(plain) } : undefined
    })

    expect((await download()).result.outcome).toBe('completed')
    expect(await data()).toEqual({ a: stored.toString('latin1') })
  })

  test.each<{ name: string; headers: Record<string, string> }>([
    { name: 'with its ETag', headers: { etag: '"e-1"' } },
    { name: 'with a weak ETag', headers: { etag: 'W/"e-1"' } },
    { name: 'without an ETag', headers: {} },
  ])('is one permanent error with the remedy, if the server always decodes it, $name', async ({ headers }) => {
    s3.put('raw/a', stored, { etag: 'e-1' })
    s3.misbehave((request) =>
      isObjectGet(request) ? { write: (response) => void response.writeHead(200, headers).end(plain) } : undefined,
    )

    const { status, result } = await download('--part-size', '1Mi')

    expect({ status, ...result }).toMatchObject({ status: 3, outcome: 'failed', code: 'Rejected', retry: false })
    expect(result.message).toContain('s3://lake/raw/a: the server sends other bytes than it stores')
    expect(s3.requests.filter(isObjectGet).length).toBeLessThanOrEqual(2)
  })
})

test('the page of a proxy does not become the beginning of a downloaded object', async () => {
  const content = randomBytes(2_000)
  s3.put('raw/a', content, { etag: 'no-checksum' })
  let pages = 1
  s3.misbehave((request) => {
    if (!isObjectGet(request) || pages-- <= 0) return undefined
    const write: Extract<Fault, { write: unknown }>['write'] = (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>be patient</html>')
    return { write }
  })

  expect((await download()).result).toMatchObject({ outcome: 'completed', bytes: 2_000 })
  expect(await data()).toEqual({ a: content.toString('latin1') })
})

test('a resumed download does not mix two versions if the server lists no ETags', async () => {
  const [before, after] = [Buffer.alloc(PART * 4, 1), Buffer.alloc(PART * 4, 2)]
  const page = `<ListBucketResult><Contents><Key>raw/a</Key><Size>${PART * 4}</Size></Contents></ListBucketResult>`
  let isFailing = true
  s3.put('raw/a', before, { etag: 'e-1' })
  s3.misbehave((request): Fault | undefined => {
    if (request.query.has('list-type')) return { write: (response) => void response.end(page) }
    const isLater = isObjectGet(request) && !request.headers.range?.startsWith('bytes=0-')
    return isFailing && isLater ? { status: 500 } : undefined
  })
  const words = ['--parallel', '1', '--retries', '0']

  expect((await download(...words)).result).toMatchObject({ outcome: 'failed', movedBytes: PART * 2 })
  isFailing = false
  s3.put('raw/a', after, { etag: 'e-2' })

  expect((await download(...words)).result).toMatchObject({ outcome: 'completed' })
  expect(await data()).toEqual({ a: after.toString('latin1') })
})

describe('a server that sends ranges without an ETag', () => {
  const before = Buffer.alloc(PART * 3, 1)
  const after = Buffer.alloc(PART * 3, 2)

  /** The content of the object changes after so many ranges. */
  const rangesWithoutEtag = (changesAfter: number) => {
    let ranges = 0
    s3.misbehave((request): Fault | undefined => {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
      if (!isObjectGet(request) || start === undefined) return undefined
      const body = ranges++ < changesAfter ? before : after
      const part = body.subarray(Number(start), Number(end) + 1)
      const headers = { 'content-range': `bytes ${start}-${end}/${body.length}`, 'content-length': part.length }
      return { write: (response) => void response.writeHead(206, headers).end(part) }
    })
  }

  test.each([{ words: [] }, { words: ['--in-place', 'true'] }])(
    'sends the object whole, so that a change between parts is never mixed $words',
    async ({ words }) => {
      s3.put('raw/a', before, { etag: 'e-3' })
      rangesWithoutEtag(1)

      expect((await download(...words)).result.outcome).toBe('completed')
      expect(await data()).toEqual({ a: before.toString('latin1') })
    },
  )

  test('begins again at the first byte after a broken connection', async () => {
    s3.put('raw/a', randomBytes(PART), { etag: 'e-1' })
    const content = s3.objects.get('raw/a')?.body.toString('latin1')
    let broken = 1
    s3.misbehave((request) => {
      if (!isObjectGet(request)) return undefined
      if (request.headers.range === undefined) return broken-- > 0 ? { breakAfter: 10_000 } : undefined
      const headers = { 'content-range': `bytes 10000-${PART - 1}/${PART}` }
      return { write: (response) => void response.writeHead(206, headers).end(after.subarray(0, PART - 10_000)) }
    })

    const { result } = await download()

    expect(result).toMatchObject({ outcome: 'completed', bytes: PART })
    expect(await data()).toEqual({ a: content })
  })

  test('must send the same ETag with each part, if its listing has none', async () => {
    s3.put('raw/a', before, { etag: '' })
    let ranges = 0
    s3.misbehave((request): Fault | undefined => {
      if (request.method === 'HEAD' && request.key !== '') {
        return { write: (response) => void response.writeHead(200, { etag: '"v1"' }).end() }
      }
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
      if (start === undefined) return undefined
      const etag = ranges++ < 1 ? '"v1"' : '"v2"'
      const headers = { etag, 'content-range': `bytes ${start}-${end}/${before.length}` }
      return {
        write: (response) => void response.writeHead(206, headers).end(before.subarray(+start, Number(end) + 1)),
      }
    })

    expect((await download('--verify', 'size')).result).toMatchObject({ outcome: 'failed', code: 'SourceChanged' })
  })
})
