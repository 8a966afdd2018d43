/** The rules of a workload that runs: it moves, stays, is relaxed, or returns to its data. It is never left without a cluster. */

import type { PlacementAffinity } from '../../../api/karmada.ts'
import { defined, jsonEqual } from '../../../base/json.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import {
  evictedClusters,
  hasNoChoice,
  hasNoFit,
  isDivided,
  occupiedClusters,
  scalesInVain,
  usesOverflow,
} from '../../placement/binding-state.ts'
import { type DataConstraint, demandsSame } from '../../placement/constraint.ts'
import type { Misfit } from '../../placement/fit.ts'
import { skipsFirstGroup } from '../../placement/group-names.ts'
import { placementFilter } from '../../placement/placement-filter.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import { stateSince } from '../hold.ts'
import { describeUnlocated, nowhere, unresolved, whereIs } from '../hold-cause.ts'
import { type FittingNarrowing, isRefused, narrowToFit } from '../narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from '../parse-input.ts'
import { applyBase, keptInBase, narrowed, type PlacementDecision, relaxed } from '../placement-decision.ts'
import { policyReferenceOf } from '../policy.ts'
import { dispatchingProblem, movedWorkload, staysAfterFailover, staysBecause } from '../rebalance.ts'
import { describeWait, isReturnDue, recordReturn } from '../returns.ts'
import { explainStay, renew } from './return-to-preferred.ts'
import type { Situation } from './situation.ts'

export function stayWhileUnlocated(situation: Situation): PlacementDecision | undefined {
  const { input, base, last } = situation
  const { claims } = input
  const lost = nowhere(claims)
  const blocks = [...unresolved(claims), ...lost].some(({ hold }) => hold)
  const isUnlocated = lost.length > 0 || claims.some(({ answer }) => answer.kind === 'unknown')
  if (isUnlocated && last && (blocks || lacksPart(input, last))) {
    const kept = keep(situation, last, describeUnlocated(claims))
    // A relaxed workload returns to the data that it requires, although a preference is unknown.
    if (kept.state !== 'Relaxed' || !isRequiredKnown(input)) return kept
  }
  return blocks ? applyBase('Ignored', base, describeUnlocated(claims)) : undefined
}

/** A workload that has lost its clusters, has no replicas in them, or must leave them, is started anew: the rule does not apply. */
export function stayIfMoveCosts(situation: Situation): PlacementDecision | undefined {
  const { input, last } = situation
  const { spec } = input.binding
  if (occupiedClusters(spec).length === 0) return undefined
  const moved = leavesCluster(situation) ? movedWorkload(input) : spec
  const stays = last && staysBecause(moved, input.claims, input.kinds)
  if (!stays || demandsSame(constraintIn(last), input.constraint) || mustLeave(situation)) return undefined
  return keep(situation, last, `the data moved; ${stays}`)
}

/** Whether a workload with claims would leave a cluster in which it runs. A cluster with its data may have been added only. */
function leavesCluster({ input, narrowing }: Situation): boolean {
  const { binding, volumeClaims = [], claimTemplates = [], isWorkloadUnread = false } = input
  if (volumeClaims.length === 0 && claimTemplates.length === 0 && !isWorkloadUnread) return false
  const found = narrowing()
  const allowed = found.kind === 'narrowed' ? (found.chosen ?? found.allowed) : undefined
  return allowed !== undefined && occupiedClusters(binding.spec).some((name) => !allowed.includes(name))
}

export function stayIfNotAllowed(situation: Situation): PlacementDecision | undefined {
  const { base, last } = situation
  const narrowing = situation.narrowing()
  if (narrowing.kind !== 'unsatisfiable') return undefined
  return last ? keep(situation, last, narrowing.reason) : applyBase('Ignored', base, narrowing.reason)
}

export function stayIfRefused(situation: Situation): PlacementDecision | undefined {
  const { input, base, last } = situation
  const narrowing = situation.narrowing()
  if (narrowing.kind !== 'unfit') return undefined
  const why = `no cluster with the data can take the workload: ${narrowing.reason}`
  if (last) return keep(situation, last, why)
  return isEvictedFromData(input) ? relaxed(input, base, input.constraint, why) : keptInBase(input, base, why)
}

/** Keeps a workload where it is that Karmada would delete there, or might delete, without creating it in the clusters with the data. */
export function stayWithoutMove(situation: Situation): PlacementDecision | undefined {
  const { input, base, last, narrowing } = situation
  const found = narrowing()
  if (found.kind !== 'narrowed') return undefined
  const problem = moveProblem(situation, found.chosen ?? found.allowed)
  if (problem === undefined) return undefined
  const why = `${input.claims.map(whereIs).join('; ')}; ${problem}`
  return last ? keep(situation, last, why) : keptInBase(input, base, why)
}

/**
 * Returns why Karmada could not create a workload in the clusters that are allowed, although it runs in another one; undefined if it could.
 *
 * Without a policy, Karmada's scheduler ignores a change of the binding, and schedules the workload when a Cluster changes (v1.18.1,
 * pkg/scheduler/event_handler.go, enqueueAffectedBindings). If it refused the clusters with the data by then, it would remove the workload from all
 * clusters. A workload that must leave its clusters in any case moves to its data. A cluster that is not cached is gone, or has joined since. If a copy
 * is in an allowed cluster already, others only end.
 */
function moveProblem(situation: Situation, allowed: readonly string[] | undefined): string | undefined {
  const { binding, clusters } = situation.input
  const { metadata, spec } = binding
  const isKnown = (name: string) => clusters === undefined || clusters(name) !== undefined
  const runsIn = occupiedClusters(spec)
  if (allowed === undefined || runsIn.every((name) => allowed.includes(name) || !isKnown(name))) return undefined
  if (!isDivided(spec) && runsIn.some((name) => allowed.includes(name))) return undefined
  if (policyReferenceOf(metadata) === undefined) return 'no policy selects the workload any more, so it does not move'
  return mustLeave(situation) ? undefined : dispatchingProblem(spec, allowed)
}

/** Keeps a workload relaxed until it may return: after the data was available for a while, and if it returns at all. The loop moves it. */
export function awaitReturn(situation: Situation): PlacementDecision | undefined {
  const { input, base, last } = situation
  if (last?.state !== 'Relaxed' || !wouldMove(situation)) return undefined
  const { claims, constraint, storedAnnotations, annotations, now, kinds } = input
  const stays = staysAfterFailover(movedWorkload(input), claims, kinds)
  if (stays) {
    const why = `the base affinity applies since an eviction, a change of the policy or a lack of room; ${stays}`
    return relaxed(input, base, constraint, why)
  }
  const since = stateSince(storedAnnotations.locality?.since, annotations.locality?.since, now)
  if (!input.leavesMovesToLoop && isReturnDue(input, since)) return undefined
  return relaxed(input, base, constraint, describeReturn(last.returned), since)
}

/** Keeps the workload in its cluster until the loop moves it. Does not apply if it cannot stay there in any case. */
export function awaitLoop(situation: Situation): PlacementDecision | undefined {
  const { input, base, last } = situation
  if (!input.leavesMovesToLoop || !wouldMove(situation)) return undefined
  const message = 'the data is in other clusters; the loop moves the workload later'
  if (!last) return applyBase('Ignored', base, message)
  const kept = keep(situation, last, message)
  if (kept.state !== 'Kept') return undefined
  // A preference that had no effect until now would move the workload by its first groups.
  return getsFirstGroups(input, base, kept.affinity) ? applyBase('Ignored', base, message) : kept
}

export function followData(situation: Situation): PlacementDecision | undefined {
  const { input, base } = situation
  const found = situation.narrowing()
  if (found.kind !== 'narrowed') return undefined
  return (
    relaxIfRefused(situation, input.constraint, found) ??
    relaxToScale(situation, found) ??
    narrowed(input, { base, constraint: input.constraint, ...renew(input, found) }, explainStay(input, found))
  )
}

/** Keeps the workload where it is, or relaxes it if it cannot stay: Lodestone never moves a running workload because a location is unknown. */
export function keep(situation: Situation, last: LocalityAnnotation, why: string, since?: string): PlacementDecision {
  const { input, base } = situation
  const constraint = constraintIn(last)
  const narrowing = narrowToFit(input, base, constraint)
  if (narrowing.kind !== 'narrowed') {
    const isSaid = why.includes(narrowing.reason)
    return relaxed(input, base, constraint, isSaid ? why : `${why}; ${whyLeft(input, constraint, narrowing)}`)
  }
  // A relaxed workload runs elsewhere. To go back is a move, and nothing shows that it should. Or Karmada cannot move it.
  const runsElsewhere = last.state === 'Relaxed' && excludesTarget(input, narrowing.allowed)
  if (runsElsewhere || moveProblem(situation, narrowing.allowed) !== undefined)
    return relaxed(input, base, constraint, why)
  return (
    relaxIfRefused(situation, constraint, narrowing) ??
    narrowed(input, { base, constraint, ...narrowing }, defined({ state: 'Kept', why, since }))
  )
}

/** Why a workload cannot stay in the clusters of its last narrowing, as a part of a sentence. */
function whyLeft({ clusters }: ParsedInput, { required = [] }: DataConstraint, { kind, reason }: Misfit): string {
  if (kind === 'unfit') return `no cluster of the last narrowing can take the workload: ${reason}`
  return clusters && required.every((name) => clusters(name) === undefined)
    ? 'the clusters of the last narrowing do not exist any more'
    : 'the policy no longer allows the clusters of the last narrowing'
}

/**
 * Relaxes a workload if the scheduler has tried this narrowing and has found no cluster. It may have a filter that Lodestone does not know, or an
 * older state of a Cluster, and it does not try again by itself. Or the clusters lack room. After the wait for a return, it is asked again.
 */
function relaxIfRefused(
  { input, base, last }: Situation,
  constraint: DataConstraint,
  { affinity, allowed }: Pick<FittingNarrowing, 'affinity' | 'allowed'>,
): PlacementDecision | undefined {
  const { binding, stored, clusters, claims, now } = input
  // A preference leaves every cluster of the base open. Without known Clusters, the refusal is none of these.
  if (!allowed || !clusters || !stored) return undefined
  const isNoFit = hasNoFit(stored)
  if (!isNoFit && !hasNoChoice(stored)) return undefined
  const isRelaxed = last?.state === 'Relaxed' && demandsSame(constraintIn(last), constraint)
  const isWaiting = isRelaxed && !isReturnDue(input, last.since)
  // The scheduler has chosen clusters in this write. Elsewhere, it chose by the placement of the policy, and the workload returns later.
  const chosen = occupiedClusters(binding.spec)
  if (chosen.length > 0 && (!isWaiting || chosen.every((name) => allowed.includes(name)))) return undefined
  if (!isWaiting && (jsonEqual(affinity, base) || !isRefused(input, affinity))) return undefined
  const since = stateSince(isWaiting ? last.since : undefined, input.annotations.locality?.since, now)
  // If the claims are unknown, nothing says yet where it returns to.
  const why = isNoFit ? REFUSED_BY_SCHEDULER : NO_CHOICE
  return relaxed(input, base, constraint, why, claims.length > 0 ? since : undefined)
}

const REFUSED_BY_SCHEDULER =
  'the scheduler refuses the clusters with the data, for a reason that Lodestone does not know'

const NO_CHOICE =
  'the scheduler cannot choose a cluster with the data: they have too little room, or are too few for the spread constraints'

/**
 * Relaxes a workload that runs elsewhere and waits for room with its data, if a write scales it. The scheduler would place all of its replicas there, or
 * change none. After the wait for a return, it is asked again.
 */
function relaxToScale(
  { input, base }: Situation,
  { affinity, allowed }: Pick<FittingNarrowing, 'affinity' | 'allowed'>,
): PlacementDecision | undefined {
  const { binding, stored, constraint, annotations, now } = input
  if (!allowed || !stored || !scalesInVain(binding, stored)) return undefined
  if (occupiedClusters(binding.spec).every((name) => allowed.includes(name))) return undefined
  if (jsonEqual(affinity, base) || !jsonEqual(affinity, effectiveAffinity(stored.spec.placement))) return undefined
  const since = stateSince(undefined, annotations.locality?.since, now)
  // The last return may have lasted: then its record ends with this decision.
  const returned = recordReturn(input, { state: 'Relaxed', since })
  return relaxed(input, base, constraint, describeReturn(returned), since)
}

function describeReturn(returned: LocalityAnnotation['returned']): string {
  return `a cluster with the data can take the workload; it returns there when ${describeWait(returned)}`
}

/** Data that is only preferred, and is nowhere, does not keep the workload. */
export function applyBaseIfUnlocated(situation: Situation): PlacementDecision | undefined {
  const { claims, constraint } = situation.input
  if (constraint.required || constraint.preferred) return undefined
  return giveBaseBack(situation, 'Ignored', describeUnlocated(claims))
}

/**
 * Gives a workload its base back. Our annotation stays until the workload runs again if it has lost its clusters, or if they cannot take it any
 * more. Without the annotation, a claim that is created meanwhile would put it on hold. The scheduler must also begin with the first group of
 * the base then. The groups get their own names back later.
 */
export function giveBaseBack(situation: Situation, state: 'Restored' | 'Ignored', why: string): PlacementDecision {
  const { input, base, last } = situation
  if (!last || !input.isScheduled) return applyBase(state, base, why)
  const targets = occupiedClusters(input.binding.spec)
  if (targets.length === 0) return relaxed(input, base, constraintIn(last), why)
  const isHome = targets.some((name) => last.required?.includes(name))
  if (!isHome && !skipsFirstGroup(base, input.observedGroup)) return applyBase(state, base, why)
  const kept = keep(situation, last, why)
  return kept.state === 'Relaxed' ? kept : applyBase(state, base, why)
}

/**
 * Whether the last narrowing may have had data whose location is unknown now. If only a preference is unknown, the workload still follows the
 * data that it requires.
 */
function lacksPart(input: ParsedInput, last: LocalityAnnotation): boolean {
  const before = constraintIn(last)
  if (demandsSame(before, input.constraint)) return false
  const { preferred: _before, ...requiredBefore } = before
  const { preferred: _now, ...required } = input.constraint
  return !isRequiredKnown(input) || demandsSame(requiredBefore, required)
}

/** Whether the workload requires data, and the location of all of it is known. */
function isRequiredKnown({ claims, constraint }: ParsedInput): boolean {
  return (
    constraint.required !== undefined &&
    claims.every(({ answer, enforcement }) => answer.kind === 'located' || enforcement === 'Preferred')
  )
}

/** Whether the workload ran in a cluster with its data, and leaves it now. */
function isEvictedFromData({ binding, constraint }: ParsedInput): boolean {
  const evicted = evictedClusters(binding.spec)
  return constraint.required?.some((name) => evicted.has(name)) ?? false
}

/**
 * Whether the narrowing moves the workload out of a cluster where it could stay, and the loop has not sent this move. A preference moves it if the
 * scheduler chooses a group without this cluster.
 */
function wouldMove(situation: Situation): boolean {
  const found = situation.narrowing()
  if (found.kind !== 'narrowed' || !excludesTarget(situation.input, found.chosen ?? found.allowed)) return false
  return !isSentByLoop(situation, found) && !mustLeave(situation)
}

/** Whether the workload leaves all of its clusters in any case, since the base excludes them. If the rules are not known, it may stay. */
function mustLeave({ input: { binding, clusters, loosestRules: rules }, base }: Situation): boolean {
  const occupied = occupiedClusters(binding.spec)
  const mayStay = placementFilter(base, clusters, usesOverflow(binding.spec, rules), rules).allows
  return occupied.length > 0 && !occupied.some(mayStay)
}

/**
 * Whether the workload runs in a cluster that is not allowed any more. Compares the stored and the sent clusters: a cluster that the
 * scheduler chose in this write is not lost by a move.
 */
function excludesTarget({ binding, stored }: ParsedInput, allowed: readonly string[] | undefined): boolean {
  if (allowed === undefined) return false
  const runsIn = new Set(occupiedClusters(stored?.spec))
  const mayRunIn = new Set(allowed)
  return occupiedClusters(binding.spec).some((name) => runsIn.has(name) && !mayRunIn.has(name))
}

/**
 * Whether a preference would make the scheduler begin with a first group: the workload had no groups, or others. With groups in the policy, the
 * policy moves it. The stored groups move it in any case, also if the scheduler has not observed one of them yet.
 */
function getsFirstGroups(
  { stored, observedGroup }: ParsedInput,
  base: PlacementAffinity,
  { clusterAffinities: groups }: PlacementAffinity,
): boolean {
  if (!groups || base.clusterAffinities) return false
  const { clusterAffinities: hadGroups = [] } = stored?.spec.placement ?? {}
  if (jsonEqual(groups, hadGroups)) return false
  return hadGroups.length === 0 || !groups.some(({ affinityName }) => affinityName === observedGroup)
}

/**
 * Whether the loop has sent this move: the locality annotation has the constraint. Other writers send the stored annotation. Karmada's detector sends
 * it with the affinity of the policy, so the stored affinity must be that of the move then. A move that the policy makes by itself needs no proof.
 */
function isSentByLoop(
  { input: { binding, stored, annotations, constraint }, base }: Situation,
  { affinity }: FittingNarrowing,
): boolean {
  const { locality } = annotations
  if (locality?.state !== 'Narrowed' || !demandsSame(constraintIn(locality), constraint)) return false
  const isOfPolicy = jsonEqual(effectiveAffinity(binding.spec.placement), base)
  return !isOfPolicy || [base, effectiveAffinity(stored?.spec.placement)].some((each) => jsonEqual(each, affinity))
}
