/** Chooses the proxy of a request from the environment, by the rules of Go (golang.org/x/net/http/httpproxy). */
import { isInNetwork, parseAddress } from './network.ts'

interface Target {
  protocol: string
  hostname: string
  /** Empty for the default port of the protocol. */
  port: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the proxy for a server from the environment; undefined for none. */
export function proxyFor(target: Target, env: Environment): string | undefined {
  const read = (name: string) => env[name] || env[name.toLowerCase()] || undefined
  const isHttps = target.protocol === 'https:'
  const proxy = isHttps ? read('HTTPS_PROXY') : read('HTTP_PROXY')
  if (proxy === undefined) return undefined
  const port = target.port || (isHttps ? '443' : '80')
  const entries = (read('NO_PROXY') ?? '').toLowerCase().split(/[\s,]+/)
  const hostname = target.hostname.toLowerCase().replace(/\.$/, '')
  return entries.some((entry) => entry !== '' && isExempt(entry, hostname, port)) ? undefined : proxy
}

/** Whether an entry of NO_PROXY matches: `*`, a network, or an address or domain with or without a port. */
function isExempt(entry: string, hostname: string, port: string): boolean {
  if (entry === '*') return true
  const address = parseAddress(hostname)
  const inNetwork = isInNetwork(address, entry)
  if (inNetwork !== undefined) return inNetwork
  const { host, entryPort } = splitPort(entry)
  if (entryPort !== undefined && entryPort !== port) return false
  const exempt = parseAddress(host)
  if (exempt !== undefined) return address?.toString() === exempt.toString()
  return matchesDomain(host, hostname)
}

/** Splits the port from an entry. An IPv6 address has more than one colon, and a port only after brackets. */
function splitPort(entry: string): { host: string; entryPort: string | undefined } {
  const [, host, entryPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? []
  return host === undefined ? { host: entry, entryPort: undefined } : { host, entryPort }
}

/** `example.org` matches the domain and its subdomains; `.example.org` and `*.example.org` match only its subdomains. */
function matchesDomain(entry: string, hostname: string): boolean {
  if (entry === '') return false
  const below = entry.startsWith('*.') ? entry.slice(1) : entry
  return below.startsWith('.') ? hostname.endsWith(below) : hostname === below || hostname.endsWith(`.${below}`)
}
