/** Connections to a data system: direct, or through the proxy that the environment names for its host. */
import { readFileSync } from 'node:fs'
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici'
import { isLoopback } from '../../core/network.ts'
import { proxyFor } from '../../core/proxy.ts'
import { LocalityError } from '../plugins/plugin.ts'

export interface TlsFiles {
  caFile?: string
  certFile?: string
  keyFile?: string
  insecureSkipVerify: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface DispatchersOptions {
  tls: TlsFiles
  /** For the connection to a server or a proxy. */
  timeoutMs: number
  /** Where `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are read, once. */
  env: Environment
}

export interface Route {
  dispatcher: Dispatcher
  /** The proxy as messages name it, without credentials. */
  proxy?: string
}

export interface Dispatchers {
  /** The route to a server. Throws when the environment names a proxy that cannot be used. */
  routeTo(url: URL): Route
  /** Waits for the requests under way. */
  close(): Promise<void>
}

/** Opens them. Throws when a TLS file cannot be read. */
export function openDispatchers({ tls, timeoutMs, env }: DispatchersOptions): Dispatchers {
  // The caller limits the time of each request as a whole.
  const common = { headersTimeout: 0, bodyTimeout: 0, allowH2: false }
  const connect = { ...readTls(tls), timeout: timeoutMs }
  const direct = new Agent({ ...common, connect })
  const proxies = new Map<string, Route>()

  function openProxy(text: string): Route {
    const uri = parseProxy(text)
    const dispatcher = new ProxyAgent({
      ...common,
      uri: uri.href,
      // Without `ca`, Node trusts its own certificates and those of NODE_EXTRA_CA_CERTS.
      requestTls: connect,
      proxyTls: { timeout: timeoutMs },
      // CONNECT is a request of its own: a proxy that does not answer it would keep the connection open.
      clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: timeoutMs }),
    })
    return { dispatcher, proxy: uri.origin }
  }

  return {
    routeTo(url) {
      // As in Go: a server on this machine is never reached through a proxy.
      const text = isLoopback(url.hostname) ? undefined : proxyFor(url, env)
      if (text === undefined) return { dispatcher: direct }
      const route = proxies.get(text) ?? openProxy(text)
      proxies.set(text, route)
      return route
    },
    async close() {
      await Promise.all(
        [direct, ...[...proxies.values()].map(({ dispatcher }) => dispatcher)].map((one) => one.close()),
      )
    },
  }
}

/** As in Go, a proxy without a scheme is an HTTP proxy. The text is not repeated: it may hold a password. */
function parseProxy(text: string): URL {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : URL.parse(`http://${text}`)
  if (url !== null && /^https?:$/.test(url.protocol)) return url
  throw new LocalityError('rejected', 'HTTPS_PROXY or HTTP_PROXY: must be a URL with http or https')
}

function readTls({ caFile, certFile, keyFile, insecureSkipVerify }: TlsFiles) {
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
    ...(certFile !== undefined && { cert: readFileSync(certFile, 'utf8') }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile, 'utf8') }),
    rejectUnauthorized: !insecureSkipVerify,
  }
}
