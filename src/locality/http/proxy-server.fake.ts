/** A real proxy on loopback. It forwards requests in absolute form and tunnels CONNECT, for every host to one server. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export class ProxyServer {
  /** The requests to the proxy, such as `GET http://host/path` or `CONNECT host:443`. */
  readonly requests: string[] = []
  readonly authorizations: (string | undefined)[] = []
  url = ''
  /** The response to CONNECT; `hang` for none. */
  connectStatus: number | 'hang' = 200
  readonly #target: string
  readonly #server: Server
  readonly #sockets = new Set<Duplex>()

  /** @param target the URL of the server that receives all requests */
  constructor(target: string) {
    this.#target = target
    this.#server = createServer((incoming, response) => this.#forward(incoming, response))
    this.#server.on('connection', (socket) => this.#track(socket))
    this.#server.on('connect', (incoming, socket) => this.#tunnel(incoming, socket))
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    this.#note(incoming)
    const url = new URL(incoming.url ?? '')
    const { hostname, port } = new URL(this.#target)
    const { method, headers } = incoming
    const onward = request({ hostname, port, path: url.pathname + url.search, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    incoming.pipe(onward)
  }

  #tunnel(incoming: IncomingMessage, socket: Duplex): void {
    this.#note(incoming)
    this.#track(socket)
    if (this.connectStatus === 'hang') return
    if (this.connectStatus !== 200) {
      socket.end(`HTTP/1.1 ${this.connectStatus} No\r\n\r\n`)
      return
    }
    const { hostname, port } = new URL(this.#target)
    const onward: Socket = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    this.#track(onward)
  }

  #note({ method, url, headers }: IncomingMessage): void {
    this.requests.push(`${method} ${url}`)
    this.authorizations.push(headers['proxy-authorization'])
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
}
