/** HTTP client of the mover: undici with a sink for each body, checked addresses, and errors that say whether to retry. */
import { Readable } from 'node:stream'
import { ConnectionError, explain } from './connection-error.ts'
import type { HttpRequest, HttpResponse, SinkFor } from './messages.ts'
import { ResponseHandler } from './response-handler.ts'
import { openRoutes, type RouteOptions } from './routes.ts'

export interface HttpClientOptions extends RouteOptions {
  /** Milliseconds without data from the server after which a request fails. The time that a sink needs does not count. */
  stallMs?: number
}

export interface HttpClient {
  /** Makes one attempt. Throws a `RetryableError` when the connection fails, the error of the sink, or the reason of the signal. */
  send(request: HttpRequest, signal: AbortSignal, sinkFor?: SinkFor): Promise<HttpResponse>
  /** Closes every connection immediately. */
  close(): void
}

const STALL_MS = 30_000
const SEND_BYTES = 64 * 1024

/** Opens a client. It opens a connection for each concurrent request. */
export function openHttpClient({ stallMs = STALL_MS, ...options }: HttpClientOptions): HttpClient {
  const routes = openRoutes(options)

  function dispatch(request: HttpRequest, handler: ResponseHandler): Promise<HttpResponse> {
    const { method, origin, path, headers, body } = request
    const timeouts = { headersTimeout: stallMs, bodyTimeout: stallMs }
    const dispatcher = routes.to(origin)
    if (body === undefined) dispatcher.dispatch({ method, origin, path, headers, ...timeouts }, handler)
    else dispatcher.dispatch({ method, origin, path, ...withBody(headers, body), ...timeouts }, handler)
    return handler.response
  }

  async function send(request: HttpRequest, signal: AbortSignal, sinkFor?: SinkFor): Promise<HttpResponse> {
    const handler = new ResponseHandler(signal, sinkFor)
    try {
      return await dispatch(request, handler)
    } catch (error) {
      if (handler.hasBegun || !(error instanceof ConnectionError) || !error.isClosed) throw error
    }
    // There is no response yet. Usually the server closed an idle connection just before the request arrived.
    signal.throwIfAborted()
    return dispatch(request, new ResponseHandler(signal, sinkFor))
  }

  return {
    async send(request, signal, sinkFor) {
      signal.throwIfAborted()
      try {
        return await send(request, signal, sinkFor)
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof ConnectionError ? explain(error, request, stallMs) : error
      }
    },
    close: () => routes.close(),
  }
}

/** Sends the body in chunks. The timeout for the response begins again with each chunk. */
function withBody(headers: HttpRequest['headers'], body: Uint8Array | string) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const chunks = function* () {
    for (let at = 0; at < bytes.length; at += SEND_BYTES) yield bytes.subarray(at, at + SEND_BYTES)
  }
  return { headers: { ...headers, 'content-length': `${bytes.length}` }, body: Readable.from(chunks()) }
}
