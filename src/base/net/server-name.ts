/** Names servers in TLS. */
import { parseAddress } from './network.ts'

/**
 * Returns the name of a host for TLS and certificates (RFC 6066, section 3): without the final dot of an absolute name. Servers written in Go,
 * such as kube-apiserver, reject that dot. Returns undefined for an address.
 */
export function serverName(host: string): string | undefined {
  return parseAddress(host) === undefined ? host.replace(/\.$/, '') : undefined
}
