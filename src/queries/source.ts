/** Finds the DataSource of a claim, the claims of a DataSource, and the name of the DataSource for a query. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf, keyOfObject } from '../api/meta.ts'
import { boundSourceOf, queryOfClaim } from '../core/data-source-claim/keys.ts'
import { nameOfSource, queryKeyOfClaim, queryKeyOfSource } from '../store/kinds/query-key.ts'
import type { ObjectStore } from '../store/store.ts'

export { nameOfSource }

/**
 * Returns the source that a claim is bound to, or else a source with the same query. Of several, it prefers the one with the name that
 * Lodestone generates, then the lowest name. The order of creation does not matter.
 */
export function claimSource(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  const bound = boundSourceOf(claim)
  const source = bound ? store.get(dataSources, undefined, bound) : undefined
  return source ?? preferred(claim, sourcesFor(claim, store))
}

/** Returns the sources with the query of a claim. */
function sourcesFor(claim: DataSourceClaim, store: ObjectStore): readonly DataSource[] {
  return store.byIndex(dataSources, 'key', queryKeyOfClaim(claim))
}

function preferred(claim: DataSourceClaim, sources: readonly DataSource[]): DataSource | undefined {
  if (sources.length < 2) return sources[0]
  const canonical = nameOfSource(queryOfClaim(claim))
  const sourceName = ({ metadata }: DataSource) => metadata.name ?? ''
  return (
    sources.find((source) => sourceName(source) === canonical) ??
    sources.reduce((lowest, source) => (sourceName(source) < sourceName(lowest) ? source : lowest))
  )
}

/** Returns the claims with the query of a source, and the claims that are bound to it. */
export function claimsOfSource(source: DataSource, store: ObjectStore): DataSourceClaim[] {
  const matching = store.byIndex(dataSourceClaims, 'source', queryKeyOfSource(source))
  const bound = store.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? '')
  const known = new Set(matching.map(keyOfObject))
  return [...matching, ...bound.filter((claim) => !known.has(keyOfObject(claim)))]
}

/** Returns the name of a source, and the name of the source that replaces it after its deletion. */
export function namesAfter({ metadata, spec }: DataSource): string[] {
  return [...new Set([metadata.name ?? '', nameOfSource(spec)])]
}

/** Returns the names of the sources for a claim; if there is none, the name of the source to create. */
export function sourceNamesOfClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  const existing = sourcesFor(claim, store).map(({ metadata }) => metadata.name ?? '')
  const answering = existing.length > 0 ? existing : [nameOfSource(queryOfClaim(claim))]
  const bound = claim.status?.boundDataSource
  return bound && !answering.includes(bound) ? [...answering, bound] : answering
}

/** Returns the source to create with a name, for the query of a permitted claim; undefined if another source has that query. */
export function sourceToCreate(
  name: string,
  store: ObjectStore,
  isPermitted: (claim: DataSourceClaim) => boolean,
): DataSource | undefined {
  const claim = store
    .byIndex(dataSourceClaims, 'sourceName', name)
    .find((claim) => claim.metadata.deletionTimestamp === undefined && isPermitted(claim))
  if (!claim || sourcesFor(claim, store).length > 0) return undefined
  return {
    apiVersion: apiVersionOf(dataSources),
    kind: dataSources.kind,
    metadata: { name },
    spec: queryOfClaim(claim),
  }
}
