/** Lists the possible bases of a write: the affinity before narrowing is the incoming one, a recorded one, or that of the policy. */
import type { PlacementAffinity, ResourceBinding } from '../../../api/karmada.ts'
import { jsonEqual } from '../../../base/json.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import type { ParsedInput } from '../parse-input.ts'
import { storedBase } from '../placement-decision.ts'
import { policyReferenceOf } from '../policy.ts'
import { excludedClusters } from '../volcano-global.ts'
import { type BaseCandidate, isWithin } from './conditions.ts'
import { appliesLazyPolicy, changesOtherFields, isOfDetector } from './writers.ts'

interface BaseCandidates {
  /** At most four. The first whose condition is met is the base. */
  conditional: readonly BaseCandidate[]
  /** The base if no condition is met. */
  otherwise: PlacementAffinity
}

/**
 * Lists the candidates for the base of a write.
 *
 * Karmada's detector sends the policy's placement at every reconcile and keeps annotations. Every other writer sends the stored
 * placement, which Lodestone has narrowed. When a later webhook changes the object, the API server sends the first answer a second time
 * (reinvocation). The inputs of the decision may have changed since. The loop sends its own decision, which may be newer than this replica's
 * caches. Therefore:
 * - A changed affinity is the new base, unless it is the decision for the base in its annotation. So is one that comes with other changes of the
 *   placement. The affinity of a new policy can equal the narrowed one, and this replica may not have the policy yet.
 * - For an unchanged affinity that Lodestone or volcano-global has narrowed, the loop takes the placement of the policy for the base. So each
 *   base is corrected sooner or later. The loop reads the policy from the API server before such a write (`differsFromPolicy`).
 * - Admission takes the base in the annotation, or the policy if it allows less. A replica may have an older policy than the stored affinity.
 *   If it has a newer one, the detector writes that soon. A lazy policy counts only when the detector writes it: with a change of the workload.
 */
export function baseCandidates(input: ParsedInput): BaseCandidates {
  const { binding, stored } = input
  const incoming = effectiveAffinity(binding.spec.placement)
  if (!stored || !jsonEqual(incoming, effectiveAffinity(stored.spec.placement))) return candidatesOfNew(input, incoming)
  // A write that takes the policy from a binding brings no other placement.
  const hasPolicy = policyReferenceOf(binding.metadata) !== undefined
  const isNew = (hasPolicy && changesOtherFields(binding, stored)) || appliesLazyPolicy(input)
  return isNew ? candidatesOfNew(input, incoming) : candidatesOfStored(input, stored)
}

/** The candidates for an affinity that is another than the stored one, or that a policy brings anew. */
function candidatesOfNew(input: ParsedInput, incoming: PlacementAffinity): BaseCandidates {
  const { stored, annotations, storedAnnotations, policy } = input
  const annotated = annotations.base
  if (!annotated || isOfDetector(input)) return { conditional: [], otherwise: incoming }
  const ours: BaseCandidate[] = [{ base: annotated, condition: 'answeredOrByLoop' }]
  // Reinvocation: the recorded base did not count (`keepRecordedBase`).
  if (stored && policy?.lazy && jsonEqual(annotated, storedAnnotations.base))
    ours.push({ base: storedBase(input, stored), condition: 'answered' })
  return { conditional: ours, otherwise: incoming }
}

/** The candidates for an affinity that is the stored one. */
function candidatesOfStored(input: ParsedInput, stored: ResourceBinding): BaseCandidates {
  const otherwise = storedBase(input, stored)
  const annotated = input.annotations.base
  const { base } = input.storedAnnotations
  const ofPolicy = policyInForce(input)
  const conditional: BaseCandidate[] = []
  // Reinvocation: the decision for a new base can equal the stored affinity. This widens nothing, since the affinity is the stored one. The
  // next write uses the base of the policy again.
  if (annotated && !jsonEqual(annotated, base)) conditional.push({ base: annotated, condition: 'answered' })
  // The usual case: there is nothing to choose.
  if (base && ofPolicy && jsonEqual(base, ofPolicy)) return { conditional, otherwise: base }
  const isLoop = !input.leavesMovesToLoop
  const isNarrowed = base !== undefined || excludedClusters(stored.metadata.annotations).size > 0
  if (ofPolicy && isLoop && isNarrowed) return { conditional, otherwise: ofPolicy }
  const mayReplace = base ? ofPolicy && isWithin(input, base, ofPolicy) : isLoop
  if (ofPolicy && mayReplace) conditional.push({ base: ofPolicy, condition: 'answered' })
  if (!base) return { conditional, otherwise }
  conditional.push({ base, condition: 'withinPolicy' })
  if (ofPolicy) conditional.push({ base: ofPolicy, condition: 'keepsClusters' })
  return { conditional, otherwise }
}

/** The affinity of the policy; undefined for a policy that is unknown, or that applies only when the detector writes it. */
function policyInForce({ policy }: ParsedInput): PlacementAffinity | undefined {
  return policy && !policy.lazy ? effectiveAffinity(policy.placement) : undefined
}

/**
 * Whether the base of a stored binding is not the affinity of its policy. A replica that has an older policy than the binding cannot tell this
 * from a base that is wrong. So the policy must be read from the API server before the loop writes.
 */
export function differsFromPolicy(input: ParsedInput): boolean {
  const ofPolicy = policyInForce(input)
  const base = input.storedAnnotations.base ?? effectiveAffinity(input.stored?.spec.placement)
  return ofPolicy !== undefined && !jsonEqual(base, ofPolicy)
}
