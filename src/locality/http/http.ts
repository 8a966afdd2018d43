/** The HTTP client of every plugin: credentials, one renewal when they are refused, and JSON that is checked. It does not retry. */

import type { Clock } from '../../time/clock.ts'
import { openAuthenticator } from '../auth/auth.ts'
import type { SystemConfig } from '../config/config.ts'
import { LocalityError } from '../plugins/plugin.ts'
import type { Environment } from './dispatchers.ts'
import { checkEndpoint } from './endpoints.ts'
import { errorOfStatus } from './http-error.ts'
import { redirectOf, redirectOrigin } from './redirect.ts'
import { type HttpRequest, type HttpResponse, openHttpTransport } from './transport.ts'

export type { HttpRequest, HttpResponse } from './transport.ts'

export interface HttpClient {
  /** Resolves with the answer, whatever its status is. Follows one redirect to the same server. */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** The same, but throws on 408, 429 and 5xx. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** The error that an answer means. */
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

/** The JSON of an answer, whatever its content type says. Throws `invalidResponse` for anything else, without repeating it. */
export function readJson({ what, text }: HttpResponse): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and with it perhaps a credential.
    const kind = text.trim() === '' ? 'nothing' : text.trimStart().startsWith('<') ? 'HTML or XML' : 'something else'
    throw new LocalityError('invalidResponse', `${what}: the answer is ${kind}, not JSON`)
  }
}

/** The JSON of an answer that may have none, as errors of a proxy. */
export function tryJson(response: HttpResponse): unknown {
  try {
    return JSON.parse(response.text)
  } catch {
    // An error page: its status says all there is.
    return undefined
  }
}
