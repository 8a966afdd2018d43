/** The host names and addresses of a serving certificate. */
import { isIP } from 'node:net'
import { serverName } from '../base/net/server-name.ts'

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes hosts as in certificates: lower case, without a final dot, IPv6 addresses in their shortest form, without duplicates. Throws an
 * Error for a host that is neither a DNS name nor an IP address, and for an empty list.
 */
export function normalizeHosts(hosts: readonly string[]): string[] {
  if (hosts.length === 0) throw new Error('a serving certificate needs at least one host')
  return [...new Set(hosts.map(normalizeHost))]
}

function normalizeHost(host: string): string {
  const lower = serverName(host.toLowerCase()) ?? host.toLowerCase()
  if (isIP(lower) === 4) return lower
  if (isIP(lower) === 6 && !lower.includes('%')) return new URL(`https://[${lower}]`).hostname.slice(1, -1)
  const labels = lower.replace(/^\*\./, '').split('.')
  if (lower.length > 253 || !labels.every((label) => DNS_LABEL.test(label)) || /^[0-9.]+$/.test(lower)) {
    throw new Error(`${JSON.stringify(host)} is neither a DNS name nor an IP address`)
  }
  return lower
}
