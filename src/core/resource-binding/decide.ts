/** Decides on a binding, at admission and in the loop: returns the changed binding and the reason. */
import { MANAGED_BY_LABEL, type Placement, type PlacementAffinity, type ResourceBinding } from '../../api/karmada.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { cut, decisionInWords, type Outcome } from '../outcome.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { widenedBy } from '../placement/widened.ts'
import { areOursEqual, type DecidedAnnotations, hasOurAnnotations } from './annotations.ts'
import { decideForBase } from './base/choose-base.ts'
import { activeHold, holdNotHonored, withoutClusters } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import { type ParsedInput, parseInput } from './parse-input.ts'
import type { PlacementDecision, PlacementState } from './placement-decision.ts'
import { holdTooLarge, lacksRequiredClaim } from './rules/not-scheduled.ts'
import { decideOrphaned } from './rules/orphaned.ts'
import { writeDecision } from './write.ts'

export interface BindingDecision {
  /**
   * Untouched: the binding has neither a claim nor an annotation of ours. Widened: a defect of Lodestone was detected; nothing is changed.
   */
  state: PlacementState | 'Untouched' | 'Widened'
  /** The binding after the decision: the same object if nothing changes. */
  binding: ResourceBinding
  /** The reason, as a sentence; empty for an untouched binding. */
  message: string
  /** Our annotations on the binding after the decision; absent if the decision did not write them. */
  decided?: DecidedAnnotations
}

/**
 * Decides on a binding. Changes only the affinity, `suspension.scheduling` and our annotations; everything else is shared with the input.
 *
 * A decision on the result changes nothing. If the requester changes our annotations, they may contradict the stored binding. The decision
 * is then repeated until the result is stable: once for a write of the loop, two or three times for forged annotations.
 */
export function decideBinding(input: BindingInput): BindingDecision {
  const onHold = input.leavesMovesToLoop ? decideNotHonored(input) : undefined
  if (onHold) return onHold
  let decision = decideOnce(input)
  if (areOursEqual(input.binding.metadata.annotations, input.stored?.metadata.annotations)) return decision
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = decideOnce({ ...input, binding: decision.binding })
    if (next.binding === decision.binding) break
    decision = next
  }
  return decision
}

const MAX_ROUNDS = 4

/**
 * Decides on a workload that was scheduled although it is on hold, as if it was not scheduled. Returns undefined if the hold was honored,
 * or if its cause is gone.
 */
export function decideUnscheduled(input: BindingInput): BindingDecision | undefined {
  const { binding, stored } = input
  if (!stored || !holdNotHonored(stored) || !activeHold(binding)) return undefined
  const unscheduled = { binding: withoutClusters(binding), stored: withoutClusters(stored) }
  const decision = decideBinding({ ...input, ...unscheduled, leavesMovesToLoop: false })
  return decision.state === 'OnHold' ? decision : undefined
}

/** Keeps a hold that was not honored, and the clusters of the request: the loop reports it and decides whether to remove the clusters. */
function decideNotHonored(input: BindingInput): BindingDecision | undefined {
  const decision = decideUnscheduled(input)
  if (!decision) return undefined
  const { clusters } = input.binding.spec
  const binding = { ...decision.binding, spec: defined({ ...decision.binding.spec, clusters }) }
  return { ...decision, binding: jsonEqual(binding, input.binding) ? input.binding : binding }
}

function decideOnce(input: BindingInput): BindingDecision {
  const { binding } = input
  const untouched: BindingDecision = { state: 'Untouched', binding, message: '' }
  const { placement } = binding.spec
  if (!placement || binding.metadata.deletionTimestamp || binding.metadata.labels?.[MANAGED_BY_LABEL] !== undefined) {
    return untouched
  }
  const known = hasOurAnnotations(binding.metadata.annotations) || hasOurAnnotations(input.stored?.metadata.annotations)
  // Nearly every binding of a hub ends here: it has no claim.
  if (input.claims.length === 0 && !known && !input.policy?.requiresClaim) return untouched
  const parsed = parseInput(input)
  if (input.claims.length === 0 && !known && !lacksRequiredClaim(parsed)) return untouched
  const orphaned = decideOrphaned(parsed, effectiveAffinity(placement))
  if (orphaned) {
    const written = writeDecision(parsed, placement, orphaned) ?? { binding }
    return { state: orphaned.state, message: orphaned.message, ...written }
  }
  const { base, decision: decided } = decideForBase(parsed)
  const widened = widenedBy(base, decided.affinity, input.clusters, parsed.usesOverflow, parsed.rules)
  if (widened.length > 0) {
    return { state: 'Widened', binding, message: `narrowing would have allowed ${widened.slice(0, 5).join(', ')}` }
  }
  const decision = decideOrphaned(parsed, decided.affinity) ?? decided
  const written = writeDecision(parsed, placement, decision)
  return written
    ? { state: decision.state, message: decision.message, ...written }
    : decideTooLarge(parsed, placement, base, decision)
}

/** The response of admission: a patch when the binding changes, and a warning when the decision is not a plain narrowing. */
export function answerBinding({ state, binding, message, decided }: BindingDecision, input: BindingInput): Outcome {
  const outcome: Outcome = binding === input.binding ? { kind: 'allow' } : { kind: 'patch', object: binding }
  if (NOTEWORTHY.has(state)) outcome.warnings = [cut(`lodestone: ${decisionInWords(state)}: ${message}`)]
  if (state !== 'Untouched') {
    const reason = cut(message, 512)
    outcome.auditAnnotations = { decision: state, reason, 'decision-id': bindingDecisionId(binding, decided) }
  }
  return outcome
}

const NOTEWORTHY: ReadonlySet<BindingDecision['state']> = new Set(['OnHold', 'Kept', 'Relaxed', 'Released', 'Ignored'])

/**
 * Decides when the annotations have no space for the decision: puts the workload on hold. If the workload runs, or if the hold does not fit
 * either, the binding stays as it is.
 */
function decideTooLarge(
  parsed: ParsedInput,
  placement: Placement,
  base: PlacementAffinity,
  { state, message }: PlacementDecision,
): BindingDecision {
  const { binding } = parsed
  if (state === 'Restored') return { state, binding, message }
  const hold = holdTooLarge(parsed, base)
  const suspended = parsed.isScheduled ? undefined : writeDecision(parsed, placement, hold)
  return suspended
    ? { state: hold.state, message: hold.message, ...suspended }
    : { state: 'Ignored', binding, message: hold.message }
}
