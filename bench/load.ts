/** Sends one review over and over on keep-alive connections, as kube-apiserver would, and measures each answer. */
import { connect, type TLSSocket } from 'node:tls'

export interface LoadOptions {
  port: number
  ca: string
  path: string
  body: string
  connections: number
  seconds: number
  /**
   * Polls instead of sleeping between answers. A server that is quicker than its client never finds it asleep; one that is slower
   * pays, with every answer, for waking it: tens of microseconds on a virtual machine. Polling charges that to nobody.
   */
  poll: boolean
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

/** Runs for the given time. Throws when an answer is anything but 200. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { port, ca, path, body, connections, seconds, poll, pauseMs = 0, signal } = options
  const head = `POST ${path}?timeout=3s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
  const request = Buffer.from(head + body)
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port, ca)))
  const latencies: number[] = []
  let polling = poll
  const turn = () => void (polling && setImmediate(turn))
  turn()
  const started = performance.now()
  const until = started + seconds * 1000
  const isOver = () => signal?.aborted === true || performance.now() >= until
  await Promise.all(sockets.map((socket) => drive(socket, { request, pauseMs, isOver, latencies })))
  polling = false
  const elapsed = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  latencies.sort((a, b) => a - b)
  const quantile = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0
  return { reviews: latencies.length, seconds: elapsed, p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) }
}

function open(port: number, ca: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] }, () =>
      resolve(socket),
    )
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

interface Drive {
  request: Buffer
  pauseMs: number
  isOver: () => boolean
  /** Where each answer's milliseconds go. */
  latencies: number[]
}

/** One request after the other on one connection. The answers have a Content-Length; more of HTTP is not needed to tell their end. */
function drive(socket: TLSSocket, { request, pauseMs, isOver, latencies }: Drive): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = 0
    let pending: Buffer = Buffer.alloc(0)
    const send = () => {
      sent = performance.now()
      socket.write(request)
    }
    socket.on('data', (chunk: Buffer) => {
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
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed the connection')))
    send()
  })
}
