/** Sends HTTP requests with limits of time, size and number. Failures are `LocalityError`s. */
import { withTimeout } from '../../base/time/clock.ts'
import { Limiter, type LimiterOptions } from '../limiter.ts'
import { LocalityError } from '../locality.ts'
import { openBodyReader } from './body.ts'
import { type DispatchersOptions, loadHttpClient, openDispatchers } from './dispatchers.ts'
import { errorOfFailure } from './http-error.ts'

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST'
  url: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** The region of a signed request, if it differs from the configured one. */
  region?: string
}

export interface HttpResponse {
  /** The request in messages: method, host and path, without the query, which may have a credential. */
  what: string
  status: number
  headers: Readonly<Record<string, string>>
  text: string
}

export interface HttpTransportOptions extends DispatchersOptions, LimiterOptions {
  /** The timeout of each request, from its slot to the last byte. */
  timeoutMs: number
}

export interface HttpTransport {
  /**
   * Returns the response of any status. Calls `prepare` when the limits allow the request: credentials that are added there do not expire in the
   * queue. Throws a `LocalityError`, an error of `prepare`, or the reason of the signal after it aborts.
   */
  exchange(prepare: () => Promise<HttpRequest>, signal: AbortSignal): Promise<HttpResponse>
  /** Does the same for a request that others in the queue need, such as that for a token. The limits do not count it. */
  exchangeNow(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Closes the connections after the running requests. */
  close(): Promise<void>
}

/** Opens a transport. Throws when a TLS file cannot be read. */
export function openHttpTransport(options: HttpTransportOptions): HttpTransport {
  const { timeoutMs } = options
  const dispatchers = openDispatchers(options)
  const bodies = openBodyReader()
  const limiter = new Limiter(options)
  let closed: Promise<void> | undefined

  async function exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const { request: send } = await loadHttpClient()
    const { dispatcher, proxy } = await dispatchers.routeTo(new URL(request.url))
    const name = requestTitle(request)
    const what = proxy === undefined ? name : `${name} through proxy ${proxy}`
    const late = new LocalityError('timeout', `${what}: no response within ${timeoutMs} ms`)
    try {
      return await withTimeout({ timeoutMs, late }, signal, async (limited) => {
        const { statusCode, headers, body } = await send(request.url, {
          dispatcher,
          method: request.method,
          headers: { accept: 'application/json', 'accept-encoding': 'gzip', ...request.headers },
          body: request.body ?? null,
          signal: limited,
        })
        const flat = flatten(headers)
        const text = await bodies.read(body, flat['content-encoding'], what, limited)
        return { what, status: statusCode, headers: flat, text }
      })
    } catch (error) {
      signal.throwIfAborted()
      throw errorOfFailure(what, error)
    }
  }

  return {
    exchange: (prepare, signal) => limiter.run(signal, async () => exchange(await prepare(), signal)),
    exchangeNow: exchange,
    close: () => {
      closed ??= dispatchers.close()
      return closed
    },
  }
}

function requestTitle({ method, url }: HttpRequest): string {
  const { origin, pathname } = new URL(url)
  return `${method} ${origin}${pathname}`
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}
