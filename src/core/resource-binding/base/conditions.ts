/** The conditions of the possible bases of a write: a recorded base counts only if it explains the write, or widens nothing. */
import type { Cluster, PlacementAffinity } from '../../../api/karmada.ts'
import { jsonEqual } from '../../../base/json.ts'
import { affinityTerms, effectiveAffinity } from '../../placement/affinity.ts'
import { targetClusters } from '../../placement/binding-state.ts'
import { nameGroups } from '../../placement/group-names.ts'
import { widenedBy } from '../../placement/widened.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import { narrowBase } from '../narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from '../parse-input.ts'
import { type PlacementDecision, storedBase } from '../placement-decision.ts'
import { changesOtherFields, localityText } from './writers.ts'

/**
 * What makes a possible base the base of a write:
 * - answered: the decision gives the incoming affinity, and writes the base into the annotations.
 * - answeredOrByLoop: as `answered`, or Lodestone sent the incoming affinity: the loop of another replica, or an earlier call for this request.
 * - withinPolicy: the decision stays within the policy, or within the incoming affinity.
 * - keepsClusters: the decision allows each cluster in which the workload runs, if the incoming affinity does.
 */
export type BaseCondition = 'answered' | 'answeredOrByLoop' | 'withinPolicy' | 'keepsClusters'

/** A possible base of a write. It is the base if the decision for it meets the condition. */
export interface BaseCandidate {
  base: PlacementAffinity
  condition: BaseCondition
}

/** Whether the decision for a candidate meets its condition. */
export function meetsCondition(
  input: ParsedInput,
  { base, condition }: BaseCandidate,
  decision: PlacementDecision,
): boolean {
  const incoming = effectiveAffinity(input.binding.spec.placement)
  switch (condition) {
    case 'answered':
      return isAnswered(decision, incoming)
    case 'answeredOrByLoop':
      return isAnswered(decision, incoming) || isByLodestone(input, base, decision.affinity)
    case 'withinPolicy':
      return isTrusted(input, decision.affinity, incoming)
    case 'keepsClusters':
      return keepsClusters(input, decision.affinity, incoming)
  }
}

/**
 * Whether a decision gives the incoming affinity. A decision without a base in its annotations did not change the affinity, so it is no
 * explanation of the incoming one.
 */
function isAnswered({ affinity, annotations }: PlacementDecision, incoming: PlacementAffinity): boolean {
  return annotations.base !== undefined && jsonEqual(affinity, incoming)
}

/**
 * Whether Lodestone sent the incoming affinity, which the locality annotation in the same write explains:
 * - the loop of another replica did. That replica may have decided from claims, sources, Clusters and a policy that this replica has not cached
 *   yet. The annotation is new, or the state of a cluster is.
 * - an earlier call for this request did (reinvocation), and an input of the decision has changed since. The loop never creates a binding and never
 *   changes other fields, and the detector sends the stored annotations.
 */
function isByLodestone(input: ParsedInput, annotated: PlacementAffinity, decided: PlacementAffinity): boolean {
  const { binding, stored, policy, annotations, storedAnnotations } = input
  const { locality } = annotations
  if (!locality) return false
  const incoming = effectiveAffinity(binding.spec.placement)
  const isStoredBase = jsonEqual(annotated, storedAnnotations.base)
  const isNew = localityText(binding) !== localityText(stored)
  if (!stored || changesOtherFields(binding, stored)) {
    // Without a known policy, nothing shows that the base is not forged.
    const mayBeAnswer = policy !== undefined && (isNew || !isStoredBase)
    return mayBeAnswer && explains(input, annotated, locality, incoming) && isTrusted(input, annotated, incoming)
  }
  if (!isNew && !(isStoredBase && mayKnowOtherClusters(input, incoming))) return false
  if (!explains(input, annotated, locality, incoming)) return false
  // A lazy policy that has changed does not show whether the base was one of a policy. The affinity of a binding that has no base is its base. Whether a
  // recorded base counts is decided by `storedByLoop`.
  if (policy?.lazy && jsonEqual(annotated, storedAnnotations.base ?? storedBase(input, stored))) return true
  return isTrusted(input, annotated, incoming) || (isStoredBase && isTrusted(input, decided, incoming))
}

/** Whether a locality annotation and its base give an affinity, with the Clusters of this replica or with others. */
function explains(
  input: ParsedInput,
  base: PlacementAffinity,
  locality: LocalityAnnotation,
  affinity: PlacementAffinity,
): boolean {
  const gives = (unnamed: PlacementAffinity) => jsonEqual(nameGroups(unnamed, locality.round ?? 0), affinity)
  if (locality.state === 'Relaxed') return gives(base)
  for (const clusters of [input.clusters, undefined]) {
    const { narrowing } = narrowBase({ ...input, clusters }, base, constraintIn(locality))
    if (narrowing.kind === 'narrowed' && gives(narrowing.affinity)) return true
  }
  const required = new Set(locality.required)
  const terms = affinityTerms(affinity, input.usesOverflow)
  return terms.every(
    ({ clusterNames = [] }) => clusterNames.length > 0 && clusterNames.every((name) => required.has(name)),
  )
}

/**
 * Whether a write with the stored annotations may be from a loop that knows other states of the Clusters. It names a cluster that is new. Or the policy
 * is lazy, and the workload has not changed: then the detector applies no other placement. No later write would bring the base back.
 */
function mayKnowOtherClusters(
  { binding, stored, clusters, policy }: ParsedInput,
  affinity: PlacementAffinity,
): boolean {
  if (policy?.lazy && jsonEqual(binding.spec.resource, stored?.spec.resource)) return true
  const names = affinityTerms(affinity, true).flatMap(({ clusterNames }) => clusterNames ?? [])
  return clusters !== undefined && names.some((name) => clusters(name) === undefined)
}

/** Whether a result stays within the policy or within the incoming affinity. A forged annotation must not widen a placement. */
function isTrusted(input: ParsedInput, result: PlacementAffinity, incoming: PlacementAffinity): boolean {
  const { policy } = input
  return (
    policy === undefined ||
    isWithin(input, effectiveAffinity(policy.placement), result) ||
    isWithin(input, incoming, result)
  )
}

function keepsClusters(
  { binding, clusters, usesOverflow, rules }: ParsedInput,
  result: PlacementAffinity,
  incoming: PlacementAffinity,
): boolean {
  const excluded = new Set(widenedBy(result, incoming, clusters, usesOverflow, rules))
  return excluded.size === 0 || !targetClusters(binding.spec).some((name) => excluded.has(name))
}

/**
 * Whether a result stays within an affinity, in a world where each cluster that it names may join and match its selectors. A forged base
 * could name one that does not exist yet, or add a selector that matches nothing today. Overflow tiers count when the binding gets replicas.
 */
export function isWithin(
  { clusters, usesOverflow, rules }: ParsedInput,
  outer: PlacementAffinity,
  result: PlacementAffinity,
): boolean {
  const lookup = clusters && ((name: string) => clusters(name) ?? JOINING)
  return [...new Set([usesOverflow, true])].every((countsTiers) => {
    const own = new Set(affinityTerms(outer, countsTiers).map((term) => JSON.stringify(term)))
    const others = affinityTerms(result, countsTiers).filter((term) => !own.has(JSON.stringify(term)))
    if (others.length === 0) return true
    const named = others.map(({ clusterNames, ...selectors }, i) => ({
      affinityName: `${i}`,
      ...(clusterNames?.length ? { clusterNames } : selectors),
    }))
    return widenedBy(outer, { clusterAffinities: named }, lookup, countsTiers, rules).length === 0
  })
}

const JOINING: Cluster = { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: {}, spec: {} }
