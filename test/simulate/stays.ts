// Checks that a running workload stays with its data while it can, and that a hold ends as a whole.
import { isDeepStrictEqual } from 'node:util'
import { allowedBy, isLedToEviction } from './accepts.ts'
import {
  HOLD,
  hasActiveHold,
  isPlaced,
  isRequired,
  isSameAffinity,
  nameOf,
  stateOf,
  viewOf,
  withAffinities,
} from './bindings.ts'
import { type AppliedClaim, claimsOf, locate } from './claims.ts'
import { policyNameOf } from './detector.ts'
import { APPLIED_PLACEMENT, type Binding, type Cluster, isDuplicated, namesOf, occupiedBy } from './karmada.ts'
import type { Replica } from './replica.ts'
import { lacksWeight, schedule } from './schedule.ts'
import { minus } from './sets.ts'
import { Violation } from './violation.ts'

// Checks a write that Lodestone sends or admits. Throws Violation.
export function checkStays(stored: Binding | undefined, sent: Binding, after: Binding, replica: Replica): void {
  checkSuspension(sent, after)
  if (!stored || !isPlaced(stored) || !isPlaced(after) || after.metadata.deletionTimestamp || !isRequired(stored))
    return
  // A workload without a claim gets its policy back, as one that only prefers data which is nowhere. It is relaxed until it runs again.
  const isDemanding = ({ required, claim }: AppliedClaim) =>
    required || locate(claim, viewOf(replica)).kind !== 'nowhere'
  if (claimsOf(after, viewOf(replica)).some(isDemanding)) checkRelaxed(stored, after, [...replica.clusters.values()])
  checkKnown(stored, after, replica)
}

// docs/concepts/claims.md: a narrowed workload is relaxed only if no cluster of its narrowing can take it, or if the policy allows none of them.
// It is relaxed too if the scheduler has found no cluster for it, or does not move it there since its policy is gone.
function checkRelaxed(stored: Binding, after: Binding, clusters: readonly Cluster[]): void {
  if (!['Narrowed', 'Kept'].includes(stateOf(stored) ?? '') || stateOf(after) !== 'Relaxed') return
  const [before, base] = [stored.spec.placement ?? {}, after.spec.placement ?? {}]
  // After its last claim is gone, a workload whose lazy policy has changed keeps its placement until the policy applies.
  if (isSameAffinity(stored, after)) return
  // With groups, the answer depends on the one that the scheduler observed.
  if (before.clusterAffinities || base.clusterAffinities) return
  if (minus(allowedBy(before, clusters), allowedBy(base, clusters)).size > 0) return
  const isMoved = (after.spec.clusters ?? []).every(({ name }) => allowedBy(before, clusters).has(name))
  if (!isMoved && policyNameOf(after) === undefined) return
  const names = [...allowedBy(before, clusters)]
  const ofBase = clusters.filter((cluster) => allowedBy(base, [cluster]).size > 0)
  if (lacksWeight(after, base, names, ofBase)) return
  const unrelaxed = withAffinities(after, before)
  const result = schedule(unrelaxed, clusters)
  if (result.kind === 'fit' && isLedToEviction(namesOf(result.clusters), unrelaxed, unrelaxed.spec.placement, clusters))
    return
  if (result.kind === 'fit' && !isRefused(stored, unrelaxed)) {
    throw new Violation(
      'relaxed-if-unfit',
      `${nameOf(after)}: it is relaxed although it could run in ${namesOf(result.clusters)}, where its data is`,
    )
  }
}

// Whether the scheduler has found no cluster for this placement.
function isRefused({ status, spec: { replicas } }: Binding, { metadata, spec }: Binding): boolean {
  const failure = status?.conditions?.find(({ status: holds }) => holds === 'False')
  const isScaled = !isDuplicated(spec.placement ?? {}) && spec.replicas !== replicas
  // The scheduler does not record a placement whose clusters lack room. It also scales no workload that waits for their room elsewhere.
  if (failure && failure.reason !== 'NoClusterFit') return occupiedBy({ spec }).length === 0 || isScaled
  const hasFailed = failure !== undefined
  const tried = JSON.parse(metadata.annotations?.[APPLIED_PLACEMENT] ?? 'null')
  return hasFailed && !spec.clusters?.length && isDeepStrictEqual(tried, spec.placement)
}

// README: a location that becomes unknown releases no running workload.
function checkKnown(stored: Binding, after: Binding, replica: Replica): void {
  if (stateOf(after) !== undefined) return
  const view = viewOf(replica)
  const claims = claimsOf(after, view).filter(({ isDeleting }) => !isDeleting)
  const unknown = claims.find(({ claim, required }) => required && locate(claim, view).kind === 'unknown')
  if (!unknown) return
  const added = [...minus(allowed(after, replica), allowed(stored, replica))]
  if (added.length > 0) {
    throw new Violation(
      'stays-if-unknown',
      `${nameOf(after)}: it may start in ${added} since ${unknown.claim.metadata.name} is unknown`,
    )
  }
}

// A hold is an annotation and a suspension. Lodestone removes both.
function checkSuspension(sent: Binding, after: Binding): void {
  if (!hasActiveHold(sent) || after.metadata.annotations?.[HOLD] !== undefined) return
  if (sent.spec.suspension?.scheduling === true && after.spec.suspension?.scheduling === true) {
    throw new Violation('hold-ends', `${nameOf(after)}: its hold ends, and it stays suspended`)
  }
}

function allowed({ spec }: Binding, { clusters }: Replica): Set<string> {
  return allowedBy(spec.placement ?? {}, clusters.values())
}
