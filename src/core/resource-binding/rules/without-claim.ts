/** The rules of a workload without one of its claims: it stays with its data until a successor of the claim may have come. */
import { jsonEqual } from '../../../base/json.ts'
import { msSince } from '../../../base/time/clock-jumps.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import { demandsSame } from '../../placement/constraint.ts'
import { holdAnnotation, stateSince } from '../hold.ts'
import { claimUnknown } from '../hold-cause.ts'
import { constraintIn, type ParsedInput } from '../parse-input.ts'
import { type PlacementDecision, relaxed } from '../placement-decision.ts'
import { RELEASE_DELAY } from '../timing.ts'
import { holdOrApplyBase } from './not-scheduled.ts'
import { giveBaseBack, keep } from './scheduled.ts'
import type { Situation } from './situation.ts'

/** Keeps the narrowing or the hold. Does not apply to a binding without both. */
export function keepWhileUnknown(situation: Situation): PlacementDecision | undefined {
  const { input, base } = situation
  const { claimsUnknown: why } = input
  if (why === undefined) return undefined
  const { locality: last, hold } = input.stored ? input.storedAnnotations : input.annotations
  if (last) {
    const decision =
      last.state === 'Relaxed' ? relaxed(input, base, constraintIn(last), last.message) : keep(situation, last, why)
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

/**
 * Keeps a narrowed, scheduled workload for a while after a claim is gone: a claim that is replaced is deleted first. Does not apply
 * if another claim appeared, if the rest of the claims demands the same, or if the workload cannot stay.
 */
export function awaitSuccessor(situation: Situation): PlacementDecision | undefined {
  const { input, last } = situation
  if (!last || last.state === 'Relaxed' || !input.isScheduled) return undefined
  const { annotations, claims, constraint, storedAnnotations, now } = input
  const names = claims.map(({ claim }) => claim)
  const isWaiting = last.state === 'Kept' && last.since !== undefined
  const lostOne = last.claims.some((name) => !names.includes(name))
  const gotOne = names.some((name) => !last.claims.includes(name))
  // Without a name, the last claim was gone before the claims became unknown.
  const isMissing = lostOne || isWaiting || last.claims.length === 0
  if (gotOne || !isMissing || demandsSame(constraintIn(last), constraint)) return undefined
  if (input.leavesMovesToLoop && endsWait(input)) return undefined
  const [stored, sent] = [storedAnnotations, annotations].map(({ locality }) => locality?.since)
  // Each claim may have a successor, so the loss of another one begins a new wait.
  const isSameWait = isWaiting && !lostOne
  const since = isSameWait
    ? stateSince(stored, sent, now)
    : stateSince(undefined, sent === stored ? undefined : sent, now)
  if (!input.leavesMovesToLoop && msSince(since, input) >= input.timing.releaseDelayMs) return undefined
  const what = names.length === 0 ? 'no claim is left for this workload' : 'a claim of this workload is gone'
  const why = `${what}; it stays with its data until ${RELEASE_DELAY} is over, unless a claim is created again`
  const kept = keep(situation, last, why, since)
  return kept.state === 'Kept' ? kept : undefined
}

/**
 * Gives the base back. A replica that has an older policy than Karmada's detector may give back an older base. So admission keeps the recorded base,
 * and the loop removes it after it has read the policy from the API server.
 */
export function restore(situation: Situation): PlacementDecision {
  const decision = giveBaseBack(situation, 'Restored', 'no claim is left for this workload')
  if (decision.state !== 'Restored' || !isUnchecked(situation)) return decision
  return { ...decision, annotations: { base: situation.base } }
}

/**
 * Whether admission replaces the affinity of a write by a base that was recorded, or did so in an earlier call for this request. A lazy policy shows
 * nothing.
 */
function isUnchecked({ input, base }: Situation): boolean {
  const { binding, leavesMovesToLoop, policy, annotations, storedAnnotations } = input
  if (!leavesMovesToLoop || policy?.lazy || !storedAnnotations.base) return false
  return annotations.base !== undefined || !jsonEqual(base, effectiveAffinity(binding.spec.placement))
}

/**
 * Whether a write ends the wait for a successor. Karmada keeps annotations. So an annotation without the claim that is gone is from the loop.
 * A write without our annotation is from the loop too, or from a user who removes the narrowing by hand.
 */
function endsWait({ annotations: { locality }, storedAnnotations, claims }: ParsedInput): boolean {
  if (!locality) return true
  // The loop keeps a narrowing without a claim while the claims are unknown. It relaxes one if the workload has lost its clusters.
  if (locality.claims.length === 0) return locality.state === 'Relaxed'
  const isNew = locality.since === undefined && !jsonEqual(locality, storedAnnotations.locality)
  return isNew && locality.claims.every((name) => claims.some(({ claim }) => claim === name))
}
