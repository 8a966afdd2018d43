/** Signs requests to S3, and to catalogs with the authentication of AWS, with the credentials of a configuration. */
import { createHash, createHmac } from 'node:crypto'
import { type AccessKeys, createSigner, type Digest, type SigningScope } from '../../s3/sigv4.ts'
import type { HttpRequest } from '../http/transport.ts'
import { type AuthConfig, needSecret, readSecret } from './credentials.ts'

const DEFAULT_REGION = 'us-east-1'

/**
 * Signs a request at the time `now` (ms since the epoch). Region and service are those of the configuration, by default S3 in us-east-1.
 */
export async function sign(request: HttpRequest, auth: AuthConfig, now: number): Promise<HttpRequest> {
  const keys = {
    accessKeyId: await needSecret(auth, 'accessKeyId'),
    secretAccessKey: await needSecret(auth, 'secretAccessKey'),
    sessionToken: await readSecret(auth, 'sessionToken'),
  }
  const scope = { region: request.region ?? auth.region ?? DEFAULT_REGION, service: auth.service ?? 's3' }
  return { ...request, headers: { ...request.headers, ...signedHeaders(request, keys, scope, now) } }
}

/** The headers that sign a request. */
export function signedHeaders(
  { method, url, body = '' }: HttpRequest,
  keys: AccessKeys,
  scope: SigningScope,
  now: number,
): Record<string, string> {
  const { host, pathname, searchParams } = new URL(url)
  const bodyHash = digest.sha256(body)
  return createSigner(scope, digest)({ method, host, path: pathname, query: searchParams, bodyHash }, keys, now)
}

const digest: Digest = {
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
  hmac: (key, text) => createHmac('sha256', key).update(text).digest(),
  hmacsBy: (key) => (text) => createHmac('sha256', key).update(text).digest('hex'),
}
