/** Recovers the base of a write, the affinity before narrowing, and decides for it. */
import { jsonEqual } from '../../../base/json.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import { decidePlacement } from '../decide-placement.ts'
import type { ParsedInput } from '../parse-input.ts'
import { baseCandidates } from './candidates.ts'
import {
  type DecisionForBase,
  decideForRecordedBase,
  inputBeforeAnswer,
  keepRecordedBase,
  storedByLoop,
} from './changed-lazy-policy.ts'
import { meetsCondition } from './conditions.ts'

/** Chooses the base of a write among its candidates, and decides for it. */
export function decideForBase(parsed: ParsedInput): DecisionForBase {
  const first = decideForFirstBase(parsed)
  return decideForRecordedBase(parsed, first.decision) ?? first
}

/** Decides for one candidate after the other until a decision meets its condition. */
function decideForFirstBase(parsed: ParsedInput): DecisionForBase {
  const { conditional, otherwise } = baseCandidates(parsed)
  for (const candidate of conditional) {
    const decision = decidePlacement(parsed, candidate.base)
    // Admission leaves moves to the loop, so its own decision does not show where a base leads.
    const byLoop = () =>
      parsed.leavesMovesToLoop ? decidePlacement({ ...parsed, leavesMovesToLoop: false }, candidate.base) : decision
    const shown = candidate.condition === 'withinPolicy' ? byLoop() : decision
    if (!meetsCondition(parsed, candidate, shown)) continue
    const stored = storedByLoop(parsed, candidate, byLoop)
    return stored
      ? decideForFirstBase({ ...parsed, stored })
      : keepRecordedBase(parsed, { base: candidate.base, decision })
  }
  return (
    answerAgain(parsed) ?? keepRecordedBase(parsed, { base: otherwise, decision: decidePlacement(parsed, otherwise) })
  )
}

/** Reinvocation: returns the decision that gave this write, if it was decided for the write of a loop; undefined if it was not. */
function answerAgain(parsed: ParsedInput): DecisionForBase | undefined {
  const before = inputBeforeAnswer(parsed)
  if (!before) return undefined
  const again = decideForFirstBase(before)
  const { affinity, annotations } = again.decision
  const isAnswer = jsonEqual(affinity, effectiveAffinity(parsed.binding.spec.placement))
  return isAnswer && jsonEqual(annotations, parsed.annotations) ? again : undefined
}
