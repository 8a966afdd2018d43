/** One TLS connection: writes requests back to back and reads the answers in order, as raw as a client can be. */
import { connect, type TLSSocket } from 'node:tls'

export interface HttpResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/** No answer: the server closed the connection, or kept silent. */
export interface NoResponse {
  status: 0
  reason: string
}

export class Connection {
  readonly #socket: TLSSocket
  #received: Buffer = Buffer.alloc(0)
  #waiting: ((response: HttpResponse | NoResponse) => void)[] = []
  #closed: string | undefined

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#end(error.message))
    socket.on('close', () => this.#end('the server closed the connection'))
  }

  static open(port: number, ca: string): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' }, () => {
        socket.off('error', reject)
        resolve(new Connection(socket))
      })
      socket.once('error', reject)
    })
  }

  get isOpen(): boolean {
    return this.#closed === undefined
  }

  /** Writes all requests at once; `end` closes our side after them, so that one that is cut short ends. */
  send(
    requests: readonly Buffer[],
    { timeoutMs, end = false }: { timeoutMs: number; end?: boolean },
  ): Promise<(HttpResponse | NoResponse)[]> {
    const timer = setTimeout(() => this.#end(`no answer within ${timeoutMs} ms`), timeoutMs)
    const answers = requests.map(
      () =>
        new Promise<HttpResponse | NoResponse>((resolve) => {
          if (this.#closed === undefined) this.#waiting.push(resolve)
          else resolve({ status: 0, reason: this.#closed })
        }),
    )
    this.#socket.write(requests.length === 1 ? (requests[0] as Buffer) : Buffer.concat(requests))
    if (end) this.#socket.end()
    return Promise.all(answers).finally(() => clearTimeout(timer))
  }

  close(): void {
    this.#end('closed by us')
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    for (;;) {
      const headEnd = this.#received.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, headEnd).split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      )
      const end = headEnd + 4 + Number(headers['content-length'] ?? 0)
      if (this.#received.length < end) return
      const body = this.#received.toString('utf8', headEnd + 4, end)
      this.#received = this.#received.subarray(end)
      const status = Number(statusLine.split(' ')[1])
      // 100: go on and send the body.
      if (status >= 200) this.#waiting.shift()?.({ status, headers, body })
    }
  }

  #end(reason: string): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#socket.destroy()
    for (const resolve of this.#waiting.splice(0)) resolve({ status: 0, reason })
  }
}
