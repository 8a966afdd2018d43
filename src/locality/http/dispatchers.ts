/** Opens connections to a data system, directly or through the proxy that the environment names for its host. */
import { readFileSync } from 'node:fs'
import type { Dispatcher } from 'undici'
import { defined } from '../../base/json.ts'
import { isLoopback } from '../../base/net/network.ts'
import { proxyFor } from '../../base/net/proxy.ts'
import { serverName } from '../../base/net/server-name.ts'
import { decodeEscapes } from '../../base/net/url-encoding.ts'
import { LocalityError } from '../locality.ts'

/** Loads the HTTP client for the first request: a command that only reads configurations does not need its 109 modules. */
export const loadHttpClient = () => import('undici')

export interface TlsFiles {
  caFile?: string
  certFile?: string
  keyFile?: string
  insecureSkipVerify: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface DispatchersOptions {
  tls: TlsFiles
  /** The timeout of a connection to a server or a proxy. */
  timeoutMs: number
  /** The environment with `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
  env: Environment
}

export interface Route {
  dispatcher: Dispatcher
  /** The proxy in messages, without credentials. */
  proxy?: string
}

export interface Dispatchers {
  /** Returns the route to a server. Throws when the environment names an invalid proxy. */
  routeTo(url: URL): Promise<Route>
  /** Closes the connections after the running requests. */
  close(): Promise<void>
}

/** Prepares the dispatchers, which the first request opens. Throws when a TLS file cannot be read. */
export function openDispatchers({ tls, timeoutMs, env }: DispatchersOptions): Dispatchers {
  // The caller limits the time of each request as a whole.
  const common = { headersTimeout: 0, bodyTimeout: 0, allowH2: false }
  const connect = { ...readTls(tls), timeout: timeoutMs }
  // One for each proxy, and for each server whose name in TLS is not that of its URL.
  const routes = new Map<string, Route>()

  function openProxy(text: string, servername: object, { Pool, ProxyAgent }: typeof import('undici')): Route {
    const uri = parseProxy(text)
    const dispatcher = new ProxyAgent({
      ...common,
      uri: uri.href,
      // Without `ca`, Node trusts its own certificates and those of NODE_EXTRA_CA_CERTS.
      requestTls: { ...connect, ...servername },
      proxyTls: { timeout: timeoutMs },
      // CONNECT is a separate request: a proxy that does not respond to it would keep the connection open.
      clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: timeoutMs }),
    })
    return { dispatcher, proxy: uri.origin }
  }

  return {
    async routeTo(url) {
      const client = await loadHttpClient()
      // As in Go, a server on this machine is never reached through a proxy.
      const text = isLoopback(url.hostname) ? undefined : proxyFor(url, env)
      const servername = defined({ servername: url.hostname.endsWith('.') ? serverName(url.hostname) : undefined })
      const key = JSON.stringify([text, servername])
      const route =
        routes.get(key) ??
        (text === undefined
          ? { dispatcher: new client.Agent({ ...common, connect: { ...connect, ...servername } }) }
          : openProxy(text, servername, client))
      routes.set(key, route)
      return route
    },
    async close() {
      await Promise.all([...routes.values()].map(({ dispatcher }) => dispatcher.close()))
    },
  }
}

/** Parses the URL of a proxy. As in Go, the default scheme is http. The message does not contain the URL, which may have a password. */
function parseProxy(text: string): URL {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : URL.parse(`http://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new LocalityError('rejected', 'HTTPS_PROXY or HTTP_PROXY: must be a URL with http or https')
  if ([url.username, url.password].some((text) => decodeEscapes(text) === undefined)) {
    const message = 'HTTPS_PROXY or HTTP_PROXY: the user or password has an invalid escape; write % as %25'
    throw new LocalityError('rejected', message)
  }
  return url
}

/** Reads the TLS files, as options of a connection. Throws when one cannot be read. */
export function readTls({ caFile, certFile, keyFile, insecureSkipVerify }: TlsFiles) {
  return defined({
    ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    cert: certFile === undefined ? undefined : readFileSync(certFile, 'utf8'),
    key: keyFile === undefined ? undefined : readFileSync(keyFile, 'utf8'),
    rejectUnauthorized: !insecureSkipVerify,
  })
}
