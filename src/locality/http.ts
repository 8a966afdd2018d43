/** The HTTP client of every plugin: credentials, one renewal when they are refused, retries, and JSON that is believed only when it is. */
import { withSignals } from './abort.ts'
import { openAuthenticator } from './auth.ts'
import type { Clock } from './clock.ts'
import type { SystemConfig } from './config.ts'
import { errorOfStatus } from './http-error.ts'
import { LocalityError } from './plugin.ts'
import { withRetries } from './retry.ts'
import { type HttpRequest, type HttpResponse, openTransport } from './transport.ts'

export type { HttpRequest, HttpResponse } from './transport.ts'

export interface HttpClient {
  /** One attempt, whatever the answer is. */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** As many attempts as the configuration allows, for requests that may be repeated; 408, 429 and 5xx are thrown in the end. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Attempts by hand, for a plugin with more than one server. */
  retrying<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T>
  /** The error that an answer means. */
  refusal(response: HttpResponse, detail?: string): LocalityError
  close(): Promise<void>
}

/** Opens the client of a system. Throws when a TLS file cannot be read. */
export function openHttpClient(config: SystemConfig, clock: Clock): HttpClient {
  const { endpoint, retry, maxConcurrent, maxRequestsPerSecond } = config
  const { tls } = endpoint
  const transport = openTransport({ tls, timeoutMs: retry.timeoutMs, maxConcurrent, maxRequestsPerSecond, clock })
  const authenticator = openAuthenticator(endpoint.auth, transport, clock)
  const closing = new AbortController()

  async function exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const sent = await authenticator.authorize(request, signal)
    const response = await transport.exchange(sent, signal)
    if (response.status !== 401 && response.status !== 419) return response
    if (!(await authenticator.renew(sent))) return response
    return transport.exchange(await authenticator.authorize(request, signal), signal)
  }

  async function attempt(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const response = await exchange(request, signal)
    if (isPassing(response.status)) throw refusal(response)
    return response
  }

  function refusal(response: HttpResponse, detail?: string): LocalityError {
    return errorOfStatus(response, clock.now(), detail)
  }

  async function retrying<T>(signal: AbortSignal, once: () => Promise<T>): Promise<T> {
    try {
      return await withSignals([signal, closing.signal], (either) => withRetries(retry, clock, either, once))
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  return {
    exchange,
    send: (request, signal) =>
      request.method === 'POST' ? attempt(request, signal) : retrying(signal, () => attempt(request, signal)),
    retrying,
    refusal,
    close: async () => {
      // What is being asked may end; what waits for its next attempt is told to ask the successor.
      closing.abort(new LocalityError('unreachable', 'the configuration of the system has changed meanwhile'))
      await transport.close()
    },
  }
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}

/** The JSON of an answer, whatever its content type says. Throws `nonsense` for anything else, without repeating it. */
export function readJson({ what, text }: HttpResponse): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and with it perhaps a credential.
    const kind = text.trim() === '' ? 'nothing' : text.trimStart().startsWith('<') ? 'HTML or XML' : 'something else'
    throw new LocalityError('nonsense', `${what}: the answer is ${kind}, not JSON`)
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
