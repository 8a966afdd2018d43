/** Signs requests as AWS wants them (Signature Version 4), for S3 and for catalogs behind AWS' own authentication. */
import { createHash, createHmac } from 'node:crypto'
import { type AuthConfig, needSecret, readSecret } from './credentials.ts'
import type { HttpRequest } from './transport.ts'

const DEFAULT_REGION = 'us-east-1'

/** Signs a request at a time (ms since 1970). The region and service are the configuration's, S3 in us-east-1 by default. */
export async function sign(request: HttpRequest, auth: AuthConfig, now: number): Promise<HttpRequest> {
  const keys = {
    accessKeyId: await needSecret(auth, 'accessKeyId'),
    secretAccessKey: await needSecret(auth, 'secretAccessKey'),
    sessionToken: await readSecret(auth, 'sessionToken'),
  }
  const scope = { region: request.region ?? auth.region ?? DEFAULT_REGION, service: auth.service ?? 's3' }
  return { ...request, headers: { ...request.headers, ...signedHeaders(request, keys, scope, now) } }
}

export interface AccessKeys {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

/** The headers that sign a request: all its own are left unsigned, since proxies may change them. */
export function signedHeaders(
  { method, url, body = '' }: HttpRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AccessKeys,
  { region, service }: { region: string; service: string },
  now: number,
): Record<string, string> {
  const { host, pathname, searchParams } = new URL(url)
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const bodyHash = sha256(body)
  const headers: Record<string, string> = {
    host,
    ...(service === 's3' && { 'x-amz-content-sha256': bodyHash }),
    'x-amz-date': time,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    method,
    canonicalPath(pathname, service),
    canonicalQuery(searchParams),
    ...names.map((name) => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  const signature = hmac(key, toSign).toString('hex')
  const credential = `${accessKeyId}/${scope}`
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** S3 signs the path as it is sent; every other service encodes it once more. */
function canonicalPath(pathname: string, service: string): string {
  return pathname
    .split('/')
    .map((segment) => {
      const strict = strictEncode(decodeURIComponent(segment))
      return service === 's3' ? strict : strictEncode(strict)
    })
    .join('/')
}

function canonicalQuery(parameters: URLSearchParams): string {
  return [...parameters]
    .map(([name, value]) => `${strictEncode(name)}=${strictEncode(value)}`)
    .sort()
    .join('&')
}

function strictEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
