/** Decides on a binding for a given base: its affinity, its hold and its annotations. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { MAX_OBJECT_BYTES } from '../admission/object-size.ts'
import { holdAnnotation } from './hold.ts'
import {
  claimUnknown,
  describeUnlocated,
  type HoldCause,
  missingClaim,
  nowhere,
  sentenceOf,
  shortest,
  unresolved,
  unsatisfiable,
} from './hold-cause.ts'
import { narrowToFit } from './narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from './parse-input.ts'
import { applyBase, narrowed, type PlacementDecision, relaxed } from './placement-decision.ts'
import { awaitSuccessor, decideScheduled, keep, restore } from './rules/scheduled.ts'

/** Decides for one base. Pure and deterministic: the same input gives the same bytes, and the order of the claims does not matter. */
export function decidePlacement(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  if (input.claims.length === 0) return decideUnclaimed(input, base)
  return input.isScheduled ? decideScheduled(input, base) : decideNotScheduled(input, base)
}

/** A workload without a claim gets its base back. A scheduled one waits for a successor of its last claim first. */
function decideUnclaimed(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const kept = input.claimsUnknown === undefined ? undefined : keepUnknown(input, base, input.claimsUnknown)
  if (kept) return kept
  if (lacksRequiredClaim(input)) return holdOrApplyBase(input, base, [missingClaim])
  return awaitSuccessor(input, base) ?? restore(input, base)
}

/** Keeps the narrowing or the hold while claims may exist that are not known. Returns undefined for a binding without both. */
function keepUnknown(input: ParsedInput, base: PlacementAffinity, why: string): PlacementDecision | undefined {
  const { locality: last, hold } = input.stored ? input.storedAnnotations : input.annotations
  if (last) {
    const decision =
      last.state === 'Relaxed' ? relaxed(input, base, constraintIn(last), last.message) : keep(input, base, last, why)
    if (decision.state === 'Relaxed' && !input.isScheduled) return holdOrApplyBase(input, base, [claimUnknown(why)])
    const { locality } = decision.annotations
    const annotations = { ...decision.annotations, ...(locality && { locality: { ...locality, claims: last.claims } }) }
    return { ...decision, annotations }
  }
  if (!hold || input.isScheduled) return undefined
  const { message } = hold
  const next = holdAnnotation(input, hold, undefined)
  return { state: next.released ? 'Released' : 'OnHold', affinity: base, annotations: { hold: next }, message }
}

/** A workload that does not run waits until the location is known and a cluster with the data can take it. */
function decideNotScheduled(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const { claims, constraint } = input
  const causes = [...unresolved(claims), ...nowhere(claims)]
  if (causes.length > 0) return holdOrApplyBase(input, base, causes)
  if (!constraint.required && !constraint.preferred) return applyBase('Ignored', base, describeUnlocated(claims))
  const narrowing = narrowToFit(input, base, constraint)
  return narrowing.kind === 'narrowed'
    ? narrowed(
        input,
        { base, constraint, ...narrowing },
        narrowing.preferenceProblem ? { why: narrowing.preferenceProblem } : {},
      )
    : holdOrApplyBase(input, base, [unsatisfiable(claims, narrowing.reason)])
}

/** Whether the workload waits for a claim, because its policy requires one. */
export function lacksRequiredClaim({ claims, policy, isScheduled }: ParsedInput): boolean {
  return claims.length === 0 && policy?.requiresClaim === true && !isScheduled
}

/**
 * Decides for a base that does not fit into the annotations of the binding. Without the base, Lodestone could not restore the placement, so
 * it does not narrow. A scheduled workload stays as it is.
 */
export function holdTooLarge(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  return holdOrApplyBase(input, base, [unsatisfiable(input.claims, TOO_LARGE)])
}

const TOO_LARGE = `the decision does not fit into the annotations or the ${MAX_OBJECT_BYTES} bytes of the binding; use fewer or shorter cluster affinities, or fewer annotations`

/** Puts the workload on hold if a cause demands it and the timeout is not over. Otherwise the base affinity applies. */
function holdOrApplyBase(input: ParsedInput, base: PlacementAffinity, causes: readonly HoldCause[]): PlacementDecision {
  const message = sentenceOf(causes.map(({ message }) => message))
  const holding = causes.filter(({ hold }) => hold)
  const [first] = holding
  if (!first) return applyBase('Ignored', base, message)
  const hold = holdAnnotation(
    input,
    { message, reason: first.reason },
    shortest(holding.map(({ timeoutSeconds }) => timeoutSeconds)),
  )
  return { state: hold.released ? 'Released' : 'OnHold', affinity: base, annotations: { hold }, message }
}
