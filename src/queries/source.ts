/** Finds the DataSource of a claim, the claims of a DataSource, and the name of the one for a query. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { boundSourceOf, questionOfClaim } from '../core/data-source-claim/keys.ts'
import { nameOfSource, queryKeyOfClaim, queryKeyOfSource } from '../store/kinds/query-key.ts'
import type { ObjectStore } from '../store/store.ts'

export { nameOfSource }

/**
 * The source that a claim is bound to, else one that answers the same query: of several the one with the name that Lodestone gives it,
 * else the one with the lowest name. So the order in which they were created or read does not matter.
 */
export function sourceOf(claim: DataSourceClaim, store: ObjectStore): DataSource | undefined {
  const bound = boundSourceOf(claim)
  const source = bound ? store.get(dataSources, undefined, bound) : undefined
  return source ?? preferred(claim, sourcesFor(claim, store))
}

/** The sources that answer the query of a claim. */
export function sourcesFor(claim: DataSourceClaim, store: ObjectStore): readonly DataSource[] {
  return store.byIndex(dataSources, 'key', queryKeyOfClaim(claim))
}

function preferred(claim: DataSourceClaim, sources: readonly DataSource[]): DataSource | undefined {
  if (sources.length < 2) return sources[0]
  const canonical = nameOfSource(questionOfClaim(claim))
  const nameOf = ({ metadata }: DataSource) => metadata.name ?? ''
  return (
    sources.find((source) => nameOf(source) === canonical) ??
    sources.reduce((lowest, source) => (nameOf(source) < nameOf(lowest) ? source : lowest))
  )
}

/** The claims that ask a source's question, and those that are bound to it. */
export function claimsOfSource(source: DataSource, store: ObjectStore): DataSourceClaim[] {
  const asking = store.byIndex(dataSourceClaims, 'source', queryKeyOfSource(source))
  const bound = store.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? '')
  return [...new Set([...asking, ...bound])]
}
