/** A real Thrift server in place of a metastore. Tests choose its replies, and can replace them with faults. */
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { type Encoded, int32, message, type ParsedCall, parseCall } from './values.fake.ts'

/** A result, or the exception with which Thrift itself answers a call. Bytes are sent unchanged. */
export type ThriftAnswer = { result: Encoded } | { exception: Encoded } | Buffer | 'hang' | 'reset' | 'close'

export interface ThriftServerOptions {
  tls?: TlsOptions
  framed?: boolean
  /** The password that SASL PLAIN must bring. */
  password?: string
}

export class ThriftServer {
  readonly calls: ParsedCall[] = []
  /** The users of SASL. */
  readonly users: string[] = []
  url = ''
  connections = 0
  serve: (call: ParsedCall) => ThriftAnswer
  readonly #options: ThriftServerOptions
  readonly #sockets = new Set<Socket>()
  readonly #server: Server

  constructor(serve: (call: ParsedCall) => ThriftAnswer, options: ThriftServerOptions = {}) {
    this.serve = serve
    this.#options = options
    const accept = (socket: Socket) => this.#accept(socket)
    this.#server = options.tls === undefined ? createTcpServer(accept) : createTlsServer(options.tls, accept)
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `thrift://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  get methods(): string[] {
    return this.calls.map(({ method }) => method)
  }

  /** Resolves when no client is connected any more. */
  async drained(): Promise<void> {
    await Promise.all([...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    let received: Buffer = Buffer.alloc(0)
    let isAuthenticated = this.#options.password === undefined
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (!isAuthenticated) {
        const rest = this.#authenticate(socket, received)
        if (rest === undefined) return
        received = rest
        isAuthenticated = true
      }
      received = this.#answerAll(socket, received)
    })
  }

  /** Checks the two messages of SASL PLAIN. Returns the bytes after them, or undefined if they are not complete or invalid. */
  #authenticate(socket: Socket, bytes: Buffer): Buffer | undefined {
    const start = bytes.length < 5 ? 0 : 5 + bytes.readInt32BE(1)
    if (start === 0 || bytes.length < start + 5) return undefined
    const end = start + 5 + bytes.readInt32BE(start + 1)
    if (bytes.length < end) return undefined
    const [, user = '', password] = bytes.toString('utf8', start + 5, end).split('\0')
    this.users.push(user)
    const isRight = bytes.toString('utf8', 5, start) === 'PLAIN' && password === this.#options.password
    socket.write(Buffer.concat([Buffer.from([isRight ? 5 : 3]), int32(0).bytes]))
    return isRight ? bytes.subarray(end) : undefined
  }

  #answerAll(socket: Socket, received: Buffer): Buffer {
    const isFramed = this.#options.framed === true || this.#options.password !== undefined
    let rest = received
    for (;;) {
      const call = parseCall(isFramed ? rest.subarray(4) : rest)
      if (call === undefined) return rest
      rest = rest.subarray(call.length + (isFramed ? 4 : 0))
      this.calls.push(call)
      this.#send(socket, call, isFramed)
    }
  }

  #send(socket: Socket, call: ParsedCall, isFramed: boolean): void {
    const answer = this.serve(call)
    if (answer === 'hang') return
    if (answer === 'reset') socket.resetAndDestroy()
    else if (answer === 'close') socket.end()
    else if (Buffer.isBuffer(answer)) socket.end(answer)
    else {
      const [type, body] =
        'result' in answer ? (['reply', answer.result] as const) : (['exception', answer.exception] as const)
      const bytes = message(type, call.method, call.sequence, body)
      socket.write(isFramed ? Buffer.concat([int32(bytes.length).bytes, bytes]) : bytes)
    }
  }
}
