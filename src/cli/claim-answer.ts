/** What a command knows of the data of a claim, also if its user may not list DataSources or Namespaces. */
import { type DataSource, dataSources } from '../api/data-source.ts'
import type { DataSourceClaim } from '../api/data-source-claim.ts'
import { namespaces } from '../api/namespace.ts'
import { type ClaimAnswer, locateClaim } from '../core/data-source/locate.ts'
import { workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import { type ClusterScope, refusalOfClaim } from '../queries/permission.ts'
import { claimSource } from '../queries/source.ts'
import type { ObjectStore } from '../store/store.ts'
import { isHidden, whyHidden } from './hidden-kinds.ts'

export interface KnownAnswer extends ClaimAnswer {
  /** The DataSource, if it is shown. */
  source: DataSource | undefined
  sourceName: string | undefined
}

/** Returns the answer to a claim. If its DataSource is not shown, the answer is unknown, with what the status of the claim says. */
export function answerOfClaim(claim: DataSourceClaim, store: ObjectStore, now: number): KnownAnswer {
  const source = claimSource(claim, store)
  const known = { ...locateClaim(claim, source, now), source, sourceName: source?.metadata.name }
  const hidden = source ? undefined : whyHidden(store, dataSources)
  if (hidden === undefined) return known
  const said = claim.status?.conditions?.find(({ type }) => type === 'Resolved')?.message
  const reason = said ? `${hidden}; the status of the claim says: ${said}` : hidden
  return { ...known, sourceName: claim.status?.boundDataSource, answer: { kind: 'unknown', reason } }
}

/** Returns why a claim does not apply to its workload; undefined also if a Namespace would say so that is not shown. */
export function knownRefusal(claim: DataSourceClaim, store: ObjectStore, scope: ClusterScope): string | undefined {
  const own = claim.metadata.namespace
  const asksNamespace = workloadsOfClaim(claim).some(({ namespace }) => namespace && namespace !== own)
  return asksNamespace && isHidden(store, namespaces) ? undefined : refusalOfClaim(claim, store, scope)
}
