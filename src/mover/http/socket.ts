/**
 * Opens the socket to a server, directly to a checked address or through the proxy that the environment names. Loopback and link-local
 * addresses of the node are rejected.
 */
import { type LookupAddress, lookup } from 'node:dns'
import { connect as connectTcp, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { defined } from '../../base/json.ts'
import { localHostFault } from '../../base/net/local-address.ts'
import { proxyFor } from '../../base/net/proxy.ts'
import { serverName } from '../../base/net/server-name.ts'
import { decodeEscapes } from '../../base/net/url-encoding.ts'
import { MoverError } from '../mover-error.ts'
import { ProtocolError, ResponseReader } from './response-reader.ts'

export interface SocketOptions {
  /** Trusted certificates as PEM; default: those of the system. */
  ca?: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Loopback and link-local networks in which a server may be. */
  localNetworks: readonly string[]
  /** Resolves names; default: the resolver of the system. */
  resolve?: Resolve
}

export interface OpenedSocket {
  socket: Socket
  /** Whether requests name the whole URL, for a proxy that forwards them. */
  needsWholeUrl: boolean
  /** Headers for the proxy. */
  headers: Record<string, string>
}

/** Receives data. The buffer is used again after the call. */
export type OnData = (data: Buffer) => void

const CONNECT_TIMEOUT_MS = 10_000
/** The most bytes of one read. The larger the buffer, the fewer the reads. */
const READ_BYTES = 256 * 1024

/**
 * Returns a function that opens sockets. All sockets read into one buffer: a read and its callback are one synchronous call.
 *
 * The function rejects with a `MoverError` for an address that is not allowed, or with the error of the system.
 */
export function socketOpener(options: SocketOptions) {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const lookup = guardedLookup(options)

  return async (origin: string, onData: OnData): Promise<OpenedSocket> => {
    const { protocol, hostname, port } = new URL(origin)
    const isTls = protocol === 'https:'
    const host = withoutBrackets(hostname)
    const fault = localHostFault(host, options.localNetworks)
    if (fault !== undefined) throw notAllowed(fault)
    const proxy = proxyFor({ protocol, hostname: host, port }, options.env)
    const target = { host, port: Number(port) || (isTls ? 443 : 80) }
    const onread = {
      buffer,
      callback(bytes: number) {
        onData(buffer.subarray(0, bytes))
        return true
      },
    }
    if (proxy === undefined) {
      const socket = isTls
        ? await openTls({ ...target, lookup, onread }, host, options)
        : await whenOpen(connectTcp({ ...target, lookup, onread }), 'connect')
      return { socket, needsWholeUrl: false, headers: {} }
    }
    const { connect, headers } = readProxy(proxy)
    if (!isTls) return { socket: await connect({ onread }), needsWholeUrl: true, headers }
    const tunnel = await openTunnel(await connect({}), `${hostname}:${target.port}`, headers)
    const socket = await openTls({ socket: tunnel }, host, options)
    socket.on('data', onData)
    return { socket, needsWholeUrl: false, headers: {} }
  }
}

/** The module for TLS needs memory and time, so it is loaded for the first connection with TLS. */
async function openTls(
  to: ConnectionOptions & { onread?: OnReadOpts },
  host: string,
  { ca }: Pick<SocketOptions, 'ca'>,
): Promise<Socket> {
  const { connect } = await import('node:tls')
  return whenOpen(connect({ host, servername: serverName(host) ?? '', ...to, ...defined({ ca }) }), 'secureConnect')
}

function whenOpen(socket: Socket, event: 'connect' | 'secureConnect'): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const expire = () => fail(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`))
    const close = () => fail(Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' }))
    socket.setTimeout(CONNECT_TIMEOUT_MS)
    socket.once('error', fail).once('timeout', expire).once('close', close)
    socket.once(event, () => {
      socket.off('error', fail).off('timeout', expire).off('close', close)
      socket.setNoDelay(true)
      resolve(socket)
    })
  })
}

/** Its address is not checked, because the operator names it. Its certificate must be trusted by the system. */
function readProxy(url: string) {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new MoverError('Rejected', 'the proxy must be an http or https URL; change HTTP_PROXY or HTTPS_PROXY')
  }
  const { protocol, hostname, port, username, password } = parsed
  const isTls = protocol === 'https:'
  const address = { host: withoutBrackets(hostname), port: Number(port) || (isTls ? 443 : 80) }
  const connect = (more: { onread?: OnReadOpts }) =>
    isTls
      ? openTls({ ...address, ...more }, address.host, {})
      : whenOpen(connectTcp({ ...address, ...more }), 'connect')
  const [user, secret] = [username, password].map(decodeEscapes)
  if (user === undefined || secret === undefined) {
    throw new MoverError(
      'Rejected',
      'HTTP_PROXY or HTTPS_PROXY: the user or password has an invalid escape; write % as %25',
    )
  }
  const headers: Record<string, string> = {}
  if (username !== '') headers['proxy-authorization'] = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
  return { connect, headers }
}

/** Only URLs have brackets around IPv6 addresses. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** Resolves when the proxy has opened the tunnel. The socket has a timeout already. */
function openTunnel(socket: Socket, authority: string, headers: Record<string, string>): Promise<Socket> {
  const lines = Object.entries({ host: authority, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const reader = new ResponseReader('CONNECT')
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const close = () => fail(new Error('the proxy closed the connection'))
    const expire = () => fail(new Error('the proxy does not answer'))
    const read = (data: Buffer) => {
      try {
        const step = reader.next(data, 0)
        if (step.kind !== 'head') return
        if (step.head.status !== 200) return fail(new Error(`the proxy answers CONNECT with ${step.head.status}`))
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        fail(error)
        return
      }
      socket.off('data', read).off('error', fail).off('close', close).off('timeout', expire)
      resolve(socket)
    }
    socket.on('data', read).on('error', fail).on('close', close).on('timeout', expire)
  })
}

/** Resolves all addresses of a name, as `dns.lookup` does. */
type Resolve = (
  name: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6' | undefined; hints?: number | undefined },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Returns the lookup function of a connection. The connection uses only the checked addresses, so a name that resolves to another address
 * next time does not bypass the check.
 */
function guardedLookup({
  localNetworks,
  resolve = lookup,
}: {
  localNetworks: readonly string[]
  resolve?: Resolve
}): LookupFunction {
  return (name, { family, hints, all }, done) =>
    resolve(name, { all: true, family, hints }, (error, addresses) => {
      if (error) return done(error, [])
      const faults = addresses.map(({ address }) => localHostFault(address, localNetworks))
      const fault = faults.find((one) => one !== undefined)
      if (fault !== undefined)
        return done(notAllowed(`${name} resolves to an address that is not allowed: ${fault}`), [])
      const [first] = addresses
      if (all) done(null, addresses)
      else done(null, first?.address ?? '', first?.family)
    })
}

function notAllowed(fault: string): MoverError {
  const remedy = 'use another host, or add its network to volumes.allowedLocalNetworks (--local-network)'
  return new MoverError('Rejected', `${fault}; ${remedy}`)
}
