/** Decides on a workload that runs: it moves, stays, is relaxed, or returns to its data. It is never left without a cluster. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { evictedClusters, targetClusters } from '../placement/binding-state.ts'
import { demandsSame } from '../placement/constraint.ts'
import { nameGroups } from '../placement/group-names.ts'
import type { LocalityAnnotation } from './annotations.ts'
import { beginningOf } from './hold.ts'
import { describeUnlocated, nowhere, unresolved, whereIs } from './hold-cause.ts'
import { type FittingNarrowing, narrowToFit } from './narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from './parse-input.ts'
import { applyBase, keptInBase, narrowed, type PlacementDecision, relaxed } from './placement-decision.ts'
import { staysAfterFailover, staysBecause } from './rebalance.ts'
import { DEFAULT_TIMING } from './timing.ts'

/**
 * The waiting times in messages. They have no numbers: admission does not know the configuration of the loop, and each would write the message
 * again that the other has written.
 */
const FAILBACK_WINDOW = 'the failback window'
const RELEASE_DELAY = 'the release delay'

/** A workload that runs is never left without a cluster, and moves only if it may. */
export function decideScheduled(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const { claims, constraint } = input
  const last = lastNarrowing(input)
  const waiting = awaitSuccessor(input, base)
  if (waiting) return waiting
  const isUnlocated = claims.some(({ answer }) => answer.kind === 'unknown') || nowhere(claims).length > 0
  if (isUnlocated) {
    const why = describeUnlocated(claims)
    if (last) return keep(input, base, last, why)
    if (unresolved(claims).length + nowhere(claims).length > 0) return applyBase('Ignored', base, why)
  }
  // No data is located. Without an annotation, the first real narrowing does not count as a move of the data.
  if (!constraint.required && !constraint.preferred) return applyBase('Ignored', base, describeUnlocated(claims))
  const stays = staysBecause(input.binding.spec.resource, claims, input.kinds)
  if (last && stays && !demandsSame(constraintIn(last), constraint)) {
    return keep(input, base, last, `the data moved; ${stays}`)
  }
  const narrowing = narrowToFit(input, base, constraint)
  if (narrowing.kind === 'unsatisfiable') {
    return last ? keep(input, base, last, narrowing.reason) : applyBase('Ignored', base, narrowing.reason)
  }
  if (narrowing.kind === 'unfit') return keepOrWait(input, base, last, narrowing.reason)
  const staying = awaitMove(input, base, last, narrowing.allowed ?? firstPreferred(input, narrowing))
  return staying ?? narrowed(input, { base, constraint, ...renew(input, narrowing) }, stayOf(input, narrowing))
}

/** Keeps a running workload where it is while no cluster of its new narrowing can take it. */
function keepOrWait(
  input: ParsedInput,
  base: PlacementAffinity,
  last: LocalityAnnotation | undefined,
  reason: string,
): PlacementDecision {
  const why = `no cluster with the data can take the workload: ${reason}`
  if (last) return keep(input, base, last, why)
  return isEvictedFromData(input) ? relaxed(input, base, input.constraint, why) : keptInBase(input, base, why)
}

/** Whether the workload ran in a cluster with its data, and leaves it now. */
function isEvictedFromData({ binding, constraint }: ParsedInput): boolean {
  const evicted = evictedClusters(binding.spec)
  return constraint.required?.some((name) => evicted.has(name)) ?? false
}

/** Returns the decision while the workload may not move yet, and undefined when it may be narrowed now. */
function awaitMove(
  input: ParsedInput,
  base: PlacementAffinity,
  last: LocalityAnnotation | undefined,
  allowed: string[] | undefined,
): PlacementDecision | undefined {
  if (!excludesTarget(input, allowed) || isSentByLoop(input)) return undefined
  if (last?.state === 'Relaxed') return awaitReturn(input, base)
  return input.leavesMovesToLoop ? keepUntilMoved(input, base, last) : undefined
}

/**
 * The preferred clusters to which the scheduler moves a workload when it gets its first groups. A workload that has groups moves only when
 * they get new names.
 */
function firstPreferred({ stored }: ParsedInput, { preferredGroup }: FittingNarrowing): string[] | undefined {
  return stored?.spec.placement?.clusterAffinities?.length || !preferredGroup ? undefined : [...preferredGroup]
}

/**
 * Keeps a narrowed, scheduled workload for a while after a claim is gone: a claim that is replaced is deleted first. Returns undefined if
 * there is nothing to wait for: another claim appeared, or the rest of the claims demands the same.
 */
export function awaitSuccessor(input: ParsedInput, base: PlacementAffinity): PlacementDecision | undefined {
  const last = lastNarrowing(input)
  if (!last || last.state === 'Relaxed' || !input.isScheduled) return undefined
  const { annotations, claims, constraint, storedAnnotations, now } = input
  const names = claims.map(({ claim }) => claim)
  const isWaiting = last.state === 'Kept' && last.since !== undefined
  const lostOne = last.claims.some((name) => !names.includes(name))
  const gotOne = names.some((name) => !last.claims.includes(name))
  if (gotOne || !(lostOne || isWaiting) || demandsSame(constraintIn(last), constraint)) return undefined
  // Karmada keeps annotations, so a write without them is from the loop, or from a user who removes the narrowing by hand.
  if (input.leavesMovesToLoop && (!annotations.locality || isSentByLoop(input))) return undefined
  const { releaseDelayMs } = input.timing ?? DEFAULT_TIMING
  const since = beginningOf(isWaiting ? storedAnnotations.locality?.since : undefined, annotations.locality?.since, now)
  if (!input.leavesMovesToLoop && now - Date.parse(since) >= releaseDelayMs) return undefined
  const what = names.length === 0 ? 'no claim is left for this workload' : 'a claim of this workload is gone'
  const why = `${what}; it stays with its data until ${RELEASE_DELAY} is over, unless a claim is created again`
  return keep(input, base, last, why, since)
}

/** Applies the last narrowing again: Lodestone never moves a running workload because a location is unknown. */
export function keep(
  input: ParsedInput,
  base: PlacementAffinity,
  last: LocalityAnnotation,
  why: string,
  since?: string,
): PlacementDecision {
  const constraint = constraintIn(last)
  const narrowing = narrowToFit(input, base, constraint)
  if (narrowing.kind === 'unsatisfiable') {
    return relaxed(input, base, constraint, `${why}; the policy no longer allows the clusters of the last narrowing`)
  }
  if (narrowing.kind === 'unfit') {
    const left = `no cluster of the last narrowing can take the workload: ${narrowing.reason}`
    return relaxed(input, base, constraint, why.includes(narrowing.reason) ? why : `${why}; ${left}`)
  }
  // A relaxed workload runs elsewhere. To go back is a move, and nothing shows that it should.
  if (last.state === 'Relaxed' && excludesTarget(input, narrowing.allowed)) return relaxed(input, base, constraint, why)
  return narrowed(input, { base, constraint, ...narrowing }, { state: 'Kept', why, ...(since && { since }) })
}

/** Whether the loop sent this move: its locality annotation has the constraint. Other writers send the stored annotation. */
function isSentByLoop({ annotations: { locality }, constraint }: ParsedInput): boolean {
  return locality?.state === 'Narrowed' && demandsSame(constraintIn(locality), constraint)
}

/**
 * Whether the workload runs in a cluster that is not allowed any more. Compares the stored and the sent clusters: a cluster that the
 * scheduler chose in this write is not lost by a move.
 */
function excludesTarget({ binding, stored }: ParsedInput, allowed: string[] | undefined): boolean {
  if (allowed === undefined) return false
  const runsIn = new Set(targetClusters(stored?.spec))
  const mayRunIn = new Set(allowed)
  return targetClusters(binding.spec).some((name) => runsIn.has(name) && !mayRunIn.has(name))
}

/** Keeps the workload in its cluster until the loop moves it. Returns undefined if it cannot stay there in any case. */
function keepUntilMoved(
  input: ParsedInput,
  base: PlacementAffinity,
  last: LocalityAnnotation | undefined,
): PlacementDecision | undefined {
  const message = 'the data is in other clusters; the loop moves the workload later'
  if (!last) return applyBase('Ignored', base, message)
  const kept = keep(input, base, last, message)
  return kept.state === 'Kept' ? kept : undefined
}

/**
 * Keeps a workload relaxed until it may return to its data: after the data was available for a while, and if it returns at all. The loop
 * moves it. Returns undefined when it returns now.
 */
function awaitReturn(input: ParsedInput, base: PlacementAffinity): PlacementDecision | undefined {
  const { binding, claims, constraint, storedAnnotations, annotations, now, kinds } = input
  const stays = staysAfterFailover(binding.spec.resource, claims, kinds)
  if (stays)
    return relaxed(
      input,
      base,
      constraint,
      `the base affinity applies since an eviction or a change of the policy; ${stays}`,
    )
  const { failbackWindowMs } = input.timing ?? DEFAULT_TIMING
  const since = beginningOf(storedAnnotations.locality?.since, annotations.locality?.since, now)
  if (!input.leavesMovesToLoop && now - Date.parse(since) >= failbackWindowMs) return undefined
  const why = `the data is available again; the workload returns to it when ${FAILBACK_WINDOW} is over`
  return relaxed(input, base, constraint, why, since)
}

/** Why a workload stays where it is although preferred data is elsewhere, and since when it waits; undefined if it need not move. */
function stayOf(input: ParsedInput, narrowing: FittingNarrowing): Parameters<typeof narrowed>[2] {
  const { preferenceProblem } = narrowing
  if (preferenceProblem) {
    const onlyPreferred = input.constraint.required === undefined
    const why = onlyPreferred ? `${input.claims.map(whereIs).join('; ')}; ${preferenceProblem}` : preferenceProblem
    return { state: onlyPreferred ? 'Kept' : 'Narrowed', why }
  }
  const wait = waitForPreferred(input, narrowing)
  if (!wait || wait.isOver) return undefined
  return wait.stays
    ? { why: `the preferred data is elsewhere; ${wait.stays}` }
    : { why: `the workload moves there when ${FAILBACK_WINDOW} is over`, since: wait.since }
}

/** Gives the groups new names when the workload returns to its preferred data, so that the scheduler begins with the first. */
function renew(input: ParsedInput, narrowing: FittingNarrowing): FittingNarrowing {
  if (!waitForPreferred(input, narrowing)?.isOver) return narrowing
  const round = narrowing.round + 1
  return { ...narrowing, round, affinity: nameGroups(narrowing.unnamed, round) }
}

/**
 * Whether a workload waits to return to preferred data. It runs outside of the first group that fits, and the scheduler would not look at
 * that group again. Undefined if it does not wait.
 */
function waitForPreferred(
  { binding, claims, annotations, storedAnnotations, leavesMovesToLoop, timing, kinds, now }: ParsedInput,
  { preferredGroup, round }: FittingNarrowing,
): { isOver: boolean; since: string; stays?: string } | undefined {
  const { clusters = [], resource } = binding.spec
  const isThere = preferredGroup && clusters.every(({ name }) => preferredGroup.includes(name))
  if (!preferredGroup || isThere || !storedAnnotations.locality) return undefined
  // The loop has just sent a new round: the scheduler begins with the first group.
  if (round !== (storedAnnotations.locality.round ?? 0)) return undefined
  const since = beginningOf(storedAnnotations.locality.since, annotations.locality?.since, now)
  const stays = staysAfterFailover(resource, claims, kinds)
  if (stays) return { isOver: false, since, stays }
  const { failbackWindowMs } = timing ?? DEFAULT_TIMING
  return { isOver: !leavesMovesToLoop && now - Date.parse(since) >= failbackWindowMs, since }
}

/**
 * The last narrowing of a scheduled workload. A binding that was kept in its base has none. Only the stored annotation counts: any requester
 * can send one.
 */
function lastNarrowing({ stored, storedAnnotations, annotations }: ParsedInput): LocalityAnnotation | undefined {
  const { locality } = stored ? storedAnnotations : annotations
  return locality?.required || locality?.requiredDigest || locality?.preferred ? locality : undefined
}
