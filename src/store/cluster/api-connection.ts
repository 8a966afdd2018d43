/** Sends requests to one API server, as JSON over HTTP. Credentials may change at any time. */
import { defined } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { untilAborted, withTimeout } from '../../base/time/clock.ts'
import { ApiError, RequestError, readApiError } from './api-error.ts'
import { type CredentialsLifetime, credentialsLifetime } from './credentials-lifetime.ts'
import { ApiTransport, type ApiTransportOptions, readText } from './transport.ts'

interface RequestInput {
  query?: Record<string, string | number | boolean | undefined>
  /** Sent as JSON. */
  body?: unknown
  /** Default `application/json`. Patches have other types. */
  contentType?: string
  /** Default `application/json`. */
  accept?: string
  signal?: AbortSignal
  /** Default 30 s. */
  timeoutMs?: number
}

interface StreamInput {
  query?: NonNullable<RequestInput['query']>
  accept?: string
  /** Ends the stream. Without it, only the server does. */
  signal: AbortSignal
}

export interface ApiConnection {
  /** The server's URL, for messages. */
  readonly server: string
  /**
   * Returns the parsed response. Throws `ApiError` for a status of 300 or above, and `RequestError` with its cause without a complete
   * response.
   */
  request(method: string, path: string, input?: RequestInput): Promise<unknown>
  /** Returns the bytes of a GET while they arrive. Throws as `request` does until the response begins. */
  stream(path: string, input: StreamInput): Promise<AsyncIterable<Uint8Array>>
  /** Returns the present lifetime of the credentials (see `credentialsLifetime`). Throws when they cannot be read. */
  credentialsLifetime(): Promise<CredentialsLifetime | undefined>
  /** Returns why the files with the credentials are not used as they are now; undefined if they are. */
  sourceProblem(): string | undefined
  /** Closes every socket. */
  close(): Promise<void>
}

export interface Credentials {
  headers: Record<string, string>
  /** Headers that make the requests those of another user. */
  impersonation?: Record<string, string[]>
  transport: ApiTransportOptions
  /** Whether a plugin renews them. */
  isRenewed?: boolean
}

/** The source of credentials. It is read before every request, so it caches them itself. */
interface CredentialSource {
  server: string
  read(): Promise<Credentials>
  /** Drops `rejected` from the cache of the source, because the server answered 401 to it. */
  forget(rejected: Credentials): void
  /** See `ApiConnection`; absent for a source without files. */
  problem?(): string | undefined
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Larger than any object in etcd. Lists are streams, which have no limit. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
const MAX_ERROR_BYTES = 1024 * 1024

/** Receives each request after its response began: its HTTP status, or `<error>` without a response, as in client-go's metric. */
export type RequestObserver = (request: { method: string; host: string; code: string }) => void

/** Creates a connection without sending a request. Throws when the address of the server is not a URL. */
export function createConnection(source: CredentialSource, observe: RequestObserver = () => undefined): ApiConnection {
  const transport = new ApiTransport()
  const { origin, host, pathname } = new URL(source.server)
  const prefix = pathname.replace(/\/$/, '')

  /** `credentials` are an argument: a credential plugin may wait for the user to log in, and the timeout begins after that. */
  async function send(
    method: string,
    path: string,
    input: RequestInput,
    signal: AbortSignal,
    credentials: Credentials,
  ) {
    const body = input.body === undefined ? null : JSON.stringify(input.body)
    const sent = transport.agentFor(credentials.transport).request({
      origin,
      path: prefix + path + queryString(input.query),
      method,
      signal,
      body,
      headers: {
        ...credentials.headers,
        ...credentials.impersonation,
        accept: input.accept ?? 'application/json',
        // Compression costs an API server more than the bytes on the network.
        'accept-encoding': 'identity',
        'user-agent': 'lodestone',
        ...defined({ 'content-type': body === null ? undefined : (input.contentType ?? 'application/json') }),
      },
    })
    const response = await sent.catch((error: unknown) => {
      observe({ method, host, code: '<error>' })
      throw explainProxy(error, credentials.transport.proxyUrl)
    })
    observe({ method, host, code: String(response.statusCode) })
    if (response.statusCode < 300) return response.body
    if (response.statusCode === 401) source.forget(credentials)
    const retryAfter = response.headers['retry-after']
    const text = await readText(response.body, MAX_ERROR_BYTES)
    const header = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter
    throw readApiError(`${method} ${path}`, response.statusCode, text, header)
  }

  return {
    server: source.server,
    async credentialsLifetime() {
      const { headers, transport, isRenewed } = await source.read()
      return credentialsLifetime({
        authorization: headers['authorization'],
        certificate: transport.tls.cert,
        isRenewed,
      })
    },
    sourceProblem: () => source.problem?.(),
    async request(method, path, input = {}) {
      const { timeoutMs = DEFAULT_TIMEOUT_MS, signal = new AbortController().signal } = input
      const late = Object.assign(new Error(`no response within ${timeoutMs} ms`), { code: 'ETIMEDOUT' })
      try {
        // A credential plugin may wait for a login. The user may press Ctrl-C instead.
        const credentials = await untilAborted(source.read(), signal)
        // While undici connects, for instance through a proxy, it does not look at the signal.
        const text = await withTimeout({ timeoutMs, late }, signal, async (limited) =>
          readText(await send(method, path, input, limited, credentials), MAX_RESPONSE_BYTES),
        )
        return text === '' ? undefined : (JSON.parse(text) as unknown)
      } catch (error) {
        throw explain(error, `${method} ${path}`)
      }
    },
    async stream(path, input) {
      try {
        const credentials = await untilAborted(source.read(), input.signal)
        // As for a request.
        return await untilAborted(send('GET', path, input, input.signal, credentials), input.signal)
      } catch (error) {
        throw explain(error, `GET ${path}`)
      }
    },
    close: () => transport.close(),
  }
}

/** Names the proxy in an error of the connection to it: the address of the API server is not the reason. Its URL may have a password. */
function explainProxy(error: unknown, proxyUrl: string | undefined): unknown {
  const { syscall, code, message } = error as NodeJS.ErrnoException
  const isOfProxy = syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT'
  if (proxyUrl === undefined || !isOfProxy) return error
  return new Error(`proxy-url ${new URL(proxyUrl).host} is not reachable: ${message || code}`, { cause: error })
}

/** Adds the request to an error. An error for a refused connection to several addresses has a code, but no message. */
function explain(error: unknown, what: string): Error {
  if (error instanceof ApiError) return error
  const { message, code } = error as { message?: string; code?: string }
  return new RequestError(printable(`${what}: ${message || code || String(error)}`), { cause: error })
}

function queryString(query: RequestInput['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? '' : `?${parameters}`
}
