/** Finds the DataSource of a claim, the claims of a DataSource, and the name of the DataSource for a query. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { apiVersionOf } from '../api/meta.ts'
import { jsonEqual, without } from '../base/json.ts'
import { boundSourceOf, queryKey, queryOfClaim } from '../core/data-source-claim/keys.ts'
import { nameOfSource, queryKeyOfClaim, queryKeyOfSource } from '../store/kinds/query-key.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'

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
  const key = queryKeyOfSource(source)
  const bound = store.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? '')
  return [...store.byIndex(dataSourceClaims, 'source', key), ...bound.filter((claim) => queryKeyOfClaim(claim) !== key)]
}

/**
 * Yields the claims whose answer a change of a source may change. Most changes are a new claim, or a new time at which a data system confirmed
 * its answer. That time concerns claims with a limit of age only.
 */
export function* claimsConcerned(change: StoreChange, store: ObjectStore): Generator<DataSourceClaim> {
  const [before, after] = [change.before, change.after] as (DataSource | undefined)[]
  const [was, is] = [before, after].map((source) => source && queryKey(source.spec))
  const sources = was === is ? [after] : [before, after]
  const isConfirmed = before && after && isSameAnswer(before, after)
  for (const source of sources) {
    if (!source) continue
    for (const claim of claimsOfSource(source, store))
      if (!isConfirmed || claim.spec.policy?.maxStalenessSeconds !== undefined) yield claim
  }
}

/** Whether two states of a source differ at most in what no decision reads: the time of the answer, and the claims. */
function isSameAnswer(before: DataSource, after: DataSource): boolean {
  const read = ({ metadata, status = {}, ...rest }: DataSource) => ({
    ...rest,
    metadata: without(metadata, 'resourceVersion'),
    status: without(status, 'lastResolvedTime', 'claimRefs', 'boundClaims'),
  })
  return jsonEqual(read(before), read(after))
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

/**
 * Returns the names of the sources that a change of a claim concerns: the answering ones and the bound one, before and after it. A new status
 * only concerns a source that gains or loses a bound claim with another query.
 */
export function sourceNamesOfChange(change: StoreChange, store: ObjectStore): string[] {
  const [before, after] = [change.before, change.after] as (DataSourceClaim | undefined)[]
  const claims = [before, after].filter((claim) => claim !== undefined)
  if (!before || !after || !isSameButStatus(before, after))
    return claims.flatMap((claim) => sourceNamesOfClaim(claim, store))
  const [was, is] = [before, after].map(({ status }) => status?.boundDataSource)
  if (was === is) return []
  const matching = sourcesFor(after, store).map(({ metadata }) => metadata.name)
  return [was, is].filter((name) => name !== undefined).filter((name) => !matching.includes(name))
}

function isSameButStatus(before: DataSourceClaim, after: DataSourceClaim): boolean {
  const read = ({ metadata, spec }: DataSourceClaim) => [without(metadata, 'resourceVersion'), spec]
  return jsonEqual(read(before), read(after))
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
