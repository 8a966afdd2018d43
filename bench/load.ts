/** Sends one review over and over on keep-alive connections, as kube-apiserver would, and measures each answer. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

export interface LoadOptions {
  port: number
  ca: string
  path: string
  body: string
  connections: number
  /** Milliseconds between an answer and the next review; without it the next follows at once. */
  pauseMs?: number
  /** Ends it before its time. */
  signal?: AbortSignal
}

export interface LoadResult {
  reviews: number
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
  max: number
}

interface RunOptions {
  seconds: number
  /**
   * Polls instead of sleeping between answers. A server that is quicker than its client never finds it asleep. A slower server
   * pays, with every answer, for waking it: tens of microseconds on a virtual machine. Polling removes that cost.
   */
  poll: boolean
}

/** Open connections. No result includes the cost to open them. */
export interface Load {
  /** Runs for so long. Throws when an answer is anything but 200. */
  run(options: RunOptions): Promise<LoadResult>
  close(): void
}

/** Opens the connections. */
export async function openLoad({ port, ca, path, body, connections, pauseMs = 0, signal }: LoadOptions): Promise<Load> {
  const head = `POST ${path}?timeout=3s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
  const request = Buffer.from(head + body)
  const opened = await Promise.all(Array.from({ length: connections }, () => open(port, ca)))
  return {
    async run({ seconds, poll }) {
      const latencies: number[] = []
      let polling = poll
      const turn = () => void (polling && setImmediate(turn))
      turn()
      const started = performance.now()
      const until = started + seconds * 1000
      const isOver = () => signal?.aborted === true || performance.now() >= until
      await Promise.all(opened.map((connection) => drive(connection, { request, pauseMs, isOver, latencies })))
      polling = false
      const elapsed = (performance.now() - started) / 1000
      latencies.sort((a, b) => a - b)
      const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0
      return { reviews: latencies.length, seconds: elapsed, p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) }
    },
    close() {
      for (const { socket } of opened) socket.destroy()
    },
  }
}

interface Connection {
  socket: TLSSocket
  /** Rejects when the server ends it. */
  broken: Promise<never>
}

async function open(port: number, ca: string): Promise<Connection> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] })
  socket.setNoDelay(true)
  const broken = new Promise<never>((_, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection')))
  })
  // The sender on this connection gets the error; the benchmark closes the connection itself in the end.
  broken.catch(() => undefined)
  await Promise.race([once(socket, 'secureConnect'), broken])
  return { socket, broken }
}

interface Drive {
  request: Buffer
  pauseMs: number
  isOver: () => boolean
  /** Where each answer's milliseconds go. */
  latencies: number[]
}

/** One request after the other on one connection. The answers have a Content-Length; more of HTTP is not needed to tell their end. */
async function drive({ socket, broken }: Connection, { request, pauseMs, isOver, latencies }: Drive): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let sent = 0
  let pending: Buffer = Buffer.alloc(0)
  function send() {
    sent = performance.now()
    socket.write(request)
  }
  function take(chunk: Buffer) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const end = pending.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = pending.subarray(0, end).toString('latin1')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
    if (!head.startsWith('HTTP/1.1 200') || Number.isNaN(length))
      return reject(new Error(`unexpected answer: ${pending.toString()}`))
    if (pending.length < end + 4 + length) return
    pending = Buffer.alloc(0)
    latencies.push(performance.now() - sent)
    if (isOver()) resolve()
    else if (pauseMs > 0) setTimeout(send, pauseMs)
    else send()
  }
  socket.on('data', take)
  send()
  try {
    await Promise.race([promise, broken])
  } finally {
    socket.off('data', take)
  }
}
