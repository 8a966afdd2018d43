/** Recovers the base of a write: the affinity before narrowing. */
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { jsonEqual } from '../json.ts'
import { affinityOf } from '../placement/affinity.ts'
import { nameGroups } from '../placement/group-names.ts'
import { widenedBy } from '../placement/widened.ts'
import { narrowBase } from './narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from './parse-input.ts'

/** A possible base of a write. It is the base if the decision for it meets the condition. */
export interface BaseCandidate {
  base: PlacementAffinity
  /**
   * - answered: the decision gives the incoming affinity, and writes the base into the annotations.
   * - answeredOrByLoop: as `answered`, or the loop of another replica sent the incoming affinity.
   * - withinPolicy: the decision stays within the policy, or within the incoming affinity.
   */
  condition: 'answered' | 'answeredOrByLoop' | 'withinPolicy'
}

export interface BaseCandidates {
  /** At most two. The first whose condition is met is the base. */
  conditional: readonly BaseCandidate[]
  /** The base if no condition is met. */
  otherwise: PlacementAffinity
}

/** The decision for a base: the affinity, and the base in its annotations. */
interface BaseDecision {
  affinity: PlacementAffinity
  annotations: { base?: PlacementAffinity }
}

/**
 * Lists the candidates for the base of a write.
 *
 * Karmada's detector sends the policy's placement at every reconcile and keeps annotations. Every other writer sends the stored
 * placement, which Lodestone has narrowed. When a later webhook changes the object, the API server sends the first answer a second time
 * (reinvocation). The loop sends its own decision, which may be newer than this replica's caches. Therefore:
 * - A changed affinity is the new base, unless it is the decision for the base in its annotation.
 * - For an unchanged affinity, the base is that of the policy if the policy is known and not lazy, else the base in the annotation.
 */
export function baseCandidates(input: ParsedInput): BaseCandidates {
  const { binding, stored, storedAnnotations } = input
  const incoming = affinityOf(binding.spec.placement)
  const annotated = input.annotations.base
  if (stored === undefined || !jsonEqual(incoming, affinityOf(stored.spec.placement))) {
    return { conditional: annotated ? [{ base: annotated, condition: 'answeredOrByLoop' }] : [], otherwise: incoming }
  }
  const conditional: BaseCandidate[] = []
  // Reinvocation: the decision for a new base can equal the stored affinity. This widens nothing, since the affinity is the stored one. The
  // next write uses the base of the policy again.
  if (annotated && !jsonEqual(annotated, storedAnnotations.base))
    conditional.push({ base: annotated, condition: 'answered' })
  if (input.policy && !input.policy.lazy) return { conditional, otherwise: affinityOf(input.policy.placement) }
  if (storedAnnotations.base) conditional.push({ base: storedAnnotations.base, condition: 'withinPolicy' })
  return { conditional, otherwise: incoming }
}

/** Whether the decision for a candidate meets its condition. */
export function meetsCondition(
  input: ParsedInput,
  { base, condition }: BaseCandidate,
  decision: BaseDecision,
): boolean {
  const incoming = affinityOf(input.binding.spec.placement)
  switch (condition) {
    case 'answered':
      return isAnswered(decision, incoming)
    case 'answeredOrByLoop':
      return isAnswered(decision, incoming) || isByLoop(input, base, incoming)
    case 'withinPolicy':
      return isTrusted(input, decision.affinity, incoming)
  }
}

/**
 * Whether a decision gives the incoming affinity. A decision without a base in its annotations did not change the affinity, so it is no
 * explanation of the incoming one.
 */
function isAnswered({ affinity, annotations }: BaseDecision, incoming: PlacementAffinity): boolean {
  return annotations.base !== undefined && jsonEqual(affinity, incoming)
}

/**
 * Whether the loop of another replica sent this affinity. That replica may have decided from claims and sources that this replica has not
 * cached yet. The new locality annotation in the same write then explains the affinity.
 */
function isByLoop(input: ParsedInput, annotated: PlacementAffinity, incoming: PlacementAffinity): boolean {
  const { binding, stored, annotations } = input
  const { locality } = annotations
  if (!stored || !locality || localityText(binding) === localityText(stored)) return false
  const { narrowing } = narrowBase(input, annotated, constraintIn(locality))
  const explains = (affinity: PlacementAffinity) => jsonEqual(nameGroups(affinity, locality.round ?? 0), incoming)
  return (
    ((locality.state === 'Relaxed' && explains(annotated)) ||
      (narrowing.kind === 'narrowed' && explains(narrowing.affinity))) &&
    isTrusted(input, annotated, incoming)
  )
}

function localityText({ metadata }: ResourceBinding): string | undefined {
  return metadata.annotations?.[LOCALITY_ANNOTATION]
}

/** Whether a result stays within the policy or within the incoming affinity. A forged annotation must not widen a placement. */
function isTrusted(
  { policy, clusters, usesOverflow, rules }: ParsedInput,
  result: PlacementAffinity,
  incoming: PlacementAffinity,
): boolean {
  const within = (outer: PlacementAffinity) => widenedBy(outer, result, clusters, usesOverflow, rules).length === 0
  return policy === undefined || within(affinityOf(policy.placement)) || within(incoming)
}
