/** Finds the keys of a `locationMapping` that can never match a location. */
import { type Location, parseLocation } from './location.ts'

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
