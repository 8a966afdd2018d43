/** Decides on a workload that runs: it moves, stays, is relaxed, or returns to its data. It is never left without a cluster. */
import type { PlacementAffinity } from '../../../api/karmada.ts'
import { jsonEqual } from '../../../base/json.ts'
import { msSince } from '../../../base/time/clock-jumps.ts'
import { evictedClusters, targetClusters } from '../../placement/binding-state.ts'
import { demandsSame } from '../../placement/constraint.ts'
import { skipsFirstGroup } from '../../placement/group-names.ts'
import { isNarrowing, type LocalityAnnotation } from '../annotations.ts'
import { beginningOf } from '../hold.ts'
import { describeUnlocated, nowhere, unresolved } from '../hold-cause.ts'
import { type FittingNarrowing, narrowToFit } from '../narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from '../parse-input.ts'
import { applyBase, keptInBase, narrowed, type PlacementDecision, relaxed } from '../placement-decision.ts'
import { staysAfterFailover, staysBecause } from '../rebalance.ts'
import { DEFAULT_TIMING, FAILBACK_WINDOW, RELEASE_DELAY } from '../timing.ts'
import { adoptedNarrowing } from './adopted-narrowing.ts'
import { renew, stayOf } from './return-to-preferred.ts'

/** A workload that runs is never left without a cluster, and moves only if it may. */
export function decideScheduled(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const { claims, constraint } = input
  const last = lastNarrowing(input)
  const waiting = awaitSuccessor(input, base)
  if (waiting) return waiting
  const isUnlocated = claims.some(({ answer }) => answer.kind === 'unknown') || nowhere(claims).length > 0
  if (isUnlocated) {
    const why = describeUnlocated(claims)
    const blocks = unresolved(claims).length + nowhere(claims).length > 0
    if (last && (blocks || lacksPart(input, last))) return keep(input, base, last, why)
    if (blocks) return applyBase('Ignored', base, why)
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
  const staying = awaitMove(input, base, last, narrowing.allowed ?? firstPreferred(input, base, narrowing))
  return staying ?? narrowed(input, { base, constraint, ...renew(input, narrowing) }, stayOf(input, narrowing))
}

/**
 * Whether the last narrowing may have had data whose location is unknown now. If only a preference is unknown, the workload still follows the
 * data that it requires.
 */
function lacksPart({ claims, constraint }: ParsedInput, last: LocalityAnnotation): boolean {
  const before = constraintIn(last)
  if (demandsSame(before, constraint)) return false
  const isRequiredKnown = claims.every(
    ({ answer, enforcement }) => answer.kind === 'located' || enforcement === 'Preferred',
  )
  const { preferred: _before, ...requiredBefore } = before
  const { preferred: _now, ...required } = constraint
  return !isRequiredKnown || required.required === undefined || demandsSame(requiredBefore, required)
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
function firstPreferred(
  input: ParsedInput,
  base: PlacementAffinity,
  { preferredGroup }: FittingNarrowing,
): string[] | undefined {
  return preferredGroup && getsFirstGroups(input, base) ? [...preferredGroup] : undefined
}

/** Whether a preference would give the workload its first groups. With groups in the policy, the policy has moved it already. */
function getsFirstGroups({ stored }: ParsedInput, base: PlacementAffinity): boolean {
  return !stored?.spec.placement?.clusterAffinities?.length && !base.clusterAffinities
}

/**
 * Keeps a narrowed, scheduled workload for a while after a claim is gone: a claim that is replaced is deleted first. Returns undefined if
 * there is nothing to wait for: another claim appeared, the rest of the claims demands the same, or the workload cannot stay.
 */
export function awaitSuccessor(input: ParsedInput, base: PlacementAffinity): PlacementDecision | undefined {
  const last = lastNarrowing(input)
  if (!last || last.state === 'Relaxed' || !input.isScheduled) return undefined
  const { annotations, claims, constraint, storedAnnotations, now } = input
  const names = claims.map(({ claim }) => claim)
  const isWaiting = last.state === 'Kept' && last.since !== undefined
  // Without a name, the last claim was gone before the claims became unknown.
  const lostOne = last.claims.length === 0 || last.claims.some((name) => !names.includes(name))
  const gotOne = names.some((name) => !last.claims.includes(name))
  if (gotOne || !(lostOne || isWaiting) || demandsSame(constraintIn(last), constraint)) return undefined
  if (input.leavesMovesToLoop && endsWait(input)) return undefined
  const { releaseDelayMs } = input.timing ?? DEFAULT_TIMING
  const since = beginningOf(isWaiting ? storedAnnotations.locality?.since : undefined, annotations.locality?.since, now)
  if (!input.leavesMovesToLoop && msSince(since, input) >= releaseDelayMs) return undefined
  const what = names.length === 0 ? 'no claim is left for this workload' : 'a claim of this workload is gone'
  const why = `${what}; it stays with its data until ${RELEASE_DELAY} is over, unless a claim is created again`
  const kept = keep(input, base, last, why, since)
  return kept.state === 'Kept' ? kept : undefined
}

/**
 * Whether a write ends the wait for a successor. Karmada keeps annotations. So an annotation without the claim that is gone is from the loop.
 * A write without our annotation is from the loop too, or from a user who removes the narrowing by hand.
 */
function endsWait({ annotations: { locality }, storedAnnotations, claims }: ParsedInput): boolean {
  if (!locality) return true
  // The loop keeps a narrowing without a claim while the claims are unknown.
  if (locality.claims.length === 0) return false
  const isNew = locality.since === undefined && !jsonEqual(locality, storedAnnotations.locality)
  return isNew && locality.claims.every((name) => claims.some(({ claim }) => claim === name))
}

/**
 * Gives a workload without a claim its base back. If its clusters cannot take it any more, the scheduler must begin with the first group of
 * the base. The groups get their own names back later.
 */
export function restore(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const last = lastNarrowing(input)
  const why = 'no claim is left for this workload'
  if (!last || !input.isScheduled || !skipsFirstGroup(base, input.observedGroup))
    return applyBase('Restored', base, why)
  const kept = keep(input, base, last, why)
  return kept.state === 'Relaxed' ? kept : applyBase('Restored', base, why)
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
  if (kept.state !== 'Kept') return undefined
  // A preference that had no effect until now would move the workload by its first groups.
  const movesNow = kept.affinity.clusterAffinities && getsFirstGroups(input, base)
  return movesNow ? applyBase('Ignored', base, message) : kept
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
  if (!input.leavesMovesToLoop && msSince(since, input) >= failbackWindowMs) return undefined
  const why = `the data is available again; the workload returns to it when ${FAILBACK_WINDOW} is over`
  return relaxed(input, base, constraint, why, since)
}

/**
 * The last narrowing of a scheduled workload, by Lodestone or by volcano-global. Only the stored annotation counts: any requester can send
 * one.
 */
function lastNarrowing(input: ParsedInput): LocalityAnnotation | undefined {
  const { locality } = input.stored ? input.storedAnnotations : input.annotations
  if (!locality) return adoptedNarrowing(input)
  return isNarrowing(locality) ? locality : undefined
}
