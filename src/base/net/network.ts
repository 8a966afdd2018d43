/** Parses IP addresses and networks in CIDR notation. */
import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** Parses an address; undefined for any other text. IPv6 may have brackets. An IPv4-mapped IPv6 address becomes IPv4. */
export function parseAddress(text: string): IpAddress | undefined {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? ipaddr.process(bare) : undefined
}

/** Whether an address is in a network such as `10.0.0.0/8`; undefined if the text is not a network. */
export function isInNetwork(address: IpAddress | undefined, text: string): boolean | undefined {
  if (!ipaddr.isValidCIDR(text)) return undefined
  const [base, bits] = ipaddr.parseCIDR(text)
  return address?.kind() === base.kind() && address.match(base, bits)
}

/** Whether a host is this machine: the name `localhost` or a loopback address. */
export function isLoopback(hostname: string): boolean {
  const address = parseAddress(hostname)
  return address === undefined ? hostname.toLowerCase() === 'localhost' : address.range() === 'loopback'
}
