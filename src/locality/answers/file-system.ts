/** Decides whether the name of a path belongs to the file system of a data system, or to another one. */

/** The file system of a data system. */
export interface FileSystem {
  /** The URI of its root, such as `hdfs://lake`. */
  root: string
  /** The URLs of its NameNodes or gateways. */
  servers: readonly string[]
}

interface Address {
  scheme: string
  host: string
  port: number | undefined
}

/**
 * The schemes under which one HDFS has the same paths, with the default ports of Hadoop 2 and 3 (`dfs.namenode.rpc-address`, `.http-address`
 * and `.https-address`). The paths of `viewfs` are those of its mount table, so it is no such scheme.
 */
const DEFAULT_PORTS: Readonly<Record<string, readonly number[]>> = {
  hdfs: [8020],
  webhdfs: [9870, 50070],
  swebhdfs: [9871, 50470],
}

/** As Hadoop's `Path`: the authority of `//host/path` is the host, and nothing is percent-decoded. */
const NAME = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/]*))?(.*)$/is

/**
 * Returns the path of a name within a file system, without a slash at its end, or why the name has none there. A name is an absolute path, or
 * a URI with the authority of the file system or of one of its servers. Neither message contains credentials of the name.
 */
export function pathIn(fileSystem: FileSystem, name: string): { path: string } | { refusal: string } {
  const [, scheme, authority, rest = ''] = NAME.exec(name) ?? []
  if (authority?.includes('@')) return { refusal: 'the name of a path must not have a user' }
  const named = scheme === undefined && !authority ? undefined : fileSystemAddress(fileSystem, scheme, authority)
  if (named !== undefined && !isOwn(fileSystem, named)) {
    const [its, own] = [`${named.scheme}://${authority ?? ''}`, fileSystem.root]
    const remedy = 'name its own system, or correct extra.defaultFs of this one'
    return { refusal: `${name}: is in the file system ${its}, but this system is ${own}; ${remedy}` }
  }
  // The URI of the root may end with the authority.
  const path = rest === '' && authority ? '/' : rest
  const segments = path.split('/').filter((segment) => segment !== '')
  if (!path.startsWith('/') || segments.includes('.') || segments.includes('..')) {
    return { refusal: `${name}: must be a path from the root, without . and ..` }
  }
  return { path: `/${segments.join('/')}` }
}

/** As in Hadoop, a name without a scheme or an authority has that of the default file system, if the rest agrees. */
function fileSystemAddress({ root }: FileSystem, scheme: string | undefined, authority: string | undefined): Address {
  const own = parseAddress(root)
  const named = { scheme: scheme?.toLowerCase() ?? own.scheme, ...splitAuthority(authority ?? '') }
  return named.host === '' && named.scheme === own.scheme ? own : named
}

function isOwn({ root, servers }: FileSystem, named: Address): boolean {
  const own = parseAddress(root)
  // A gateway such as Knox has other file systems at other paths of the same server.
  const web = servers.filter((url) => /^[^:]+:\/\/[^/]+\/?$/.test(url)).map(webAddress)
  const isHdfs = own.scheme in DEFAULT_PORTS
  return [own, ...web].some((one) => {
    if (named.host === '' || named.host !== one.host) return false
    if (named.scheme === one.scheme) return possiblePorts(named).some((port) => possiblePorts(one).includes(port))
    if (!isHdfs || !(named.scheme in DEFAULT_PORTS)) return false
    // Another protocol of the same host has another port. All NameNodes of a file system have the port of its URI.
    const expected = named.scheme === own.scheme ? possiblePorts(own) : possiblePorts({ ...named, port: undefined })
    return possiblePorts(named).some((port) => expected.includes(port))
  })
}

/** The address of a server as a URI of Hadoop. */
function webAddress(url: string): Address {
  const { scheme, host, port } = parseAddress(url)
  const isSecure = scheme === 'https'
  return { scheme: isSecure ? 'swebhdfs' : 'webhdfs', host, port: port ?? (isSecure ? 443 : 80) }
}

function possiblePorts({ scheme, port }: Address): readonly number[] {
  return port === undefined ? (DEFAULT_PORTS[scheme] ?? [0]) : [port]
}

function parseAddress(uri: string): Address {
  const [, scheme = '', authority = ''] = NAME.exec(uri) ?? []
  return { scheme: scheme.toLowerCase(), ...splitAuthority(authority) }
}

/** Host names are compared without regard to case and to the dot of the DNS root. */
function splitAuthority(authority: string): { host: string; port: number | undefined } {
  const [, host = '', port = ''] = /^(.*?)(?::(\d*))?$/s.exec(authority) ?? []
  return { host: host.toLowerCase().replace(/\.$/, ''), port: port === '' ? undefined : Number(port) }
}
