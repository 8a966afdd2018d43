/** Decides when a workload returns to preferred data, after it ran elsewhere. */
import { occupiedClusters } from '../../placement/binding-state.ts'
import { nameGroups, skipsFirstGroup } from '../../placement/group-names.ts'
import { stateSince } from '../hold.ts'
import { whereIs } from '../hold-cause.ts'
import { DIVIDED_REPLICAS, type FittingNarrowing } from '../narrow-to-fit.ts'
import type { ParsedInput } from '../parse-input.ts'
import type { Stay } from '../placement-decision.ts'
import { dispatchingProblem, movedWorkload, staysAfterFailover } from '../rebalance.ts'
import { describeWait, isReturnDue, recordReturn } from '../returns.ts'

/** Why a workload stays where it is although preferred data is elsewhere, and since when it waits; undefined if it need not move. */
export function explainStay(input: ParsedInput, narrowing: FittingNarrowing): Stay | undefined {
  const { preferenceProblem } = narrowing
  if (preferenceProblem) {
    const isKept = input.constraint.required === undefined && input.isPlaced
    return isKept
      ? { state: 'Kept', why: `${input.claims.map(whereIs).join('; ')}; ${preferenceProblem}` }
      : { why: preferenceProblem }
  }
  const wait = waitForPreferred(input, narrowing)
  if (!wait || wait.isOver) return undefined
  if (wait.stays) return { why: `the preferred data is elsewhere; ${wait.stays}` }
  const { since } = wait
  // The last return may have lasted: then its record ends with this decision.
  const returned = recordReturn(input, { state: 'Narrowed', since, round: narrowing.round })
  return { why: `the workload moves there when ${describeWait(returned)}`, since }
}

/** Gives the groups new names when the workload returns to its preferred data, so that the scheduler begins with the first. */
export function renew(input: ParsedInput, narrowing: FittingNarrowing): FittingNarrowing {
  if (!waitForPreferred(input, narrowing)?.isOver) return narrowing
  const round = narrowing.round + 1
  return { ...narrowing, round, affinity: nameGroups(narrowing.unnamed, round) }
}

/**
 * Whether a workload waits to return to preferred data. It runs outside of the first group that fits, and the scheduler would not look at
 * that group again. Undefined if it does not wait: the scheduler begins with the first group of new names in any case. The scheduler may have
 * divided its replicas over several clusters meanwhile; then it stays.
 */
function waitForPreferred(
  input: ParsedInput,
  { affinity, preferredGroup }: FittingNarrowing,
): { isOver: boolean; since: string; stays?: string } | undefined {
  const { binding, claims, annotations, storedAnnotations, observedGroup, leavesMovesToLoop, kinds, now } = input
  const clusters = occupiedClusters(binding.spec)
  const isThere = preferredGroup && clusters.every((name) => preferredGroup.includes(name))
  if (!preferredGroup || isThere || !skipsFirstGroup(affinity, observedGroup)) return undefined
  const since = stateSince(storedAnnotations.locality?.since, annotations.locality?.since, now)
  const stays =
    clusters.length > 1
      ? DIVIDED_REPLICAS
      : (dispatchingProblem(binding.spec, preferredGroup) ?? staysAfterFailover(movedWorkload(input), claims, kinds))
  if (stays) return { isOver: false, since, stays }
  return { isOver: !leavesMovesToLoop && isReturnDue(input, since), since }
}
