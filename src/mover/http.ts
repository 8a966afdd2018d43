/** HTTP with bounded memory: bodies go to a sink as they come, and a slow sink slows the server down. */
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { PassingError } from './backoff.ts'
import { MoverError } from './mover-error.ts'

export interface Exchange {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  origin: string
  /** With its query. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array | string
}

export interface Answer {
  status: number
  headers: Readonly<Record<string, string>>
  /** Empty when a sink took the body. */
  text: string
}

/** Takes a piece of a body. A promise holds back the next one. */
export type Sink = (chunk: Buffer) => Promise<void> | undefined

/** Looks at an answer before its body comes: gives what takes the body, or undefined for one that is read as text. */
export type Receive = (answer: Omit<Answer, 'text'>) => Sink | undefined

export interface HttpOptions {
  /** Sockets to one server. */
  connections: number
  /** PEM, instead of the system's. */
  ca?: string
  env: Readonly<Record<string, string | undefined>>
  /** Without a byte for so long, a request has failed. */
  stallMs?: number
}

export interface Http {
  /** One attempt. Throws `PassingError` when the connection fails, what a sink throws, or the signal's reason. */
  send(exchange: Exchange, signal: AbortSignal, receive?: Receive): Promise<Answer>
  /** Ends every socket, at once. */
  close(): Promise<void>
}

const CONNECT_MS = 10_000
const STALL_MS = 30_000
/** Listings of 1000 keys of the greatest length stay below it. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024

export function openHttp({ connections, ca, env, stallMs = STALL_MS }: HttpOptions): Http {
  const connect = { timeout: CONNECT_MS, ...(ca !== undefined && { ca }) }
  const common = { connections, connect, headersTimeout: stallMs, bodyTimeout: stallMs, allowH2: false }
  const httpProxy = env['HTTP_PROXY'] ?? env['http_proxy'] ?? ''
  const httpsProxy = env['HTTPS_PROXY'] ?? env['https_proxy'] ?? ''
  const noProxy = env['NO_PROXY'] ?? env['no_proxy'] ?? ''
  const agent =
    httpProxy || httpsProxy
      ? new EnvHttpProxyAgent({
          ...common,
          httpProxy,
          httpsProxy,
          noProxy,
          ...(ca !== undefined && { requestTls: { ca } }),
        })
      : new Agent(common)

  return {
    send: (exchange, signal, receive) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const handler = new AnswerHandler(exchange, signal, receive, resolve, reject)
        agent.dispatch({ ...exchange, body: exchange.body ?? null } as Dispatcher.DispatchOptions, handler)
      }),
    close: () => agent.destroy(),
  }
}

/** Below undici's streams, which would cost every piece of a body two more turns and a copy. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #signal: AbortSignal
  readonly #receive: Receive | undefined
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #answer: Omit<Answer, 'text'> | undefined
  #sink: Sink | undefined
  #taking: Promise<void> | undefined
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #settled = false
  readonly #onAbort = () => this.#fail(this.#signal.reason)

  constructor(
    exchange: Exchange,
    signal: AbortSignal,
    receive: Receive | undefined,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#exchange = exchange
    this.#signal = signal
    this.#receive = receive
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#onAbort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#settled) controller.abort(new Error('ended'))
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return
    this.#answer = { status, headers: flatten(headers) }
    try {
      this.#sink = this.#receive?.(this.#answer)
    } catch (error) {
      this.#fail(error)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return
    try {
      const taking = this.#sink === undefined ? this.#collect(chunk) : this.#sink(chunk)
      if (taking === undefined) return
      controller.pause()
      this.#taking = taking.then(
        () => controller.resume(),
        (error: unknown) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  onResponseEnd(): void {
    // The last piece may still be on its way to the disk.
    if (this.#taking === undefined) this.#end()
    else void this.#taking.then(() => this.#end())
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail(this.#explain(error))
  }

  #collect(chunk: Buffer): undefined {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_TEXT_BYTES)
      throw new MoverError('Rejected', `${this.#what()}: the answer is larger than 16 MiB`)
    this.#chunks.push(chunk)
  }

  #end(): void {
    if (this.#settled || this.#answer === undefined) return
    this.#settle()
    this.#resolve({ ...this.#answer, text: Buffer.concat(this.#chunks).toString('utf8') })
  }

  #fail(error: unknown): void {
    if (this.#settled) return
    this.#settle()
    this.#controller?.abort(error instanceof Error ? error : new Error(String(error)))
    // What is being written belongs to a file that the caller may close as soon as it knows of the failure.
    const reject = () => this.#reject(error)
    void (this.#taking ?? Promise.resolve()).then(reject, reject)
  }

  #settle(): void {
    this.#settled = true
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #explain(error: Error): Error {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const message = `${this.#what()}: ${error.message || code}`
    if (!TLS_FAILURE.test(code)) return new PassingError(message, { cause: error })
    return new MoverError('Rejected', `${message}; --ca-file names the certificates to trust`, { cause: error })
  }

  /** Without the query, which says nothing that helps. */
  #what(): string {
    const { method, origin, path } = this.#exchange
    return `${method} ${origin}${path.replace(/\?.*/, '')}`
  }
}

/** A certificate is not better the next time. */
const TLS_FAILURE = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_SSL|ERR_TLS/

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return flat
}
