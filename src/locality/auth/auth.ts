/** Adds credentials to requests, and decides whether a rejected request can be retried with other credentials. */
import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../../base/time/clock.ts'
import { type AccessKeys, createSigner, type Digest, type SigningScope } from '../../s3/sigv4.ts'
import type { HttpRequest, HttpTransport } from '../http/transport.ts'
import { type AuthConfig, needSecret, readSecret } from './credentials.ts'
import { openTokens } from './oauth2.ts'

export interface Authenticator {
  authorize(request: HttpRequest, signal: AbortSignal): Promise<HttpRequest>
  /** Whether the credentials now differ from those of the request `sent`. */
  renew(sent: HttpRequest): Promise<boolean>
}

/** Creates the authenticator of a configuration. */
export function openAuthenticator(
  auth: AuthConfig,
  transport: Pick<HttpTransport, 'exchangeNow'>,
  clock: Clock,
): Authenticator {
  switch (auth.type) {
    case 'none':
      return { authorize: async (request) => request, renew: async () => false }
    case 'basic':
      return byHeader('authorization', async () => {
        const user = await needSecret(auth, 'username')
        const password = (await readSecret(auth, 'password')) ?? ''
        return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
      })
    case 'bearer':
      return byHeader('authorization', async () => `Bearer ${await needSecret(auth, 'token')}`)
    case 'apikey':
      return byHeader((auth.header ?? 'X-API-Key').toLowerCase(), () => needSecret(auth, 'apiKey'))
    case 'simple':
      return byQuery('user.name', () => needSecret(auth, 'username'))
    case 'delegation':
      return byQuery('delegation', () => needSecret(auth, 'token'))
    case 'oauth2':
      return byToken(openTokens(auth, transport, clock))
    case 'sigv4':
      return {
        authorize: (request) => sign(request, auth, clock.epochMs()),
        renew: async () => false,
      }
  }
}

function byHeader(name: string, read: () => Promise<string>): Authenticator {
  return {
    authorize: async (request) => ({ ...request, headers: { ...request.headers, [name]: await read() } }),
    renew: async (sent) => sent.headers?.[name] !== (await read()),
  }
}

function byQuery(name: string, read: () => Promise<string>): Authenticator {
  return {
    authorize: async (request) => {
      const url = new URL(request.url)
      url.searchParams.set(name, await read())
      return { ...request, url: url.href }
    },
    renew: async (sent) => new URL(sent.url).searchParams.get(name) !== (await read()),
  }
}

function byToken(tokens: ReturnType<typeof openTokens>): Authenticator {
  return {
    authorize: async (request, signal) => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${await tokens.get(signal)}` },
    }),
    renew: async (sent) => {
      tokens.drop((sent.headers?.['authorization'] ?? '').slice('Bearer '.length))
      return true
    },
  }
}

const DEFAULT_REGION = 'us-east-1'

/**
 * Signs a request at the time `now` (ms since the epoch). Region and service are those of the configuration, by default S3 in us-east-1.
 */
async function sign(request: HttpRequest, auth: AuthConfig, now: number): Promise<HttpRequest> {
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
