/** A real HTTP server in place of a data system. Tests can replace its responses with faults. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface DataRequest {
  method: string
  path: string
  query: URLSearchParams
  /** Path and query as sent. */
  url: string
  headers: IncomingMessage['headers']
  body: string
}

export interface DataAnswer {
  status?: number
  headers?: Record<string, string>
  /** Bytes are sent unchanged, other objects as JSON. */
  body?: string | Uint8Array | object
}

export type Serve = (request: DataRequest) => DataAnswer | Promise<DataAnswer>

/** `hang` never responds, `hang-body` never ends the body, `reset` closes the connection. */
export type Fault = 'hang' | 'hang-body' | 'reset' | DataAnswer

export class DataServer {
  readonly requests: DataRequest[] = []
  url = ''
  /** The fault of the next request; undefined for a normal response. */
  fault: (request: DataRequest) => Fault | undefined = () => undefined
  serve: Serve
  readonly #sockets = new Set<Socket>()
  readonly #server: Server

  constructor(serve: Serve) {
    this.serve = serve
    this.#server = createServer((incoming, response) => void this.#handle(incoming, response))
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  get paths(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`)
  }

  /** Resolves when no client is connected any more. */
  async drained(): Promise<void> {
    const open = [...this.#sockets]
    await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', this.url)
    let body = ''
    for await (const chunk of incoming) body += chunk
    const request: DataRequest = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      url: incoming.url ?? '',
      headers: incoming.headers,
      body,
    }
    this.requests.push(request)
    const fault = this.fault(request)
    if (fault === 'hang') return
    if (fault === 'reset') {
      incoming.socket.destroy()
    } else if (fault === 'hang-body') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"metadata":')
    } else {
      send(response, fault ?? (await this.serve(request)))
    }
  }
}

function send(response: ServerResponse, { status = 200, headers = {}, body = '' }: DataAnswer): void {
  const isPlain = typeof body === 'string' || body instanceof Uint8Array
  response.writeHead(status, { 'content-type': isPlain ? 'text/plain' : 'application/json', ...headers })
  response.end(isPlain ? body : JSON.stringify(body))
}
