/** Chooses the route to a server: a direct connection to a checked address, or the proxy that the environment names. */
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { localHostFault } from '../../core/mover/local-address.ts'
import { proxyFor } from '../../core/proxy.ts'
import { guardedLookup, notAllowed, type Resolve } from './guarded-lookup.ts'

export interface RouteOptions {
  /** Trusted certificates as PEM; default: those of the system. */
  ca?: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** Loopback and link-local networks in which a server may be. */
  localNetworks: readonly string[]
  /** Resolves names; default: the resolver of the system. */
  resolve?: Resolve
}

export interface Routes {
  /** The dispatcher for an origin. Throws a `MoverError` for an address that is not allowed. */
  to(origin: string): Dispatcher
  /** Closes every connection immediately. */
  close(): void
}

const CONNECT_TIMEOUT_MS = 10_000
/**
 * The buffer of a connection. Data that arrives while a chunk is written becomes one chunk: larger chunks need fewer calls, smaller chunks
 * less memory.
 */
const READ_BYTES = 64 * 1024

export function openRoutes(options: RouteOptions): Routes {
  const direct = new Agent({ allowH2: false, connect: { ...connectOptions(options), lookup: guardedLookup(options) } })
  const proxies = new Map<string, Dispatcher>()
  const known = new Map<string, Dispatcher>()

  function open(origin: string): Dispatcher {
    const { protocol, hostname, port } = new URL(origin)
    // Only URLs have brackets around IPv6 addresses.
    const host = hostname.replace(/^\[|\]$/g, '')
    const fault = localHostFault(host, options.localNetworks)
    if (fault !== undefined) throw notAllowed(fault)
    const proxy = proxyFor({ protocol, hostname: host, port }, options.env)
    if (proxy === undefined) return direct
    const opened = proxies.get(proxy) ?? openProxy(proxy, options)
    proxies.set(proxy, opened)
    return opened
  }

  return {
    to(origin) {
      const dispatcher = known.get(origin) ?? open(origin)
      known.set(origin, dispatcher)
      return dispatcher
    },
    close() {
      for (const dispatcher of [direct, ...proxies.values()]) void dispatcher.destroy(new Error('closed'))
    },
  }
}

function connectOptions({ ca }: RouteOptions) {
  return { timeout: CONNECT_TIMEOUT_MS, highWaterMark: READ_BYTES, ...(ca !== undefined && { ca }) }
}

/** Opens a proxy. Its address is not checked, because the operator names it. */
function openProxy(uri: string, options: RouteOptions): Dispatcher {
  return new ProxyAgent({
    uri,
    allowH2: false,
    requestTls: connectOptions(options),
    proxyTls: { timeout: CONNECT_TIMEOUT_MS },
    // CONNECT is a request to the proxy, so the timeout for headers applies to it.
    clientFactory: (origin, poolOptions) => new Pool(origin, { ...poolOptions, headersTimeout: CONNECT_TIMEOUT_MS }),
  })
}
