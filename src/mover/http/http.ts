/**
 * HTTP with bounded memory: a connection reads into one buffer for ever, what takes the body writes from that buffer, and a slow disk slows
 * the server down. Clients that make streams of bodies cost three times the processor and twice the memory (docs/performance.md).
 */

import { MoverError } from '../mover-error.ts'
import { PassingError } from '../s3/backoff.ts'
import { Connection } from './connection.ts'
import type { Answer, Exchange, Receive } from './exchange.ts'
import type { SocketOptions } from './socket.ts'

export interface HttpOptions extends SocketOptions {
  /** Without a byte for so long, a request has failed. */
  stallMs?: number
}

export interface Http {
  /** One attempt. Throws `PassingError` when the connection fails, what a sink throws, or the signal's reason. */
  send(exchange: Exchange, signal: AbortSignal, receive?: Receive): Promise<Answer>
  /** Ends every connection, at once. */
  close(): void
}

const STALL_MS = 30_000

/** Opens a client. There are as many connections as requests under way at once. */
export function openHttp({ stallMs = STALL_MS, ...options }: HttpOptions): Http {
  const connections = new Map<Connection, string>()

  function idle(origin: string): Connection | undefined {
    for (const [connection, to] of connections) {
      if (connection.isUsable && to === origin) return connection
    }
    return undefined
  }

  /** A server that does not answer must not keep a mover that was cancelled. */
  async function open(origin: string, signal: AbortSignal): Promise<Connection> {
    const opening = Connection.open(origin, { ...options, stallMs })
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      const connection = await Promise.race([opening, aborted.promise])
      connections.set(connection, origin)
      return connection
    } catch (error) {
      opening.then(
        (connection) => connection.destroy(error),
        () => undefined,
      )
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async function sendOver(
    connection: Connection,
    exchange: Exchange,
    signal: AbortSignal,
    receive: Receive | undefined,
  ): Promise<Answer> {
    const abort = () => connection.destroy(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      signal.throwIfAborted()
      return await connection.send(exchange, receive)
    } finally {
      signal.removeEventListener('abort', abort)
      if (!connection.isUsable) connections.delete(connection)
    }
  }

  return {
    async send(exchange, signal, receive) {
      signal.throwIfAborted()
      try {
        const used = idle(exchange.origin)
        if (used !== undefined) {
          try {
            return await sendOver(used, exchange, signal, receive)
          } catch (error) {
            // The server closed it while it was idle, and we wrote before we knew: no fault of anybody's.
            if (used.hasAnswered || signal.aborted) throw error
          }
        }
        return await sendOver(await open(exchange.origin, signal), exchange, signal, receive)
      } catch (error) {
        signal.throwIfAborted()
        throw explain(exchange, error)
      }
    },
    close() {
      for (const connection of connections.keys()) connection.destroy(new Error('closed'))
      connections.clear()
    },
  }
}

/** A certificate is not better the next time. */
const TLS_FAILURE = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_SSL|ERR_TLS/
/** Errors of the disk come from sinks. */
const CONNECTION_FAILURE = /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_)|ENOTFOUND)/

/** Errors of the connection pass; those of whoever took the body are theirs. */
function explain({ method, origin, path }: Exchange, error: unknown): unknown {
  if (error instanceof MoverError || error instanceof PassingError) return error
  const { code = '', message, syscall } = error as NodeJS.ErrnoException
  const isOfConnection = code === '' || CONNECTION_FAILURE.test(code) || TLS_FAILURE.test(code) || syscall === 'connect'
  if (!isOfConnection) return error
  // Without the query, which says nothing that helps.
  const text = `${method} ${origin}${path.replace(/\?.*/, '')}: ${message || code}`
  if (!TLS_FAILURE.test(code)) return new PassingError(text, { cause: error })
  return new MoverError('Rejected', `${text}; --ca-file names the certificates to trust`, { cause: error })
}
