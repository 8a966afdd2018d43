/** The decision on the placement of a binding: its states, and how each is built. */
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { cut } from '../outcome.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { isScaledToZero } from '../placement/binding-state.ts'
import type { DataConstraint } from '../placement/constraint.ts'
import { nameGroups, skipsFirstGroup, withoutRound } from '../placement/group-names.ts'
import type { LocalityAnnotation } from './annotations.ts'
import { holdMessage, MAX_MESSAGE_LENGTH, whereIs } from './hold-cause.ts'
import type { ParsedInput, ResolvedAnnotations } from './parse-input.ts'
import { recordReturn } from './returns.ts'

/**
 * - Narrowed: the affinity allows only the clusters with the data, or tries them first.
 * - OnHold: the workload is not scheduled until the location is known and satisfiable.
 * - Kept: the workload stays where it is. The location is unknown, or the clusters with the data cannot take it. Or the data moved and the
 *   workload may not follow (yet), or its last claim was deleted a moment ago.
 * - Relaxed: the base affinity applies, since the narrowed affinity would delete the workload or is outside of the base.
 * - Released: the hold exceeded its timeout; the base affinity applies.
 * - Ignored: the base affinity applies: the claims allow scheduling without a known or satisfiable location, or the workload does not move
 *   yet.
 * - Restored: no claim is left; the base affinity applies, and the annotations are removed. Admission may leave the base to the loop.
 */
export type PlacementState = 'Narrowed' | 'OnHold' | 'Kept' | 'Relaxed' | 'Released' | 'Ignored' | 'Restored'

export interface PlacementDecision {
  state: PlacementState
  affinity: PlacementAffinity
  annotations: ResolvedAnnotations
  /** The reason, as a sentence. */
  message: string
}

/** Returns a decision for the affinity before narrowing, without annotations. */
export function applyBase(state: PlacementState, base: PlacementAffinity, message: string): PlacementDecision {
  return { state, affinity: base, annotations: {}, message }
}

interface NarrowedBase {
  base: PlacementAffinity
  constraint: DataConstraint
  affinity: PlacementAffinity
  round: number
}

/** Why a workload stays where it is. */
export interface Stay {
  state?: 'Narrowed' | 'Kept'
  /** Added to where its data is, if the narrowing is new. */
  why?: string
  /** RFC 3339: since when it waits to move. */
  since?: string
}

/** Applies a narrowing. `stay`: set if the workload stays where it is all the same. */
export function narrowed(
  input: ParsedInput,
  { base, constraint, affinity, round }: NarrowedBase,
  { state, why, since }: Stay = {},
): PlacementDecision {
  const decided = state ?? 'Narrowed'
  const where = decided === 'Narrowed' ? input.claims.map(whereIs) : []
  const message = holdMessage(why === undefined ? where : [...where, why])
  const locality = localityAnnotation(input, { state: decided, constraint, message, round, since })
  return { state: decided, affinity, annotations: { base, locality }, message }
}

/**
 * Applies the base. If the scheduler would skip groups of the base, since it chose a later one before, their names change, and it begins with
 * the first.
 */
export function relaxed(
  input: ParsedInput,
  base: PlacementAffinity,
  constraint: DataConstraint,
  message: string,
  since?: string,
): PlacementDecision {
  const { binding, storedAnnotations, isPlaced, observedGroup } = input
  const before = groupNameRound(input)
  // A workload without replicas has no clusters, although the scheduler has chosen a group. New names at each choice would never end.
  const isWaiting = !isPlaced && !isScaledToZero(binding.spec)
  const isNew = storedAnnotations.locality?.state !== 'Relaxed' || isWaiting
  const skips = isNew && skipsFirstGroup(nameGroups(base, before), observedGroup)
  const round = skips ? before + 1 : before
  const locality = localityAnnotation(input, { state: 'Relaxed', constraint, message, round, since })
  return { state: 'Relaxed', affinity: nameGroups(base, round), annotations: { base, locality }, message }
}

interface LocalityFields {
  state: LocalityAnnotation['state']
  constraint: DataConstraint
  message: string
  round?: number
  since?: string | undefined
}

function localityAnnotation(
  input: ParsedInput,
  { state, constraint, message, round = 0, since }: LocalityFields,
): LocalityAnnotation {
  const { required, requiredDigest, preferred, rankedFrom } = constraint
  const returned = recordReturn(input, defined({ state, since, round }))
  const written: LocalityAnnotation = {
    state,
    message: cut(message, MAX_MESSAGE_LENGTH),
    claims: input.claims.map(({ claim }) => claim),
  }
  if (required) written.required = required
  if (requiredDigest) written.requiredDigest = requiredDigest
  if (preferred) written.preferred = preferred
  if (rankedFrom) written.rankedFrom = rankedFrom
  if (since) written.since = since
  if (round > 0) written.round = round
  if (returned) written.returned = returned
  return written
}

/** Keeps a scheduled workload that was never narrowed where it is: the base affinity applies, and the annotation says why. */
export function keptInBase(input: ParsedInput, base: PlacementAffinity, message: string): PlacementDecision {
  const annotations = { base, locality: localityAnnotation(input, { state: 'Kept', constraint: {}, message }) }
  return { state: 'Kept', affinity: base, annotations, message }
}

/** The round of the names of groups. A new one comes with the write of the loop. */
export function groupNameRound({ annotations, storedAnnotations }: ParsedInput): number {
  return annotations.locality?.round ?? storedAnnotations.locality?.round ?? 0
}

/** The stored affinity as a base. Its groups may have the names of a round, which the decision gives them again. */
export function storedBase(input: ParsedInput, { spec }: ResourceBinding): PlacementAffinity {
  return withoutRound(effectiveAffinity(spec.placement), groupNameRound(input))
}
