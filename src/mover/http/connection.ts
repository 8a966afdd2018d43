/** A connection to a server: one request at a time, and a sink that receives the body directly from the read buffer. */
import { Readable } from 'node:stream'
import { MoverError } from '../mover-error.ts'
import { ConnectionError, STALLED } from './connection-error.ts'
import {
  bodyLength,
  type HttpBody,
  type HttpRequest,
  type HttpResponse,
  isStreamed,
  type ResponseHead,
  type Sink,
  type SinkFor,
} from './messages.ts'
import { ProtocolError, ResponseReader } from './response-reader.ts'
import type { OnData, OpenedSocket } from './socket.ts'

/** The limit of a body that is collected as text. The longest page of a listing (1,000 keys) is shorter. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024
/** The kept part of an error response, which begins with its code. Concurrent requests may all fail. */
const MAX_ERROR_BYTES = 64 * 1024
const SEND_BYTES = 64 * 1024
/** A server closes idle connections too, mostly after five seconds. */
const IDLE_MS = 4_000

interface Exchange {
  reader: ResponseReader
  sinkFor: SinkFor | undefined
  result: PromiseWithResolvers<HttpResponse>
  head?: ResponseHead
  sink?: Sink | undefined
  text: Buffer[]
  textBytes: number
}

export class Connection {
  readonly #opened: OpenedSocket
  readonly #stallMs: number
  #exchange: Exchange | undefined
  /** Why the connection cannot be used any more. */
  #failure: { error: unknown } | undefined
  #isSending = false
  #hasEnded = false
  #reads = 0
  /** Whether any part of the response to the last request has arrived. */
  hasBegun = false

  private constructor(opened: OpenedSocket, stallMs: number) {
    this.#opened = opened
    this.#stallMs = stallMs
  }

  /** Opens a connection. Throws a `ConnectionError`, or a `MoverError` for an address that is not allowed. */
  static async open(
    origin: string,
    openSocket: (origin: string, onData: OnData) => Promise<OpenedSocket>,
    stallMs: number,
  ): Promise<Connection> {
    let receive: OnData = () => undefined
    const opened = await openSocket(origin, (data) => receive(data)).catch((error: unknown) => {
      throw error instanceof MoverError ? error : new ConnectionError(error as Error)
    })
    const connection = new Connection(opened, stallMs)
    receive = (data) => connection.#receive(data)
    connection.#listen()
    return connection
  }

  #listen(): void {
    const { socket } = this.#opened
    const closed = () => Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' })
    socket.on('timeout', () => this.#expire())
    socket.on('error', (error) => this.#fail(new ConnectionError(error)))
    socket.on('end', () => {
      this.#hasEnded = true
    })
    socket.on('close', () => this.#fail(new ConnectionError(closed())))
  }

  get isClosed(): boolean {
    return this.#failure !== undefined
  }

  get isIdle(): boolean {
    return this.#exchange === undefined
  }

  /** Makes one attempt. Throws a `ConnectionError`, a `MoverError` or the error of the sink. */
  send(request: HttpRequest, sinkFor: SinkFor | undefined): Promise<HttpResponse> {
    const { socket } = this.#opened
    const head = this.#headOf(request)
    this.hasBegun = false
    const reader = new ResponseReader(request.method)
    const result = Promise.withResolvers<HttpResponse>()
    this.#exchange = { reader, sinkFor, result, text: [], textBytes: 0 }
    if (this.#failure !== undefined) {
      this.#settle()
    } else {
      socket.setTimeout(this.#stallMs)
      socket.write(head, 'latin1')
      if (request.body !== undefined) this.#sendBody(request.body)
    }
    return result.promise
  }

  /** Closes the connection. A request in progress fails with the reason. */
  destroy(reason: unknown): void {
    this.#fail(reason)
  }

  #headOf({ method, origin, path, headers, body }: HttpRequest): string {
    const { needsWholeUrl, headers: proxyHeaders } = this.#opened
    const all: Record<string, string | number> = { host: new URL(origin).host, ...headers, ...proxyHeaders }
    if (body !== undefined || method === 'PUT' || method === 'POST') {
      all['content-length'] = bodyLength(body ?? '')
    }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
    return [`${method} ${needsWholeUrl ? origin : ''}${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')
  }

  /** Sends in chunks. The timeout begins again with each chunk, so a slow upload is not stalled. */
  #sendBody(body: HttpBody): void {
    this.#isSending = true
    const sent = () => {
      this.#isSending = false
    }
    const chunks = isStreamed(body) ? body.chunks() : chunksOf(body)
    Readable.from(chunks)
      .on('end', sent)
      // The body cannot be read to its end.
      .on('error', (error) => this.#fail(error))
      .pipe(this.#opened.socket, { end: false })
  }

  #receive(data: Buffer): void {
    const exchange = this.#exchange
    if (exchange === undefined) {
      this.#fail(new ConnectionError(new ProtocolError('a response without a request')))
      return
    }
    this.hasBegun = true
    this.#reads += 1
    try {
      for (let at = 0; ; ) {
        const step = exchange.reader.next(data, at)
        if (step.kind === 'more') return
        at = step.at
        if (step.kind === 'end') {
          this.#finish(exchange, at < data.length)
          return
        }
        if (step.kind === 'body') this.#take(exchange, step.chunk)
        else {
          exchange.head = step.head
          exchange.sink = exchange.sinkFor?.(step.head)
        }
      }
    } catch (error) {
      this.#fail(error instanceof ProtocolError ? new ConnectionError(error) : error)
    }
  }

  #take(exchange: Exchange, chunk: Buffer): void {
    if (exchange.sink !== undefined) {
      exchange.sink(chunk)
      return
    }
    const isError = (exchange.head?.status ?? 0) >= 300
    const left = (isError ? MAX_ERROR_BYTES : MAX_TEXT_BYTES) - exchange.textBytes
    exchange.textBytes += chunk.length
    if (exchange.textBytes > MAX_TEXT_BYTES) throw new MoverError('Rejected', 'the response is larger than 16 MiB')
    if (left > 0) exchange.text.push(Buffer.from(chunk.subarray(0, left)))
  }

  #finish(exchange: Exchange, hasMore: boolean): void {
    this.#exchange = undefined
    if (hasMore || this.#isSending || !exchange.reader.mayStayOpen) this.#fail(new Error('not reusable'))
    else this.#opened.socket.setTimeout(IDLE_MS)
    exchange.result.resolve({
      ...(exchange.head as ResponseHead),
      text: Buffer.concat(exchange.text).toString('utf8'),
    })
  }

  /** A sink that blocked the process may have delayed the read of data that has arrived already. That data is read first. */
  #expire(): void {
    const reads = this.#reads
    const stalled = () => Object.assign(new Error('no data'), { code: STALLED })
    setImmediate(() => {
      if (this.#reads === reads) this.#fail(new ConnectionError(stalled()))
    })
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#opened.socket.destroy()
    this.#settle()
  }

  /** Ends the request after the connection has failed, or after the server has closed it. */
  #settle(): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    if (this.#hasEnded && exchange.reader.mayEndHere) {
      this.#finish(exchange, false)
    } else {
      this.#exchange = undefined
      exchange.result.reject(this.#failure?.error)
    }
  }
}

function* chunksOf(body: Uint8Array | string): Generator<Uint8Array> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  for (let at = 0; at < bytes.length; at += SEND_BYTES) yield bytes.subarray(at, at + SEND_BYTES)
}
