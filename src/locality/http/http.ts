/** The HTTP client of the plugins. It adds credentials, and renews them once when they are rejected. It does not retry. */
import type { Clock } from '../../base/clock.ts'
import { openAuthenticator } from '../auth/auth.ts'
import type { SystemConfig } from '../config/config.ts'
import type { LocalityError } from '../locality.ts'
import type { Environment } from './dispatchers.ts'
import { checkEndpoint } from './endpoints.ts'
import { errorOfStatus } from './http-error.ts'
import { redirectOf, redirectOrigin } from './redirect.ts'
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
    const url = redirectOf(request, response)
    return url === undefined ? response : authorized({ ...request, url }, signal)
  }

  async function authorized(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const sent = await authenticator.authorize(request, signal)
    const response = await transport.exchange(sent, signal)
    if (response.status !== 401 && response.status !== 419) return response
    if (!(await authenticator.renew(sent))) return response
    return transport.exchange(await authenticator.authorize(request, signal), signal)
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
