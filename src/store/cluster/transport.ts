/** The HTTP transport of a cluster connection. Its TLS material can change while it is open. */
import { isDeepStrictEqual } from 'node:util'
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent } from 'undici'

/** The options of a connection to the server. Changed options need a new agent. */
export interface ApiTransportOptions {
  tls: {
    ca?: string | Buffer
    cert?: string | Buffer
    key?: string | Buffer
    rejectUnauthorized?: boolean
    servername?: string
  }
  proxyUrl?: string
}

const CONNECT_TIMEOUT_MS = 10_000
/** The interval of client-go. It is shorter than the idle timeout of common load balancers, which would drop a watch silently. */
const KEEP_ALIVE_PROBE_MS = 30_000

/** Provides the agent for the current TLS material. Older agents close after their last request. */
export class ApiTransport {
  #current: { options: ApiTransportOptions; agent: Dispatcher } | undefined
  readonly #agents = new Set<Dispatcher>()
  #closed = false

  /** Returns the agent for `options`, the same one as long as they are equal. Throws after `close`, and for a proxy that it does not know. */
  agentFor(options: ApiTransportOptions): Dispatcher {
    if (this.#closed) throw new Error('the connection is closed')
    if (this.#current !== undefined && isDeepStrictEqual(this.#current.options, options)) return this.#current.agent
    // Throws for options that make no agent: then the current one stays open, for the options that follow.
    const agent = createAgent(options)
    this.#retire(this.#current?.agent)
    this.#agents.add(agent)
    this.#current = { options, agent }
    return agent
  }

  /** Closes every socket immediately. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#agents].map((agent) => agent.destroy()))
    this.#agents.clear()
  }

  #retire(agent: Dispatcher | undefined): void {
    // `close` waits for running requests: a watch may run for minutes with the old certificate, and the server allows it.
    agent?.close(() => this.#agents.delete(agent))
  }
}

function createAgent(options: ApiTransportOptions): Dispatcher {
  const connect = { ...options.tls, timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS }
  // With HTTP/1.1, each watch has its own socket, so that a watch that hangs is aborted without effect on others. Callers set the timeouts;
  // a watch has only its watchdog.
  const common = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 }
  const proxyUrl = options.proxyUrl
  if (proxyUrl === undefined) return new Agent({ ...common, connect })
  if (/^socks5:/.test(proxyUrl)) return new Socks5ProxyAgent(proxyUrl, { ...common, requestTls: options.tls })
  if (/^https?:/.test(proxyUrl)) return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: options.tls })
  // The URL itself is not shown: it may have a password.
  throw new Error('proxy-url of the kubeconfig has another scheme; use http, https or socks5')
}

/** Reads a whole body as text. Throws for more than `maxBytes`, so that an invalid response cannot fill the memory. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
