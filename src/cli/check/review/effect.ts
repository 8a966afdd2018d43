/** Finds out what happens to a workload of a hub: the decision of admission, and then that of the loop, which moves running workloads. */
import type { ResourceBinding } from '../../../api/karmada.ts'
import { jsonEqual, without } from '../../../base/json.ts'
import { strictestRules } from '../../../core/karmada-rules.ts'
import { effectiveAffinity } from '../../../core/placement/affinity.ts'
import { isScaledToZero, targetClusters, usesOverflow } from '../../../core/placement/binding-state.ts'
import { placementFilter } from '../../../core/placement/placement-filter.ts'
import { readDecision } from '../../../core/resource-binding/annotations.ts'
import { decideBinding } from '../../../core/resource-binding/decide.ts'
import { movedWorkload, staysBecause } from '../../../core/resource-binding/rebalance.ts'
import { clusterLookup, gatherBindingInput } from '../../../queries/binding.ts'
import type { GatherContext } from '../../../webhooks/define.ts'
import { storedBinding } from './review-derived.ts'
import type { Effect, ObjectReview, SessionInput } from './review-object.ts'

/** The number of workloads with each effect. */
export type EffectCounts = Readonly<Record<Effect, number>>

/** Returns the review of a binding with its effect, and the binding as the loop leaves it. A rejected binding has no effect. */
export async function withEffect(review: ObjectReview, context: SessionInput): Promise<ObjectReview> {
  if (review.outcome === 'denied') return review
  const admitted = review.after as ResourceBinding
  const { namespace, name = '' } = admitted.metadata
  const stored = await storedBinding(context.store, namespace, name)
  if (!stored) return { ...review, effect: review.decision === 'OnHold' ? 'waits' : 'placed' }
  const { state, binding, message } = decideBinding(
    gatherBindingInput(admitted, admitted, { ...context, kinds: context.workloads }),
  )
  const isSame = jsonEqual(stored, binding)
  const rest = without(review, 'decision', 'reason')
  return {
    ...rest,
    outcome: isSame ? 'allowed' : 'patched',
    ...(state === 'Untouched' ? {} : { decision: state, reason: message }),
    warnings: [],
    before: stored,
    after: isSame ? stored : binding,
    effect: effectOn(stored, binding, state, context),
  }
}

function effectOn(
  before: ResourceBinding,
  after: ResourceBinding,
  state: string,
  { store, karmadaRules = strictestRules }: GatherContext,
): Effect {
  if (state === 'OnHold') return 'waits'
  if (isScaledToZero(before.spec) && !isScaledToZero(after.spec)) return 'placed'
  const affinity = effectiveAffinity(after.spec.placement)
  if (jsonEqual(affinity, effectiveAffinity(before.spec.placement))) return 'unchanged'
  const lookup = clusterLookup(store)
  const filter = placementFilter(affinity, lookup, usesOverflow(after.spec, karmadaRules), karmadaRules)
  const isMoved = targetClusters(before.spec).some((name) => !filter.allows(name))
  return isMoved ? 'moves' : 'unchanged'
}

/** Whether the first narrowing would move a workload that `rebalance` would not move after its data. */
export function isMovedByFirstNarrowing(review: ObjectReview, context: SessionInput): boolean {
  const { effect, decision, before, after } = review
  const isFirst = readDecision(before.metadata.annotations).locality === undefined
  if (effect !== 'moves' || decision !== 'Narrowed' || !isFirst) return false
  const binding = after as ResourceBinding
  const input = gatherBindingInput(binding, binding, { ...context, kinds: context.workloads })
  return staysBecause(movedWorkload(input), input.claims, input.kinds) !== undefined
}

/** Counts the effects of reviews. */
export function countEffects(reviews: readonly Pick<ObjectReview, 'effect'>[]): EffectCounts {
  const counts = { moves: 0, waits: 0, placed: 0, unchanged: 0 }
  for (const { effect } of reviews) if (effect) counts[effect] += 1
  return counts
}
