/** Parses a location URI into scheme family, authority and path segments, and finds keys of a mapping that can never match one. */

/**
 * Schemes of the same store have one family: they differ only in the client that wrote the table. The paths of `viewfs` are those of its mount
 * table, which may lead to any file system.
 */
const FAMILIES: Readonly<Record<string, string>> = {
  s3: 's3',
  s3a: 's3',
  s3n: 's3',
  gs: 'gs',
  gcs: 'gs',
  abfs: 'azure',
  abfss: 'azure',
  wasb: 'azure',
  wasbs: 'azure',
  hdfs: 'hdfs',
  webhdfs: 'hdfs',
  swebhdfs: 'hdfs',
  cos: 'cos',
  cosn: 'cos',
}

export interface Location {
  scheme: string
  family: string
  /** Bucket, container@account or host, in lower case. */
  authority: string
  /** Only for file systems. The port belongs to a protocol, so an entry without a port covers all ports. */
  port: string | undefined
  segments: readonly string[]
  /** The regions in the location itself: a bucket in several regions has several. */
  regions: readonly string[]
}

const URI = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/]*))?(\/.*)?$/is
const REGIONS = /\?region=([a-z0-9,_-]+)$/i

/** Parses a location, e.g. `s3://bucket/path`; undefined if the text is not a location. */
export function parseLocation(uri: string): Location | undefined {
  const regions = REGIONS.exec(uri)
  const match = URI.exec(regions === null ? uri : uri.slice(0, regions.index))
  if (match === null || (match[2] === undefined && match[3] === undefined)) return undefined
  const scheme = (match[1] ?? '').toLowerCase()
  const family = FAMILIES[scheme] ?? scheme
  return {
    scheme,
    family,
    ...splitAuthority((match[2] ?? '').toLowerCase(), family),
    segments: pathSegments(match[3] ?? ''),
    regions: regions?.[1]?.toLowerCase().split(',').filter(Boolean) ?? [],
  }
}

/**
 * Returns a location without credentials. Hadoop accepts keys of S3 in a location (`s3n://ID:SECRET@bucket/`). Azure and S3 accept a signature as a
 * parameter.
 */
export function withoutCredentials(uri: string): string {
  const query = uri.indexOf('?')
  const isSigned = query >= 0 && /sig(?:nature)?=/i.test(uri.slice(query))
  const unsigned = isSigned ? uri.slice(0, query) : uri
  const [match = '', scheme = '', user = ''] = /^([a-z][a-z0-9+.-]{0,31}:\/\/)([^/@]*)@/i.exec(unsigned) ?? []
  const isCredential = user.includes(':') || /^s3[an]?:/i.test(scheme)
  return isCredential ? scheme + unsigned.slice(match.length) : unsigned
}

/** The segments of a path, without empty ones. As in Hadoop (Path), a segment `..` leads to the one above. */
function pathSegments(path: string): string[] {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return segments
}

/** Returns a location that ends with the path of a user, which names no region. */
export function withoutRegions(uri: string): string {
  return uri.replace(REGIONS, (regions) => `%3F${regions.slice(1)}`)
}

/** Appends the regions to a location, so that its clusters can be found again without another query. */
export function withRegions(uri: string, regions: readonly string[]): string {
  return regions.length === 0 ? uri : `${uri}?region=${regions.join(',')}`
}

function splitAuthority(authority: string, family: string): { authority: string; port: string | undefined } {
  // An Azure account has both host names, with .dfs and .blob; drivers use either.
  if (family === 'azure') {
    return { authority: authority.replace(/\.(?:dfs|blob)\./, '.').replace(/:\d+$/, ''), port: undefined }
  }
  // The bucket may have its endpoint behind it. No name of a bucket has a dot there.
  if (family === 'oss' && authority.endsWith('.aliyuncs.com')) {
    return { authority: authority.slice(0, authority.indexOf('.')), port: undefined }
  }
  const port = family === 'hdfs' ? /:(\d+)$/.exec(authority) : null
  return port === null ? { authority, port: undefined } : { authority: authority.slice(0, port.index), port: port[1] }
}

/** Families whose locations begin with the name of a bucket. */
const BUCKETS: ReadonlySet<string> = new Set(['s3', 'gs', 'cos', 'oss', 'obs'])
/** Names of buckets begin and end with a letter or a digit, at every provider. No name has a wildcard. */
const BUCKET_NAME = /^[a-z0-9](?:[^\s*?]*[a-z0-9])?$/
/** A host or a name service. */
const HOST_NAME = /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[^\s*?]*[a-z0-9])?)$/

const WHOLE = 'keys match whole path segments, not parts of a name'

/** Returns why a key can never match a location, with the remedy; undefined if it can. Keys match by whole segments. */
export function problemOfLocationKey(key: string): string | undefined {
  const location = parseLocation(key)
  if (location === undefined) return 'must be a location such as s3://bucket/path'
  if (BUCKETS.has(location.family)) return bucketProblem(location)
  if (location.family === 'azure') return containerProblem(location)
  return location.family === 'hdfs' || location.family === 'viewfs' ? fileSystemProblem(location) : undefined
}

function bucketProblem({ scheme, authority }: Location): string | undefined {
  if (authority === '') return `can never match: it names no bucket; write ${scheme}://BUCKET for each bucket`
  if (BUCKET_NAME.test(authority)) return undefined
  return `can never match: no bucket has the name ${authority}; write whole names, because ${WHOLE}`
}

function containerProblem({ scheme, authority }: Location): string | undefined {
  if (/^[^@]+@[a-z0-9].*[a-z0-9]$/.test(authority)) return undefined
  return `can never match: locations of Azure begin with ${scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net; write both names`
}

/** A location without a host, such as hdfs:///path, belongs to the default file system of its reader. */
function fileSystemProblem({ scheme, authority, segments }: Location): string | undefined {
  if (authority === '') {
    if (segments.length > 0) return undefined
    return `can never match: it names no file system; write ${scheme}://NAMESERVICE for each file system`
  }
  if (HOST_NAME.test(authority)) return undefined
  return `can never match: no file system has the name ${authority}; write whole names, because ${WHOLE}`
}
