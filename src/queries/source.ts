/** Finds the DataSource of a claim, the claims of a DataSource, and the name of the one for a query. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf } from '../api/meta.ts'
import { boundSourceOf, queryOfClaim } from '../core/data-source-claim/keys.ts'
import { nameOfSource, queryKeyOfClaim, queryKeyOfSource } from '../store/kinds/query-key.ts'
import type { ObjectStore } from '../store/store.ts'

export { nameOfSource }

/**
 * The source that a claim is bound to, else a source with the same query. Of several, the one with the name that Lodestone gives it
 * counts, else the one with the lowest name. The order in which they were created or read does not matter.
 */
export function sourceOf(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  const bound = boundSourceOf(claim)
  const source = bound ? store.get(dataSources, undefined, bound) : undefined
  return source ?? preferred(claim, sourcesFor(claim, store))
}

/** The sources that answer the query of a claim. */
function sourcesFor(claim: DataSourceClaim, store: ObjectStore): readonly DataSource[] {
  return store.byIndex(dataSources, 'key', queryKeyOfClaim(claim))
}

function preferred(claim: DataSourceClaim, sources: readonly DataSource[]): DataSource | undefined {
  if (sources.length < 2) return sources[0]
  const canonical = nameOfSource(queryOfClaim(claim))
  const nameOf = ({ metadata }: DataSource) => metadata.name ?? ''
  return (
    sources.find((source) => nameOf(source) === canonical) ??
    sources.reduce((lowest, source) => (nameOf(source) < nameOf(lowest) ? source : lowest))
  )
}

/** The claims with the query of a source, and those that are bound to it. */
export function claimsOfSource(source: DataSource, store: ObjectStore): DataSourceClaim[] {
  const matching = store.byIndex(dataSourceClaims, 'source', queryKeyOfSource(source))
  const bound = store.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? '')
  return [...new Set([...matching, ...bound])]
}

/** The name of a source, and the name of the source that is created for its query after it is deleted. */
export function namesAfter({ metadata, spec }: DataSource): string[] {
  return [...new Set([metadata.name ?? '', nameOfSource(spec)])]
}

/** The names of the sources that answer a claim, and of the one to create where none does. */
export function sourceNamesOfClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  const existing = sourcesFor(claim, store).map(({ metadata }) => metadata.name ?? '')
  const answering = existing.length > 0 ? existing : [nameOfSource(queryOfClaim(claim))]
  const bound = claim.status?.boundDataSource
  return bound && !answering.includes(bound) ? [...answering, bound] : answering
}

/** The source to create with a name, for the query of a permitted claim; undefined where another source answers that query. */
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
