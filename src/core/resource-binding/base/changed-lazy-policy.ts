/** The base after a lazy policy changed. Karmada applies such a policy with the next change of the workload: until then, no policy shows the base. */
import type { PlacementAffinity, ResourceBinding } from '../../../api/karmada.ts'
import { defined, jsonEqual, without } from '../../../base/json.ts'
import { cut } from '../../outcome.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import { decidePlacement } from '../decide-placement.ts'
import { MAX_MESSAGE_LENGTH } from '../hold-cause.ts'
import { isRefused, isUnfit } from '../narrow-to-fit.ts'
import type { ParsedInput } from '../parse-input.ts'
import { type PlacementDecision, storedBase } from '../placement-decision.ts'
import { type BaseCandidate, meetsCondition } from './conditions.ts'
import { appliesLazyPolicy, bringsUnknownPlacement, changesOtherFields, localityText } from './writers.ts'

/** The base of a write, and the decision for it. */
export interface DecisionForBase {
  base: PlacementAffinity
  decision: PlacementDecision
}

/**
 * The recorded base may be outside of a changed lazy policy. Then it does not count in the next review of what the loop sent, so neither does it in
 * this one. Returns the stored binding with the affinity that the loop sent; undefined if the base counts.
 */
export function storedByLoop(
  parsed: ParsedInput,
  { base, condition }: BaseCandidate,
  byLoop: () => PlacementDecision,
): ResourceBinding | undefined {
  const { binding, stored, policy, storedAnnotations } = parsed
  if (condition !== 'answeredOrByLoop' || !policy?.lazy || !stored || !jsonEqual(base, storedAnnotations.base))
    return undefined
  const { placement } = binding.spec
  if (jsonEqual(effectiveAffinity(placement), effectiveAffinity(stored.spec.placement))) return undefined
  if (meetsCondition(parsed, { base, condition: 'withinPolicy' }, byLoop())) return undefined
  return withSentPlacement(stored, binding)
}

/**
 * Reinvocation: a write may be our answer to a write of the loop whose base did not count (`storedByLoop`). Returns the input for which that answer
 * was decided; undefined for any other write. The detector sends the stored annotation, so its writes are none.
 */
export function inputBeforeAnswer(parsed: ParsedInput): ParsedInput | undefined {
  const { binding, stored, policy, annotations, storedAnnotations } = parsed
  if (!policy?.lazy || !stored || !annotations.base || !jsonEqual(annotations.base, storedAnnotations.base))
    return undefined
  if (localityText(binding) === localityText(stored) || changesOtherFields(binding, stored)) return undefined
  const [incoming, before] = [binding, stored].map(({ spec }) => effectiveAffinity(spec.placement))
  return jsonEqual(incoming, before) ? undefined : { ...parsed, stored: withSentPlacement(stored, binding) }
}

function withSentPlacement(stored: ResourceBinding, { spec: { placement } }: ResourceBinding): ResourceBinding {
  return { ...stored, spec: defined({ ...stored.spec, placement }) }
}

/**
 * A base that is outside of a changed lazy policy does not count now, and stays recorded: it is the placement that Karmada has applied. The stored
 * affinity counts instead, also after no claim demands a cluster any more.
 */
export function keepRecordedBase(parsed: ParsedInput, found: DecisionForBase): DecisionForBase {
  const { stored, policy, storedAnnotations, isScheduled } = parsed
  const { state, annotations } = found.decision
  const { base, locality: last } = storedAnnotations
  if (!policy?.lazy || !base || appliesLazyPolicy(parsed)) return found
  if (!stored || !jsonEqual(found.base, storedBase(parsed, stored))) return found
  if (annotations.base || annotations.hold)
    return { ...found, decision: { ...found.decision, annotations: { ...annotations, base } } }
  const kept = KEEPS_BASE.get(state)
  if (!kept || !last || !isScheduled || jsonEqual(base, found.base)) return found
  const message = cut(`${found.decision.message}; ${AWAITS_POLICY}`, MAX_MESSAGE_LENGTH)
  const claims = parsed.claims.map(({ claim }) => claim)
  const locality: LocalityAnnotation = { ...without(last, 'since'), state: kept, message, claims }
  return { ...found, decision: { ...found.decision, state: kept, annotations: { base, locality }, message } }
}

/** Decisions that would forget the base, and those that keep it until a changed lazy policy applies. */
const KEEPS_BASE = new Map<PlacementDecision['state'], 'Relaxed' | 'Kept'>([
  ['Restored', 'Relaxed'],
  ['Ignored', 'Kept'],
])

const AWAITS_POLICY = 'its lazy policy has changed, and applies with the next change of the workload'

/**
 * A lazy policy that changed waits for a change of its workload, and the base from before it may be outside of it. Such a base counts only if the
 * workload would have no cluster otherwise, and not when the detector applies the policy. Returns undefined if it does not count.
 */
export function decideForRecordedBase(
  parsed: ParsedInput,
  { affinity }: PlacementDecision,
): DecisionForBase | undefined {
  const { policy, isScheduled, storedAnnotations } = parsed
  const { base } = storedAnnotations
  if (!policy?.lazy || !base || !isScheduled || appliesLazyPolicy(parsed) || bringsUnknownPlacement(parsed))
    return undefined
  if (!isUnfit(parsed, affinity) && !isRefused(parsed, affinity)) return undefined
  const decision = decidePlacement(parsed, base)
  return isUnfit(parsed, decision.affinity) ? undefined : { base, decision }
}
