/** HTTP client of the mover: connections that are used again, and errors that say whether to retry. */
import { untilAborted } from '../../base/time/clock.ts'
import { MoverError } from '../mover-error.ts'
import { Connection } from './connection.ts'
import { ConnectionError, explain } from './connection-error.ts'
import type { HttpRequest, HttpResponse, SinkFor } from './messages.ts'
import { type SocketOptions, socketOpener } from './socket.ts'

export interface HttpClientOptions extends SocketOptions {
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

/** Opens a client. It opens a connection for each concurrent request. */
export function openHttpClient({ stallMs = STALL_MS, ...options }: HttpClientOptions): HttpClient {
  const openSocket = socketOpener(options)
  const connections = new Map<Connection, string>()

  function idleTo(origin: string): Connection | undefined {
    for (const [connection, to] of connections) {
      if (connection.isClosed) connections.delete(connection)
      else if (connection.isIdle && to === origin) return connection
    }
    return undefined
  }

  /** Opens a connection. A server that does not answer does not delay the reason of the signal. */
  async function open(origin: string, signal: AbortSignal): Promise<Connection> {
    const opening = Connection.open(origin, openSocket, stallMs)
    try {
      const connection = await untilAborted(opening, signal)
      connections.set(connection, origin)
      return connection
    } catch (error) {
      opening.then(
        (connection) => connection.destroy(error),
        () => undefined,
      )
      throw error
    }
  }

  async function sendOn(
    connection: Connection,
    request: HttpRequest,
    signal: AbortSignal,
    sinkFor: SinkFor | undefined,
  ): Promise<HttpResponse> {
    const abort = () => connection.destroy(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      return await connection.send(request, sinkFor)
    } finally {
      signal.removeEventListener('abort', abort)
      if (connection.isClosed) connections.delete(connection)
    }
  }

  async function send(request: HttpRequest, signal: AbortSignal, sinkFor?: SinkFor): Promise<HttpResponse> {
    const used = idleTo(request.origin)
    if (used !== undefined) {
      try {
        return await sendOn(used, request, signal, sinkFor)
      } catch (error) {
        if (used.hasBegun || !(error instanceof ConnectionError) || !error.isClosed) throw error
        // There is no response yet. Usually the server closed an idle connection just before the request arrived.
        signal.throwIfAborted()
      }
    }
    return sendOn(await open(request.origin, signal), request, signal, sinkFor)
  }

  return {
    async send(request, signal, sinkFor) {
      signal.throwIfAborted()
      refuseLineBreaks(request)
      try {
        return await send(request, signal, sinkFor)
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof ConnectionError ? explain(error, request, stallMs) : error
      }
    },
    close() {
      for (const connection of connections.keys()) connection.destroy(new Error('closed'))
      connections.clear()
    },
  }
}

/** Throws `Rejected` for a control character in a path or header: a line break would begin another request. Some come from servers. */
function refuseLineBreaks({ path, headers }: HttpRequest): void {
  const part = Object.entries({ path, ...headers }).find((entry) => /[^\t\x20-\x7e\x80-\xff]/.test(entry.join('')))
  if (part) throw new MoverError('Rejected', `the request has an invalid character in ${part[0]}`)
}
