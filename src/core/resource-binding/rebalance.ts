/** Decides whether a scheduled workload moves when its data does. */
import type { BindingResource } from '../../api/karmada.ts'
import { groupOf } from '../../api/meta.ts'
import type { ClaimTerms } from '../data-source-claim/locate.ts'

/**
 * API groups whose kinds lose nothing by a move, since they run forever or do not run at all. A kind of any other group may run to
 * completion, and a move would discard its work.
 */
const MOVABLE_GROUPS = new Set(['', 'apps', 'networking.k8s.io', 'rbac.authorization.k8s.io'])
const UNMOVABLE_CORE_KINDS = new Set(['Pod'])

/** Whether every claim allows the workload to move: Always allows it, Never does not, Auto depends on the kind. */
export function mayMove(resource: BindingResource, claims: readonly ClaimTerms[]): boolean {
  return claims.every(({ rebalance }) => rebalance === 'Always' || (rebalance === 'Auto' && movesByDefault(resource)))
}

function movesByDefault({ apiVersion, kind }: BindingResource): boolean {
  const group = groupOf(apiVersion)
  return MOVABLE_GROUPS.has(group) && !(group === '' && UNMOVABLE_CORE_KINDS.has(kind))
}

/** Returns why a workload stays where it is after a failover; undefined if it returns to its data. */
export function staysAfterFailover(resource: BindingResource, claims: readonly ClaimTerms[]): string | undefined {
  const never = claims.find(({ failback }) => failback === 'Never')
  if (never) return `failback of ${never.claim} is Never`
  return mayMove(resource, claims) ? undefined : 'rebalance does not allow the workload to move back'
}
