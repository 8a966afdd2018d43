/** One connection to a server, with one request at a time on it. */

import { MoverError } from '../mover-error.ts'
import type { Answer, Exchange, Receive, Sink } from './exchange.ts'
import { type Head, ProtocolError, ResponseReader, type Step } from './response.ts'
import { type OpenedSocket, openSocket, type SocketOptions } from './socket.ts'

/** Listings of 1000 keys of the greatest length stay below it. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024

interface Running {
  reader: ResponseReader
  receive: Receive | undefined
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
  head?: Head
  sink?: Sink | undefined
  text: Buffer[]
  textBytes: number
  /** What a sink is doing with a piece of the buffer. */
  taking?: Promise<void> | undefined
  /** Why the sink could not take what it was given. */
  failure?: unknown
}

export class Connection {
  #opened: OpenedSocket | undefined
  #running: Running | undefined
  /** Why it cannot be used any more. */
  #dead: unknown
  /** Whether anything of the present answer has come. */
  #hasAnswered = false

  /** Opens a connection. Rejects with the system's error. */
  static async open(origin: string, options: SocketOptions & { stallMs: number }): Promise<Connection> {
    const connection = new Connection()
    const opened = await openSocket(origin, options, (bytes, buffer) => connection.#read(buffer, 0, bytes))
    const { socket } = opened
    connection.#opened = opened
    socket.setTimeout(options.stallMs)
    socket.on('timeout', () => connection.#expire(options.stallMs))
    socket.on('error', (error) => connection.#die(error))
    socket.on('end', () => connection.#close())
    socket.on('close', () => connection.#close())
    return connection
  }

  get isUsable(): boolean {
    return this.#dead === undefined && this.#running === undefined
  }

  /** Of the present request, or the last one. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** Sends a request. Rejects with what went wrong, once nobody uses the buffer any more. */
  send(exchange: Exchange, receive: Receive | undefined): Promise<Answer> {
    this.#hasAnswered = false
    return new Promise((resolve, reject) => {
      const reader = new ResponseReader(exchange.method)
      this.#running = { reader, receive, resolve, reject, text: [], textBytes: 0 }
      if (this.#dead !== undefined) return this.#fail(this.#dead)
      try {
        this.#write(exchange)
      } catch (error) {
        this.#die(error)
      }
    })
  }

  /** Ends the connection and what runs on it. */
  destroy(reason: unknown): void {
    this.#die(reason)
  }

  #write({ method, origin, path, headers, body }: Exchange): void {
    const { socket, wholeUrl, headers: proxyHeaders } = this.#opened as OpenedSocket
    const all: Record<string, string | number> = { host: new URL(origin).host, ...headers, ...proxyHeaders }
    if (body !== undefined || method === 'PUT' || method === 'POST')
      all['content-length'] = Buffer.byteLength(body ?? '')
    let head = `${method} ${wholeUrl ? origin : ''}${path} HTTP/1.1\r\n`
    for (const name in all) {
      // Some of it comes from servers: a line break would begin a request of theirs.
      if (/[\r\n\0]/.test(`${all[name]}`))
        throw new MoverError('Rejected', `the header ${name} cannot have a line break`)
      head += `${name}: ${all[name]}\r\n`
    }
    socket.write(`${head}\r\n`, 'latin1')
    if (body !== undefined && body.length > 0) socket.write(body)
  }

  /** False: the buffer is in use, nothing may be read into it. */
  #read(buffer: Buffer, from: number, end: number): boolean {
    const running = this.#running
    if (running === undefined) {
      this.#die(new ProtocolError('the server answers what nobody asked'))
      return false
    }
    this.#hasAnswered = true
    try {
      for (let at = from; ; ) {
        const step = running.reader.next(buffer, at, end)
        if (step.kind === 'more') return true
        at = step.at
        const taking = this.#take(running, step)
        if (step.kind === 'end') return this.#end(running, at < end)
        if (taking === undefined) continue
        running.taking = taking.then(
          () => {
            running.taking = undefined
            if (this.#running === running && this.#read(buffer, at, end)) this.#opened?.resume()
          },
          (error: unknown) => {
            running.taking = undefined
            running.failure = error
            this.#die(error)
          },
        )
        return false
      }
    } catch (error) {
      this.#die(error)
      return false
    }
  }

  #take(running: Running, step: Step): Promise<void> | undefined {
    if (step.kind === 'head') {
      running.head = step.head
      running.sink = running.receive?.(step.head)
    } else if (step.kind === 'body') {
      if (running.sink !== undefined) return running.sink(step.piece)
      running.textBytes += step.piece.length
      if (running.textBytes > MAX_TEXT_BYTES) throw new MoverError('Rejected', 'the answer is larger than 16 MiB')
      running.text.push(Buffer.from(step.piece))
    }
    return undefined
  }

  #end(running: Running, hasMore: boolean): boolean {
    this.#running = undefined
    if (hasMore) this.#die(new ProtocolError('the server sends more than one answer'))
    else if (!running.reader.mayStayOpen) this.#die(new Error('closed by the server'))
    const { head, text, resolve } = running
    resolve({ ...(head as Head), text: Buffer.concat(text).toString('utf8') })
    return this.#dead === undefined
  }

  #close(): void {
    const { reader, head } = this.#running ?? {}
    if (this.#running !== undefined && this.#running.taking === undefined && head && reader?.mayCloseHere) {
      this.#end(this.#running, false)
    } else {
      this.#die(Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' }))
    }
  }

  /** Nothing came for long; a disk that is slow is not the server's fault. */
  #expire(stallMs: number): void {
    if (this.#running !== undefined && this.#running.taking === undefined) {
      this.#die(new Error(`nothing came for ${stallMs / 1000} s`))
    } else if (this.#running === undefined) {
      this.#die(new Error('idle'))
    }
  }

  #die(reason: unknown): void {
    if (this.#dead === undefined) {
      this.#dead = reason
      this.#opened?.socket.destroy()
    }
    this.#fail(this.#dead)
  }

  #fail(reason: unknown): void {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    // What is being written belongs to a file that the caller may close as soon as it knows.
    // A piece that was not written counts more than a connection that is gone: the next attempt would leave a hole.
    const reject = () => running.reject(running.failure ?? reason)
    if (running.taking === undefined) reject()
    else void running.taking.then(reject)
  }
}
