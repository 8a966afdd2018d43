/** Opens the socket to a server, directly or through a proxy, and hands over what comes in pieces as large as there are. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { localHostFault } from '../../core/mover/local-address.ts'
import { proxyFor } from '../../core/proxy.ts'
import { guardedLookup, notAllowed, type Resolve } from './guarded-lookup.ts'
import { ResponseReader } from './response.ts'

export interface SocketOptions {
  /** PEM, instead of the system's. */
  ca?: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Loopback and link-local networks in which the server may be. */
  localNetworks: readonly string[]
  /** How names are resolved; by the system when it is not given. */
  resolve?: Resolve
}

export interface OpenedSocket {
  socket: Socket
  /** Whether requests have to name the whole URL: a proxy that speaks no TLS passes them on. */
  wholeUrl: boolean
  /** What a proxy wants to know. */
  headers: Record<string, string>
  /** Goes on reading. */
  resume(): void
}

/** Takes what has been read; false: the buffer is in use, and nothing more may come until `resume`. */
export type OnRead = (bytes: number, buffer: Buffer) => boolean

/** A call into Node costs more than a page of memory: the larger the buffer, the fewer the calls. */
const BUFFER_BYTES = 1024 * 1024

/** Opens a socket. Rejects with the system's error. */
export async function openSocket(origin: string, options: SocketOptions, onRead: OnRead): Promise<OpenedSocket> {
  const { protocol, hostname, port } = new URL(origin)
  const isTls = protocol === 'https:'
  const host = unbracket(hostname)
  const fault = localHostFault(host, options.localNetworks)
  if (fault !== undefined) throw notAllowed(fault)
  const target = { host, port: Number(port) || (isTls ? 443 : 80), lookup: guardedLookup(options) }
  const proxy = proxyFor({ protocol, hostname: host, port: `${target.port}` }, options.env)
  const tls = {
    // Names are looked up by the certificate, addresses are not sent.
    ...{ host, servername: /^[\d.]+$|:/.test(host) ? '' : host, highWaterMark: BUFFER_BYTES },
    ...(options.ca !== undefined && { ca: options.ca }),
  }
  if (proxy === undefined) {
    if (isTls)
      return pull(await opened(connectTls({ ...target, ...tls }), true), onRead, { wholeUrl: false, headers: {} })
    const onread = { buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES), callback: readInto(onRead) }
    const socket = await opened(connectTcp({ ...target, onread }), false)
    return { socket, wholeUrl: false, headers: {}, resume: () => void socket.resume() }
  }
  const { hostname: proxyHost, port: proxyPort, username, password } = new URL(proxy)
  const raw = await opened(connectTcp({ host: unbracket(proxyHost), port: Number(proxyPort) || 80 }), false)
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const headers: Record<string, string> =
    username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
  if (!isTls) return pull(raw, onRead, { wholeUrl: true, headers })
  await tunnel(raw, `${hostname}:${target.port}`, headers)
  return pull(await opened(connectTls({ ...tls, socket: raw }), true), onRead, { wholeUrl: false, headers: {} })
}

/** Under TLS a buffer of ours would be overwritten while it is in use: what has been decrypted is handed over, wanted or not. */
function pull(socket: Socket, onRead: OnRead, how: Pick<OpenedSocket, 'wholeUrl' | 'headers'>): OpenedSocket {
  let isBusy = false
  const read = () => {
    while (!isBusy) {
      // All that has come meanwhile, in one piece.
      const piece = socket.read() as Buffer | null
      if (piece === null) return
      isBusy = !onRead(piece.length, piece)
    }
  }
  socket.on('readable', read)
  const resume = () => {
    isBusy = false
    read()
  }
  return { socket, ...how, resume }
}

/** IPv6 addresses have brackets in URLs, and nowhere else. */
function unbracket(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function readInto(onRead: OnRead) {
  return (bytes: number, buffer: Uint8Array) => onRead(bytes, buffer as Buffer)
}

function opened(socket: Socket, isTls: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(CONNECT_MS)
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const expire = () => fail(new Error(`no connection within ${CONNECT_MS / 1000} s`))
    socket.once('error', fail)
    socket.once('timeout', expire)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', fail)
      socket.off('timeout', expire)
      socket.setNoDelay(true)
      resolve(socket)
    })
  })
}

const CONNECT_MS = 10_000

/** Asks a proxy for a way through to a server. */
function tunnel(socket: Socket, authority: string, headers: Record<string, string>): Promise<void> {
  const lines = Object.entries({ host: authority, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\n${lines.join('')}\r\n`)
  // The answer to CONNECT has no body, as that to HEAD.
  const reader = new ResponseReader('HEAD')
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const end = () => fail(new Error('the proxy closed the connection'))
    const expire = () => fail(new Error(`the proxy does not answer within ${CONNECT_MS / 1000} s`))
    const read = (chunk: Buffer) => {
      const step = reader.next(chunk, 0, chunk.length)
      if (step.kind !== 'head') return
      if (step.head.status !== 200) return fail(new Error(`the proxy answers CONNECT with ${step.head.status}`))
      socket.off('data', read)
      socket.off('error', fail)
      socket.off('end', end)
      socket.off('timeout', expire)
      resolve()
    }
    socket.on('error', fail)
    socket.on('end', end)
    socket.on('timeout', expire)
    socket.on('data', read)
  })
}
