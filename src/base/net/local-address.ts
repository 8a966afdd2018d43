/**
 * Detects hosts that are the node itself or on its link. Endpoints in objects of users may not be there unless their network is allowed.
 */
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The address ranges, with their names in messages. A connection to `0.0.0.0` reaches the host itself. */
const LOCAL_RANGES: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  linkLocal: 'a link-local address',
  unspecified: 'the unspecified address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  // The server of a tunnel, and its peer behind a NAT, may be any host.
  teredo: 'an address of a Teredo tunnel',
}

/** Instance metadata of clouds with an address outside of the link-local networks: AWS, Alibaba, Azure, Oracle, Google. */
const METADATA = ['fd00:ec2::254/128', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd20:ce::254/128']

/** Local-use NAT64 (RFC 8215): the network decides where the IPv4 address is, so that any address can be embedded. */
const LOCAL_NAT64 = '64:ff9b:1::/48'

/** Names that are resolved without a server (RFC 6761, and the usual /etc/hosts). */
const LOOPBACK_NAME = /^((.*\.)?localhost|localhost\.localdomain|ip6-localhost|ip6-loopback)$/
/** A host whose last part is a number is an address or invalid (WHATWG URL, "ends in a number"). */
const NUMERIC_END = /(^|\.)(\d+|0x[0-9a-f]*)$/

/** Whether a text is a network in CIDR notation, or one address. */
export function isNetwork(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)
}

/**
 * Returns why an endpoint may not have this host; undefined if it may. Only the text of the host is checked: a name may still resolve to
 * such an address.
 *
 * @param host a name, or an address in any notation, with or without brackets
 * @param allowed networks that are allowed although they are local
 */
export function localHostFault(host: string, allowed: readonly string[]): string | undefined {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
  if (LOOPBACK_NAME.test(name)) return addressFault(ipaddr.parse('127.0.0.1'), allowed) && `${host} is a loopback name`
  if (!ipaddr.isValid(name)) return NUMERIC_END.test(name) ? `${host} is not a valid address` : undefined
  const fault = addressFault(ipaddr.parse(name), allowed)
  return fault && `${host} is ${fault}`
}

function addressFault(address: Address, allowed: readonly string[]): string | undefined {
  // Packets go to the embedded address: an IPv6 address can contain an IPv4 address in several forms.
  const all = [address, ...embeddedIn(address)]
  const local = all.find((one) => localRange(one) !== undefined)
  if (local === undefined || allowed.some((network) => contains(network, local))) return undefined
  return localRange(local)
}

function localRange(address: Address): string | undefined {
  return (
    LOCAL_RANGES[address.range()] ??
    (METADATA.some((network) => contains(network, address)) ? METADATA_NAME : undefined) ??
    (contains(LOCAL_NAT64, address) ? 'an address of a local NAT64 network' : undefined)
  )
}

const METADATA_NAME = 'an address of instance metadata'

function contains(network: string, address: Address): boolean {
  const [base, bits] = network.includes('/') ? ipaddr.parseCIDR(network) : [ipaddr.parse(network), undefined]
  if (base.kind() !== address.kind()) return false
  return address.match(base, bits ?? (base.kind() === 'ipv4' ? 32 : 128))
}

/** The networks of IPv4-mapped, IPv4-translated, NAT64 and 6to4 addresses, with the position of the IPv4 address. */
const EMBEDDING: readonly { network: string; at: number }[] = [
  { network: '::ffff:0:0/96', at: 12 },
  { network: '::ffff:0:0:0/96', at: 12 },
  { network: '64:ff9b::/96', at: 12 },
  { network: '2002::/16', at: 2 },
]

function embeddedIn(address: Address): ipaddr.IPv4[] {
  if (address.kind() === 'ipv4') return []
  const bytes = address.toByteArray()
  const isCompatible = bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte > 0)
  const places = EMBEDDING.filter(({ network }) => contains(network, address)).map(({ at }) => at)
  return [...places, ...(isCompatible ? [12] : [])].map((at) => new ipaddr.IPv4(bytes.slice(at, at + 4)))
}
