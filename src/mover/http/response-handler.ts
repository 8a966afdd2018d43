/** Receives one response from undici: passes the body to a sink, one chunk at a time, or collects it as text. */
import type { Dispatcher } from 'undici'
import { MoverError } from '../mover-error.ts'
import { ConnectionError } from './connection-error.ts'
import type { HttpResponse, ResponseHead, Sink, SinkFor } from './messages.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The limit of a body that is collected as text. The longest page of a listing (1,000 keys) is shorter. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024
/** The most informational (1xx) responses. Servers send one or two before the final response. */
const MAX_INFORMATIONAL = 16

/** Handles one response. `response` settles when the response is complete or has failed, and after that the sink is not called. */
export class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse>
  readonly #settle = Promise.withResolvers<HttpResponse>()
  readonly #signal: AbortSignal
  readonly #sinkFor: SinkFor | undefined
  #controller: Dispatcher.DispatchController | undefined
  #informational = 0
  #head: ResponseHead | undefined
  #sink: Sink | undefined
  readonly #text: Buffer[] = []
  #textBytes = 0
  /** Resolves when the sink has processed all chunks so far. */
  #writing: Promise<void> | undefined
  #receiverError: { error: unknown } | undefined

  constructor(signal: AbortSignal, sinkFor: SinkFor | undefined) {
    this.#signal = signal
    this.#sinkFor = sinkFor
    this.response = this.#settle.promise.finally(() => signal.removeEventListener('abort', this.#abort))
    signal.addEventListener('abort', this.#abort)
  }

  /** Whether any part of a response has arrived. */
  get hasBegun(): boolean {
    return this.#head !== undefined || this.#informational > 0
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) this.#abort()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) controller.abort(new Error('too many informational responses'))
      return
    }
    const head = { status, headers: joinValues(headers) }
    this.#head = head
    this.#receive(() => {
      this.#sink = this.#sinkFor?.(head)
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // undici resumes its parser with an empty chunk.
    if (chunk.length === 0) return
    const sink = this.#sink
    if (sink === undefined) {
      this.#textBytes += chunk.length
      if (this.#textBytes > MAX_TEXT_BYTES) throw new MoverError('Rejected', 'the response is larger than 16 MiB')
      this.#text.push(chunk)
      return
    }
    // When the server closes the connection, undici passes data that it has already read even to a paused handler.
    const before = this.#writing
    const writing = before === undefined ? this.#receive(() => sink(chunk)) : before.then(() => sink(chunk))
    if (writing === undefined) return
    controller.pause()
    const written = writing.then(
      () => {
        if (this.#writing === written) this.#writing = undefined
        if (this.#writing === undefined) controller.resume()
      },
      (error: unknown) => this.#failReceiver(error),
    )
    this.#writing = written
  }

  onResponseEnd(): void {
    void this.#finish(() => {
      const head = this.#head as ResponseHead
      const response = { ...head, text: Buffer.concat(this.#text).toString('utf8') }
      // undici reuses a connection one iteration of the event loop after its response.
      setImmediate(() => this.#settle.resolve(response))
    })
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    void this.#finish(() => this.#settle.reject(new ConnectionError(error)))
  }

  /** Runs a function of the caller. Its errors are not errors of the connection. */
  #receive<Result>(call: () => Result): Result | undefined {
    try {
      return call()
    } catch (error) {
      this.#failReceiver(error)
      return undefined
    }
  }

  #failReceiver(error: unknown): void {
    this.#receiverError ??= { error }
    this.#controller?.abort(error as Error)
  }

  /**
   * Settles the response after the sink is done, because the caller may then close the file of the sink. An error of the sink precedes an
   * error of the connection: after a retry, the chunk that was not written would be a hole.
   */
  async #finish(settle: () => void): Promise<void> {
    await this.#writing
    if (this.#receiverError !== undefined) this.#settle.reject(this.#receiverError.error)
    else settle()
  }

  /** Aborts the request. A request without a connection is not started any more. */
  readonly #abort = (): void => {
    const { reason } = this.#signal
    if (this.#controller === undefined) this.#settle.reject(reason)
    else this.#controller.abort(reason)
  }
}

function joinValues(headers: Headers): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return joined
}
