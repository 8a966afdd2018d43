/** Requests and streams over one origin that can be handed new TLS material: the transport below a cluster connection. */
import { isDeepStrictEqual } from 'node:util'
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent } from 'undici'

/** The options of a connection to the server; other options need another agent. */
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
/** As client-go: below the idle timeouts of common load balancers, so that a watch through one is not cut silently. */
const KEEP_ALIVE_PROBE_MS = 30_000

/** Hands out the agent for the present TLS material; agents of earlier material end with the last request they carry. */
export class ApiTransport {
  #current: { options: ApiTransportOptions; agent: Dispatcher } | undefined
  readonly #agents = new Set<Dispatcher>()
  #closed = false

  /** The agent for `options`; the same one while they stay equal. Throws once the transport is closed. */
  agentFor(options: ApiTransportOptions): Dispatcher {
    if (this.#closed) throw new Error('the connection is closed')
    if (this.#current !== undefined && isDeepStrictEqual(this.#current.options, options)) return this.#current.agent
    this.#retire(this.#current?.agent)
    const agent = createAgent(options)
    this.#agents.add(agent)
    this.#current = { options, agent }
    return agent
  }

  /** Ends every socket, at once. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#agents].map((agent) => agent.destroy()))
    this.#agents.clear()
  }

  #retire(agent: Dispatcher | undefined): void {
    // `close` waits for what is under way: a watch may go on for minutes with the old certificate, as the server allows.
    agent?.close(() => this.#agents.delete(agent))
  }
}

function createAgent(options: ApiTransportOptions): Dispatcher {
  const connect = { ...options.tls, timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS }
  // HTTP/1.1: a watch has a socket of its own, so one that hangs is aborted without harm to the others.
  // Timeouts are the callers': a watch has none but its watchdog.
  const common = { allowH2: false, headersTimeout: 0, bodyTimeout: 0 }
  const proxyUrl = options.proxyUrl
  if (proxyUrl === undefined) return new Agent({ ...common, connect })
  if (/^socks5h?:/.test(proxyUrl)) return new Socks5ProxyAgent(proxyUrl, { ...common, requestTls: options.tls })
  if (/^https?:/.test(proxyUrl)) return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: options.tls })
  throw new Error(`the kubeconfig's proxy-url ${proxyUrl} is none of http, https and socks5`)
}

/** Reads a whole body. Throws beyond `maxBytes`, so that a wrong answer cannot fill the memory. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
