/** Access tokens by OAuth2 client credentials (RFC 6749, 4.4). Requests share a token, which is renewed before it expires. */
import { defined } from '../../base/json.ts'
import { type Clock, untilAborted } from '../../base/time/clock.ts'
import { errorOfStatus } from '../http/http-error.ts'
import { tryJson } from '../http/json.ts'
import type { HttpRequest, HttpResponse, HttpTransport } from '../http/transport.ts'
import { LocalityError } from '../locality.ts'
import { type AuthConfig, needSecret, readSecret } from './credentials.ts'

export interface Tokens {
  get(signal: AbortSignal): Promise<string>
  /** Drops a rejected token, unless another one has replaced it already. */
  drop(token: string): void
}

const DEFAULT_LIFE_MS = 3_600_000
/** Visible ASCII (RFC 6749, A.12). Servers accept at most 8 to 16 KiB of headers. */
const TOKEN = /^[\x21-\x7e]{1,16000}$/
/** A token is replaced after this share of its life, so that it does not expire during a request. */
const USED_SHARE = 0.9

/** Creates a source of tokens for a configuration of type `oauth2`. */
export function openTokens(auth: AuthConfig, transport: Pick<HttpTransport, 'exchangeNow'>, clock: Clock): Tokens {
  let current: { token: string; until: number } | undefined
  let request: Promise<string> | undefined

  async function requestToken(): Promise<string> {
    // Not the signal of the caller, because other callers wait for the same token. The transport limits the time.
    const response = await transport.exchangeNow(await tokenRequest(auth), new AbortController().signal)
    if (response.status !== 200) throw refusal(response, clock.epochMs())
    const { token, lifeMs } = parseToken(response)
    current = { token, until: clock.epochMs() + lifeMs * USED_SHARE }
    return token
  }

  return {
    get: async (signal) => {
      if (current !== undefined && clock.epochMs() < current.until) return current.token
      request ??= requestToken().finally(() => {
        request = undefined
      })
      return untilAborted(request, signal)
    },
    drop: (token) => {
      if (current?.token === token) current = undefined
    },
  }
}

async function tokenRequest(auth: AuthConfig): Promise<HttpRequest> {
  const clientId = await readSecret(auth, 'clientId')
  const form = new URLSearchParams(
    defined({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: await needSecret(auth, 'clientSecret'),
      scope: auth.scope ?? 'catalog',
      audience: auth.audience,
      resource: auth.resource,
    }),
  )
  return {
    method: 'POST',
    url: auth.tokenUrl ?? '',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  }
}

/** The error for a response without a token. A token server sends 400 for invalid credentials (RFC 6749, 5.2). */
function refusal(response: HttpResponse, now: number): LocalityError {
  const error = errorOfStatus(response, now)
  return error.code === 'rejected' ? new LocalityError('unauthorized', error.message) : error
}

function parseToken(response: HttpResponse): { token: string; lifeMs: number } {
  const { what } = response
  const body = tryJson(response) as { access_token?: unknown; expires_in?: unknown } | null | undefined
  const token = body?.access_token
  // A token that is not valid in a header would fail every request until it expires.
  if (typeof token !== 'string' || !TOKEN.test(token))
    throw new LocalityError('invalidResponse', `${what}: the answer has no access token`)
  // Some servers send it as a string. Number() may throw for other values.
  const given = body?.expires_in
  const seconds = typeof given === 'number' || typeof given === 'string' ? Number(given) : Number.NaN
  return { token, lifeMs: seconds > 0 ? seconds * 1000 : DEFAULT_LIFE_MS }
}
