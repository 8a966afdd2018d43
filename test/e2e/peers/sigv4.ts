// AWS Signature Version 4 of one S3 request, written from its specification and for tests only. Tests cannot check the
// signatures of Lodestone with its own code.
import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  accessKey: string
  secretKey: string
  region: string
}

export interface Signable {
  method: string
  url: URL
  body: Uint8Array
  // Further ones, in small letters; all of S3's have to be signed.
  headers?: Record<string, string>
}

// The headers to send with the request.
export function signatureHeaders(request: Signable, credentials: Credentials): Record<string, string> {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/${credentials.region}/s3/aws4_request`
  const headers = { host: request.url.host, 'x-amz-content-sha256': sha256(request.body), 'x-amz-date': time }
  const ordered = Object.entries({ ...headers, ...request.headers }).sort(([one], [other]) => (one < other ? -1 : 1))
  const signed = ordered.map(([name]) => name).join(';')
  const canonical = [
    request.method,
    request.url.pathname,
    canonicalQuery(request.url),
    ...ordered.map(([name, value]) => `${name}:${value}`),
    '',
    signed,
    headers['x-amz-content-sha256'],
  ].join('\n')
  const key = scope
    .split('/')
    .reduce<Buffer>((previous, part) => hmac(previous, part), Buffer.from(`AWS4${credentials.secretKey}`))
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')).toString('hex')
  return {
    ...request.headers,
    'x-amz-content-sha256': headers['x-amz-content-sha256'],
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKey}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  }
}

// encodeURIComponent leaves out five characters that S3 wants to have encoded.
export function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function canonicalQuery(url: URL): string {
  const pairs = [...url.searchParams].map(([name, value]) => `${encodeSegment(name)}=${encodeSegment(value)}`)
  return pairs.sort().join('&')
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
