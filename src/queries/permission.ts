/**
 * Finds the permitted claims of a workload, the reason why a claim is not permitted, and the claims that a change of a Namespace concerns.
 */
import { type DataSourceClaim, dataSourceClaims, type WorkloadReference } from '../api/data-source-claim.ts'
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../api/lodestone.ts'
import type { ResourceType } from '../api/meta.ts'
import { namespaces } from '../api/namespace.ts'
import type { GrantingNamespace } from '../core/data-source-claim/grant.ts'
import { workloadKey, workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import {
  type ClaimRules,
  type ClusterScopedClaims,
  claimRefusal,
  permits,
  permittedWorkloads,
} from '../core/data-source-claim/permission.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { bindingsOfWorkload } from './workload.ts'

/** Whether claims apply to cluster-scoped workloads; forbidden if undefined. */
export type ClusterScope = ClusterScopedClaims | undefined

/** The present rules. Only a claim for a workload of another namespace needs the cache of Namespaces. */
function claimRules(store: ObjectStore, clusterScoped: ClusterScope = 'forbidden'): ClaimRules {
  const type: ResourceType<GrantingNamespace> = namespaces
  return { clusterScoped, grantOf: (namespace) => store.get(type, undefined, namespace)?.claimGrant }
}

/** Returns the claims that name a workload and are permitted to. */
export function claimsFor(workload: WorkloadReference, store: ObjectStore, scope: ClusterScope): DataSourceClaim[] {
  const rules = claimRules(store, scope)
  return store
    .byIndex(dataSourceClaims, 'workload', workloadKey(workload))
    .filter((claim) => permits(claim, workload, rules))
}

/** Returns the workloads that a claim may name and is permitted to apply to. */
export function workloadsFor(claim: DataSourceClaim, store: ObjectStore, scope: ClusterScope): WorkloadReference[] {
  return permittedWorkloads(claim, claimRules(store, scope))
}

/** Returns why a claim does not apply to a workload that it names; undefined if it applies. */
export function refusalFor(
  claim: DataSourceClaim,
  workload: WorkloadReference,
  store: ObjectStore,
  scope: ClusterScope,
): string | undefined {
  return claimRefusal(claim, workload, claimRules(store, scope))
}

/**
 * Returns why a claim does not apply to its workload; undefined while it may apply to one. For a claim without `workload.namespace`, a
 * cluster-scoped workload counts only if it has a binding.
 */
export function refusalOfClaim(claim: DataSourceClaim, store: ObjectStore, scope: ClusterScope): string | undefined {
  const rules = claimRules(store, scope)
  for (const workload of workloadsOfClaim(claim)) {
    const refusal = claimRefusal(claim, workload, rules)
    if (refusal && (workload.namespace || bindingsOfWorkload(workload, store).length > 0)) return refusal
  }
  return undefined
}

/** Returns the claims of other namespaces whose permission a change of a Namespace may grant or revoke. */
export function claimsRegranted({ type, before, after }: StoreChange, store: ObjectStore): readonly DataSourceClaim[] {
  if (type.kind !== namespaces.kind) return []
  const [old, now] = [before, after].map((object) => object?.metadata.annotations?.[ALLOW_CLAIMS_FROM_ANNOTATION])
  const name = (after ?? before)?.metadata.name ?? ''
  return old === now ? [] : store.byIndex(dataSourceClaims, 'otherNamespace', name)
}
