/** A small S3 server in this process that keeps its objects in memory, counts what it serves, and misbehaves when told to. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface StoredObject {
  body: Buffer
  etag: string
  headers: Record<string, string>
}

export interface SeenRequest {
  method: string
  /** Decoded; empty for the bucket. */
  key: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
}

/** Whether a request reads an object, or a part of one. */
export function isObjectGet({ method, key }: SeenRequest): boolean {
  return method === 'GET' && key !== ''
}

/** A fault of the server: it replaces the right answer, or spoils it. */
export type Fault =
  /** This answer. */
  | { status: number; code?: string; message?: string; headers?: Record<string, string> }
  /** The right answer, but its connection breaks after so many bytes of the body. */
  | { breakAfter: number; chunked?: true }
  /** As if the body ended there, with a length that fits. */
  | { endAfter: number }
  /** The first byte of the body is another one. */
  | { corrupt: true }
  /** The server does what is asked, and the connection breaks before its answer. */
  | { loseAnswer: true }
  /** An answer that the test writes. */
  | { write: (response: ServerResponse) => void }
  /** Not until the promise resolves. */
  | { hold: Promise<void> }
  /** If-Match, ranges or tokens of the listing are not known; or the size is not said. */
  | { ignore: 'if-match' | 'range' | 'token' | 'length' }

const NO_FAULT: Fault = { endAfter: Number.POSITIVE_INFINITY }

export type S3Server = Awaited<ReturnType<typeof startS3Server>>

const BUCKET = 'lake'

/** Starts a server with one bucket, `lake`; it ends with the test. */
export async function startS3Server({ pageSize = 1000 } = {}) {
  const objects = new Map<string, StoredObject>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const metadata = new Map<string, Record<string, string>>()
  const requests: SeenRequest[] = []
  const state = {
    encryption: {} as Record<string, string>,
    bodyBytes: 0,
    fault: (_: SeenRequest): Fault | undefined => undefined,
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3')
    const [, bucket, ...rest] = pathname.split('/')
    const seen = {
      method: request.method ?? '',
      key: rest.map(decodeURIComponent).join('/'),
      query: searchParams,
      headers: request.headers,
    }
    requests.push(seen)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void answer(bucket ?? '', seen, Buffer.concat(chunks), response)
    })
  })

  async function answer(bucket: string, seen: SeenRequest, body: Buffer, response: ServerResponse): Promise<void> {
    response.setHeader('x-amz-request-id', `${requests.length}`)
    const fault = state.fault(seen) ?? NO_FAULT
    if ('hold' in fault) await fault.hold
    if ('write' in fault) return fault.write(response)
    if ('status' in fault) return refuse(response, fault.status, fault.code ?? 'Fault', fault)
    if (bucket !== BUCKET) return refuse(response, 404, 'NoSuchBucket')
    if (isRefused(seen, fault)) return refuse(response, 412, 'PreconditionFailed')
    if (seen.method === 'PUT') return put(seen, body, fault, response)
    if (seen.method === 'POST') return post(seen, fault, response)
    if (seen.method === 'DELETE') return abortUpload(seen, response)
    return seen.key === '' ? describeBucket(seen, fault, response) : get(seen, fault, response)
  }

  function describeBucket({ method, query }: SeenRequest, fault: Fault, response: ServerResponse): void {
    if (method === 'HEAD') return void response.writeHead(200, { 'x-amz-bucket-region': 'eu-north-1' }).end()
    if ('ignore' in fault && fault.ignore === 'token') query.delete('continuation-token')
    response.end(list(query))
  }

  function abortUpload({ query }: SeenRequest, response: ServerResponse): void {
    uploads.delete(query.get('uploadId') ?? '')
    response.writeHead(204).end()
  }

  /** Whether the condition of a write is not true. */
  function isRefused({ method, key, headers }: SeenRequest, fault: Fault): boolean {
    if (method === 'GET' || method === 'HEAD' || ('ignore' in fault && fault.ignore === 'if-match')) return false
    const object = objects.get(key)
    const wanted = headers['if-match']
    if (headers['if-none-match'] === '*') return object !== undefined
    return wanted !== undefined && wanted !== (object && `"${object.etag}"`)
  }

  function list(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, pageSize)
    const contents = page.map((key) => {
      const { body, etag } = objects.get(key) as StoredObject
      const encoded = encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+')
      return `<Contents><Key>${encoded}</Key><ETag>&quot;${etag}&quot;</ETag><Size>${body.length}</Size></Contents>`
    })
    const next = keys.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    const truncated = `<IsTruncated>${next !== ''}</IsTruncated>${next}`
    return `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType>${truncated}${contents.join('')}</ListBucketResult>`
  }

  function get({ method, key, headers }: SeenRequest, fault: Fault, response: ServerResponse): void {
    const object = objects.get(key)
    if (object === undefined) {
      refuse(response, 404, 'NoSuchKey')
      return
    }
    const ignored = 'ignore' in fault ? fault.ignore : undefined
    const wanted = headers['if-match']
    if (wanted !== undefined && wanted !== `"${object.etag}"` && ignored !== 'if-match') {
      refuse(response, 412, 'PreconditionFailed')
      return
    }
    const given = ignored === 'range' ? null : /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')
    // RFC 9110: a range that ends before it begins is ignored.
    const range = given && Number(given[1]) <= Number(given[2]) ? given : null
    const [start, end] = range === null ? [0, object.body.length] : [Number(range[1]), Number(range[2]) + 1]
    const body = damaged(object.body.subarray(start, end), fault)
    response.writeHead(range === null ? 200 : 206, {
      ...object.headers,
      etag: `"${object.etag}"`,
      ...(ignored !== 'length' && !('chunked' in fault) && { 'content-length': body.length }),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${object.body.length}` }),
    })
    if (method === 'HEAD') return void response.end()
    if (!('breakAfter' in fault)) {
      state.bodyBytes += body.length
      return void response.end(body)
    }
    const sent = body.subarray(0, fault.breakAfter)
    state.bodyBytes += sent.length
    response.write(sent, () => response.destroy())
  }

  function damaged(body: Buffer, fault: Fault): Buffer {
    if ('endAfter' in fault) return body.subarray(0, fault.endAfter)
    if (!('corrupt' in fault) || body.length === 0) return body
    return Buffer.concat([Buffer.from([(body[0] ?? 0) ^ 1]), body.subarray(1)])
  }

  /** With a KMS key, an ETag is no checksum. */
  const etagFor = (checksum: string) =>
    Object.keys(state.encryption).length > 0
      ? checksum.replace(/^.{32}/, md5(Buffer.from(`key ${checksum}`)))
      : checksum

  function store(key: string, body: Buffer, checksum: string, more: Record<string, string>): string {
    const etag = etagFor(checksum)
    objects.set(key, { body, etag, headers: { ...state.encryption, ...more } })
    return etag
  }

  function put({ key, query, headers }: SeenRequest, body: Buffer, fault: Fault, response: ServerResponse): void {
    const parts = uploads.get(query.get('uploadId') ?? '')
    const etag = parts === undefined ? store(key, body, md5(body), metadataIn(headers)) : etagFor(md5(body))
    parts?.set(Number(query.get('partNumber')), body)
    if ('loseAnswer' in fault) return void response.destroy()
    response.writeHead(200, { etag: `"${etag}"`, ...state.encryption }).end()
  }

  function post({ key, query, headers }: SeenRequest, fault: Fault, response: ServerResponse): void {
    if (query.has('uploads')) {
      const id = `upload-${requests.length}`
      uploads.set(id, new Map())
      metadata.set(id, metadataIn(headers))
      return void response.end(
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      )
    }
    const id = query.get('uploadId') ?? ''
    const upload = uploads.get(id)
    if (upload === undefined) return void refuse(response, 404, 'NoSuchUpload')
    const parts = [...upload].sort(([a], [b]) => a - b).map(([, part]) => part)
    uploads.delete(id)
    const hashes = parts.map((part) => createHash('md5').update(part).digest())
    const checksum = `${md5(Buffer.concat(hashes))}-${parts.length}`
    const etag = store(key, Buffer.concat(parts), checksum, metadata.get(id) ?? {})
    if ('loseAnswer' in fault) return void response.destroy()
    response.end(`<CompleteMultipartUploadResult><ETag>&quot;${etag}&quot;</ETag></CompleteMultipartUploadResult>`)
  }

  function refuse(
    response: ServerResponse,
    status: number,
    code: string,
    { headers = {}, message = 'no' }: { headers?: Record<string, string>; message?: string } = {},
  ): void {
    response
      .writeHead(status, headers)
      .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  onTestFinished(async () => void (await close()))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    uploads,
    requests,
    /** Of objects, over all answers. */
    bodyBytes: () => state.bodyBytes,
    /** Puts an object; its ETag is the MD5 of its content unless another is given, as it is of one uploaded in parts. */
    put(
      key: string,
      content: Buffer | string,
      { etag, headers = {} }: { etag?: string; headers?: Record<string, string> } = {},
    ) {
      const body = Buffer.from(content)
      objects.set(key, { body, etag: etag ?? md5(body), headers })
    },
    /** The headers of objects that are written from now on, whose ETags are no checksums. */
    encryptWith(headers: Record<string, string>) {
      state.encryption = headers
    },
    /** From now on; undefined is the right answer. */
    misbehave(fault: (request: SeenRequest) => Fault | undefined) {
      state.fault = fault
    },
    gets: () => requests.filter(({ method, key }) => method === 'GET' && key !== ''),
    close,
  }
}

function md5(body: Buffer): string {
  return createHash('md5').update(body).digest('hex')
}

function metadataIn(headers: SeenRequest['headers']): Record<string, string> {
  const isMetadata = ([name]: [string, unknown]) => name.startsWith('x-amz-meta-')
  return Object.fromEntries(Object.entries(headers).filter(isMetadata)) as Record<string, string>
}
