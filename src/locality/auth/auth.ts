/** Adds credentials to requests, and decides whether a rejected request can be retried with other credentials. */
import type { Clock } from '../../base/time/clock.ts'
import type { HttpRequest, HttpTransport } from '../http/transport.ts'
import { type AuthConfig, needSecret, readSecret } from './credentials.ts'
import { openTokens } from './oauth2.ts'
import { sign } from './sigv4.ts'

export interface Authenticator {
  authorize(request: HttpRequest, signal: AbortSignal): Promise<HttpRequest>
  /** Whether the credentials now differ from those of the request `sent`. */
  renew(sent: HttpRequest): Promise<boolean>
}

/** Creates the authenticator of a configuration. */
export function openAuthenticator(auth: AuthConfig, transport: HttpTransport, clock: Clock): Authenticator {
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
