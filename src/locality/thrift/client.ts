/** The Thrift client of plugins: connects to one of the configured servers for each query, within the limits of the system. */
import { type Clock, withTimeout } from '../../base/time/clock.ts'
import { needSecret, readSecret } from '../auth/credentials.ts'
import type { SystemConfig } from '../config/config.ts'
import { openFailover } from '../failover.ts'
import { readTls } from '../http/dispatchers.ts'
import { errorOfFailure } from '../http/http-error.ts'
import { Limiter } from '../limiter.ts'
import { LocalityError } from '../locality.ts'
import type { ByteQueue } from './byte-queue.ts'
import { ThriftConnection, type ThriftTarget } from './connection.ts'
import { type Decoding, readText } from './decode.ts'
import { int32 } from './encode.ts'
import { ThriftProtocolError } from './protocol.ts'

export interface ThriftClient {
  /**
   * Runs `query` with a new connection. If it throws a `LocalityError`, the next server is tried. Throws a `LocalityError` whose message
   * begins with `what` and the server, or the reason of the signal.
   */
  query<T>(what: string, signal: AbortSignal, query: (connection: ThriftConnection) => Promise<T>): Promise<T>
  /** Resolves when the running queries have ended. */
  close(): Promise<void>
}

/** Opens the client of a system. Throws when a TLS file cannot be read. */
export function openThriftClient(config: SystemConfig, clock: Clock): ThriftClient {
  const { endpoint, retry, maxConcurrent, maxRequestsPerSecond, extra } = config
  const tls = endpoint.usesTls ? { tls: readTls(endpoint.tls) } : {}
  const limiter = new Limiter({ maxConcurrent, maxRequestsPerSecond, clock })
  const failover = openFailover(endpoint.urls)
  const running = new Set<Promise<unknown>>()

  /** Authenticates with SASL, or uses frames if the configuration says so. */
  async function begin(connection: ThriftConnection): Promise<void> {
    if (endpoint.auth.type === 'basic') {
      const username = await needSecret(endpoint.auth, 'username')
      await authenticatePlain(connection, { username, password: (await readSecret(endpoint.auth, 'password')) ?? '' })
    } else if (extra['framed'] === true) connection.useFrames()
  }

  async function attempt<T>(
    url: string,
    what: string,
    signal: AbortSignal,
    query: (connection: ThriftConnection) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = retry
    const late = new LocalityError('timeout', `no response within ${timeoutMs} ms`)
    try {
      return await withTimeout({ timeoutMs, late }, signal, (limited) =>
        withConnection({ ...hostAndPort(url), ...tls }, limited, async (connection) => {
          await begin(connection)
          return query(connection)
        }),
      )
    } catch (error) {
      signal.throwIfAborted()
      throw thriftError(`${what} at ${url}`, error)
    }
  }

  return {
    query(what, signal, query) {
      const answer = limiter.run(signal, () => failover((url) => attempt(url, what, signal, query), signal))
      const ended: Promise<unknown> = answer.catch(() => undefined).finally(() => running.delete(ended))
      running.add(ended)
      return answer
    },
    close: async () => {
      await Promise.all(running)
    },
  }
}

/** Connects, runs `work`, and closes the connection. An abort closes it early. */
async function withConnection<T>(
  target: ThriftTarget,
  signal: AbortSignal,
  work: (connection: ThriftConnection) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const connection = new ThriftConnection(target)
  const abort = () => connection.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await work(connection)
  } finally {
    signal.removeEventListener('abort', abort)
    connection.destroy()
  }
}

function hostAndPort(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}

function thriftError(name: string, error: unknown): LocalityError {
  if (error instanceof ThriftProtocolError) return new LocalityError('invalidResponse', `${name}: ${error.message}`)
  if (error instanceof LocalityError) return new LocalityError(error.code, `${name}: ${error.message}`)
  return errorOfFailure(name, error)
}

/** The states in the messages of Thrift's SASL transport. */
const STATUS = { start: 1, ok: 2, bad: 3, error: 4, complete: 5 } as const

interface PlainLogin {
  username: string
  password: string
}

/**
 * Logs in with SASL PLAIN (RFC 4616), as Hive does for LDAP, CUSTOM and CONFIG. Afterwards each message is in a frame. Throws
 * `LocalityError` when the server rejects the user or the mechanism.
 */
async function authenticatePlain(connection: ThriftConnection, { username, password }: PlainLogin): Promise<void> {
  connection.write(message(STATUS.start, 'PLAIN'))
  connection.write(message(STATUS.ok, `\0${username}\0${password}`))
  const status = await connection.read(readStatus)
  if (status === STATUS.bad || status === STATUS.error) {
    throw new LocalityError('unauthorized', 'the server rejects the user, or SASL PLAIN; Kerberos is not supported')
  }
  if (status !== STATUS.complete) throw new ThriftProtocolError('the answer is not one of SASL PLAIN')
  connection.useFrames()
}

function message(status: number, payload: string): Buffer {
  const bytes = Buffer.from(payload, 'utf8')
  return Buffer.concat([Buffer.from([status]), int32(bytes.length), bytes])
}

/** Reads a message. Its text is not used: it may quote the password. */
function* readStatus(input: ByteQueue): Decoding<number> {
  while (input.size < 1) yield
  const status = input.byte()
  if (!Object.values<number>(STATUS).includes(status)) throw new ThriftProtocolError('the answer is not one of SASL')
  yield* readText(input, 0)
  return status
}
