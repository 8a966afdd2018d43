/**
 * The HTTP client of the plugins. It adds credentials, and renews them once when they are rejected. It does not retry. Credentials are sent
 * only to the servers of the configuration, and a redirect is followed only to the server that sent it.
 */
import type { Clock } from '../../base/time/clock.ts'
import { AWS_ENDPOINT } from '../../s3/address.ts'
import { openAuthenticator } from '../auth/auth.ts'
import type { SystemConfig } from '../config/config.ts'
import { LocalityError } from '../locality.ts'
import type { Environment } from './dispatchers.ts'
import { errorOfStatus } from './http-error.ts'
import { type HttpRequest, type HttpResponse, openHttpTransport } from './transport.ts'

export type { HttpRequest, HttpResponse } from './transport.ts'

export interface HttpClient {
  /** Returns the response of any status. Follows one redirect to the same server. */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Like `exchange`, but throws for 408, 429 and 5xx. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Converts an unsuccessful response to an error. */
  refusal(response: HttpResponse, detail?: string): LocalityError
  close(): Promise<void>
}

/** Opens the client of a system. Throws when a TLS file cannot be read. */
export function openHttpClient(config: SystemConfig, clock: Clock, env: Environment = process.env): HttpClient {
  const { endpoint, retry, maxConcurrent, maxRequestsPerSecond } = config
  const { tls } = endpoint
  const { timeoutMs } = retry
  const transport = openHttpTransport({ tls, timeoutMs, maxConcurrent, maxRequestsPerSecond, clock, env })
  const authenticator = openAuthenticator(endpoint.auth, transport, clock)

  async function exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    checkEndpoint(request.url, endpoint.urls)
    const response = await authorized(request, signal)
    const url = sameServerRedirect(request, response)
    return url === undefined ? response : authorized({ ...request, url }, signal)
  }

  async function authorized(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    let sent = request
    const prepare = async () => {
      sent = await authenticator.authorize(request, signal)
      return sent
    }
    const response = await transport.exchange(prepare, signal)
    if (response.status !== 401 && response.status !== 419) return response
    if (!(await authenticator.renew(sent))) return response
    return transport.exchange(prepare, signal)
  }

  async function send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const response = await exchange(request, signal)
    if (isPassing(response.status)) throw refusal(response)
    return response
  }

  function refusal(response: HttpResponse, detail?: string): LocalityError {
    const origin = redirectOrigin(response)
    return errorOfStatus(response, clock.epochMs(), detail ?? (origin && `redirects to ${origin}`))
  }

  return { exchange, send, refusal, close: () => transport.close() }
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** The target of a redirect to the same server; undefined for any other response. */
function sameServerRedirect({ method, url }: HttpRequest, response: HttpResponse): string | undefined {
  const target = redirectUrl(response, url)
  if (target === null || method === 'POST') return undefined
  const { origin, username, password, href } = target
  return origin === new URL(url).origin && username === '' && password === '' ? href : undefined
}

/** The target server of a redirect, for messages; undefined for a response that does not name another server. */
function redirectOrigin(response: HttpResponse): string | undefined {
  const origin = redirectUrl(response)?.origin
  return origin === undefined || origin === 'null' ? undefined : origin.slice(0, 200)
}

function redirectUrl({ status, headers }: HttpResponse, base?: string): URL | null {
  const { location } = headers
  return location !== undefined && REDIRECTS.has(status) ? URL.parse(location, base) : null
}

/** Throws when a URL is not on a configured server. The host name may begin with a bucket and, at AWS, contain the region. */
export function checkEndpoint(text: string, configured: readonly string[]): void {
  const url = URL.parse(text)
  if (url === null) throw new LocalityError('rejected', 'the endpoint and the name of the data make no valid URL')
  if (url.username === '' && configured.some((base) => isOnServer(url, new URL(base)))) return
  throw new LocalityError('rejected', `${url.origin}: not an endpoint of this system; name it in endpoint.url`)
}

function isOnServer({ protocol, port, hostname }: URL, base: URL): boolean {
  if (protocol !== base.protocol || port !== base.port) return false
  if (hostname === base.hostname || hostname.endsWith(`.${base.hostname}`)) return true
  return base.origin === AWS_ENDPOINT && /(?:^|\.)s3\.[a-z0-9-]+\.amazonaws\.com$/.test(hostname)
}
