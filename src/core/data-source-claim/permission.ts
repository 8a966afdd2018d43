/** Decides to which workloads a claim is permitted to apply: by default only to those of its own namespace. */
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../../api/lodestone.ts'
import { type ClaimGrant, grants } from './grant.ts'
import { workloadsOfClaim } from './keys.ts'

/** Whether claims apply to cluster-scoped workloads, as configured. */
export type ClusterScopedClaims = 'allowed' | 'forbidden'

/** The inputs of a permission other than the claim. */
export interface ClaimRules {
  clusterScoped: ClusterScopedClaims
  /** Returns the grant of a namespace; undefined if it has none or the namespace is not cached. */
  grantOf(namespace: string): ClaimGrant | undefined
}

/** Whether a claim may apply to a workload that it names. */
export function permits(claim: DataSourceClaim, workload: WorkloadReference, rules: ClaimRules): boolean {
  const { namespace = '' } = claim.metadata
  if (!workload.namespace) return rules.clusterScoped === 'allowed'
  return workload.namespace === namespace || grants(rules.grantOf(workload.namespace), namespace)
}

/** Returns the workloads that a claim may name and is permitted to apply to. */
export function permittedWorkloads(claim: DataSourceClaim, rules: ClaimRules): WorkloadReference[] {
  return workloadsOfClaim(claim).filter((workload) => permits(claim, workload, rules))
}

/** Returns why a claim does not apply to a workload that it names, with the remedy; undefined if it applies. */
export function claimRefusal(
  claim: DataSourceClaim,
  workload: WorkloadReference,
  rules: ClaimRules,
): string | undefined {
  if (permits(claim, workload, rules)) return undefined
  const { namespace: target, kind, name } = workload
  if (!target) {
    return `${kind} ${name} is cluster-scoped, and claims apply to workloads of namespaces only; set claims.clusterScoped: allowed in the configuration of Lodestone`
  }
  const { namespace = '' } = claim.metadata
  const grant = rules.grantOf(target)
  if (grant?.kind === 'invalid') {
    return `annotation ${ALLOW_CLAIMS_FROM_ANNOTATION} of namespace ${target} is malformed and allows nothing: ${grant.problem}`
  }
  const wayOut = grant
    ? `add ${namespace} to its annotation ${ALLOW_CLAIMS_FROM_ANNOTATION}`
    : `allow them with: kubectl annotate namespace ${target} ${ALLOW_CLAIMS_FROM_ANNOTATION}=${namespace}`
  return `namespace ${target} does not allow claims of namespace ${namespace}; ${wayOut}`
}
