/** The rules of a workload that does not run: it waits until the location is known and a cluster with the data can take it. */

import type { PlacementAffinity } from '../../../api/karmada.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { MAX_OBJECT_BYTES } from '../../admission/object-size.ts'
import { holdAnnotation } from '../hold.ts'
import {
  describeUnlocated,
  type HoldCause,
  holdMessage,
  missingClaim,
  nowhere,
  unresolved,
  unsatisfiable,
} from '../hold-cause.ts'
import type { ParsedInput } from '../parse-input.ts'
import { applyBase, narrowed, type PlacementDecision } from '../placement-decision.ts'
import type { Situation } from './situation.ts'

/** Whether the workload waits for a claim, because its policy requires one. */
export function lacksRequiredClaim({ claims, policy, isScheduled }: ParsedInput): boolean {
  return claims.length === 0 && policy?.requiresClaim === true && !isScheduled
}

export function holdUntilClaimed({ input, base }: Situation): PlacementDecision | undefined {
  return lacksRequiredClaim(input) ? holdOrApplyBase(input, base, [missingClaim]) : undefined
}

export function holdUntilLocated({ input, base }: Situation): PlacementDecision | undefined {
  const causes = [...unresolved(input.claims), ...nowhere(input.claims)]
  return causes.some(({ hold }) => hold) ? holdOrApplyBase(input, base, causes) : undefined
}

/** Without an annotation, the first real narrowing does not count as a move of the data. */
export function ignoreUnlocated({ input, base }: Situation): PlacementDecision | undefined {
  const { claims, constraint } = input
  if (constraint.required || constraint.preferred) return undefined
  return applyBase('Ignored', base, describeUnlocated(claims))
}

export function narrowOrHold({ input, base, narrowing }: Situation): PlacementDecision {
  const found = narrowing()
  if (found.kind !== 'narrowed') return holdOrApplyBase(input, base, [unsatisfiable(input.claims, found.reason)])
  const { preferenceProblem: why } = found
  return narrowed(input, { base, constraint: input.constraint, ...found }, why ? { why } : {})
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
export function holdOrApplyBase(
  input: ParsedInput,
  base: PlacementAffinity,
  causes: readonly HoldCause[],
): PlacementDecision {
  const message = holdMessage(causes.map(({ message }) => message))
  const holding = causes.filter(({ hold }) => hold)
  const [first] = holding
  if (!first) return applyBase('Ignored', base, message)
  const hold = holdAnnotation(
    input,
    { message, reason: first.reason },
    earliest(...holding.map(({ timeoutSeconds }) => timeoutSeconds)),
  )
  return { state: hold.released ? 'Released' : 'OnHold', affinity: base, annotations: { hold }, message }
}
