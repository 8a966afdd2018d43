/**
 * Finds the entry of a `locationMapping` that covers a location. The format of the file decides the matching: by whole segments in files of
 * Lodestone, by plain prefix in files of volcano-global.
 */
import { sortedUnique } from '../../base/json.ts'
import { type Location, parseLocation } from './location.ts'

/** Location prefix → clusters. */
export type LocationMapping = Readonly<Record<string, readonly string[]>>

/**
 * - segments: compares scheme family, authority and whole path segments.
 * - prefix: compares characters, as volcano-global does.
 */
export type LocationMatching = 'segments' | 'prefix'

export interface LocationMatch {
  /** The entries that cover the location: one, or several equivalent ones. */
  keys: readonly string[]
  /** Sorted. */
  clusters: readonly string[]
}

export interface LocationIndex {
  readonly matching: LocationMatching
  /** Returns the longest entry that covers a location; undefined if no entry covers it. The cost does not grow with the number of entries. */
  find(uri: string): LocationMatch | undefined
}

/** Compiles a mapping for many look-ups. */
export function indexLocations(mapping: LocationMapping, matching: LocationMatching): LocationIndex {
  return { matching, find: matching === 'prefix' ? prefixFinder(mapping) : segmentFinder(mapping) }
}

/**
 * Finds the longest key that the location begins with (volcano-global, pkg/controller/datadependency/plugins/amoro/amoro.go,
 * mapLocationToClusters). As there, an empty key matches nothing.
 */
function prefixFinder(mapping: LocationMapping): LocationIndex['find'] {
  const mappedClusters = new Map(Object.entries(mapping))
  const lengths = [...new Set([...mappedClusters.keys()].map((key) => key.length))]
    .filter((length) => length > 0)
    .sort((a, b) => b - a)
  return (uri) => {
    for (const length of lengths) {
      if (length > uri.length) continue
      const key = uri.slice(0, length)
      const clusters = mappedClusters.get(key)
      if (clusters !== undefined) return { keys: [key], clusters: sortedUnique(clusters) }
    }
    return undefined
  }
}

interface Entry {
  key: string
  scheme: string
  clusters: readonly string[]
}

/**
 * Finds the entries with the most segments, then those with the port of the location. Equivalent entries (`s3://wh/`, `s3a://wh`) are
 * combined, unless one has the location's own scheme.
 */
function segmentFinder(mapping: LocationMapping): LocationIndex['find'] {
  const entries = new Map<string, Entry[]>()
  let deepest = 0
  for (const [key, clusters] of Object.entries(mapping)) {
    const location = parseLocation(key)
    if (location === undefined) continue
    const { scheme, port, segments } = location
    const place = placeKey(location, port, segments)
    const equivalent = entries.get(place) ?? []
    equivalent.push({ key, scheme, clusters })
    entries.set(place, equivalent)
    deepest = Math.max(deepest, segments.length)
  }
  return (uri) => {
    const location = parseLocation(uri)
    if (location === undefined) return undefined
    const { scheme, segments } = location
    const ports = possiblePorts(location)
    for (let count = Math.min(deepest, segments.length); count >= 0; count--) {
      for (const itsPort of ports) {
        const covering = entries.get(placeKey(location, itsPort, segments.slice(0, count)))
        if (covering !== undefined) return combined(covering, scheme)
      }
    }
    return undefined
  }
}

/** The port of a NameNode if none is given (Hadoop, dfs.namenode.rpc-address). */
const NAME_NODE_PORT = '8020'

/** The ports of the entries that cover a location, the closest first: an entry without a port covers every port. */
function possiblePorts({ scheme, port }: Location): readonly (string | undefined)[] {
  if (port !== undefined) return [port, undefined]
  return scheme === 'hdfs' ? [undefined, NAME_NODE_PORT] : [undefined]
}

function combined(entries: readonly Entry[], scheme: string): LocationMatch {
  const same = entries.filter((entry) => entry.scheme === scheme)
  const best = same.length > 0 ? same : entries
  return { keys: best.map(({ key }) => key), clusters: sortedUnique(best.flatMap(({ clusters }) => clusters)) }
}

/** A key for entries of the same place. No part has a slash. */
function placeKey({ family, authority }: Location, port: string | undefined, segments: readonly string[]): string {
  return [family, authority, port ?? '', ...segments].join('/')
}

/** Returns the entries that are the match of none of the locations, in the order of the mapping. */
export function unmatchedKeys(mapping: LocationMapping, index: LocationIndex, locations: Iterable<string>): string[] {
  const unmatched = new Set(Object.keys(mapping))
  for (const location of locations) {
    if (unmatched.size === 0) return []
    for (const key of index.find(location)?.keys ?? []) unmatched.delete(key)
  }
  return [...unmatched]
}
