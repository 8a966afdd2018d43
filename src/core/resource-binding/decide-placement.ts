/** Decides on a binding for a given base: its affinity, its hold and its annotations. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../data-source-claim/locate.ts'
import { withAffinity } from '../placement/affinity.ts'
import { type DataConstraint, demandsSame } from '../placement/constraint.ts'
import { narrowPlacement } from '../placement/narrow.ts'
import type { LocalityAnnotation } from './annotations.ts'
import { holdAnnotation } from './hold.ts'
import {
  describeUnlocated,
  type HoldCause,
  missingClaim,
  nowhere,
  sentenceOf,
  shortest,
  unresolved,
  unsatisfiable,
  whereIs,
} from './hold-cause.ts'
import { constraintIn, type ParsedInput, type ResolvedAnnotations } from './parse-input.ts'
import { mayMove } from './rebalance.ts'

/**
 * - Narrowed: the affinity allows only the clusters with the data, or tries them first.
 * - OnHold: the workload is not scheduled until the location is known and satisfiable.
 * - Kept: the workload is scheduled and the last narrowing stays: the location is unknown, or the data moved and the workload may not
 *   follow (yet).
 * - Relaxed: the base affinity applies, since the narrowed affinity would delete the workload or is outside of the base.
 * - Released: the hold exceeded its timeout; the base affinity applies.
 * - Ignored: the base affinity applies: the claims allow scheduling without a known or satisfiable location, or the workload does not move
 *   yet.
 * - Restored: no claim is left; the base affinity applies, and the annotations are removed.
 */
export type PlacementState = 'Narrowed' | 'OnHold' | 'Kept' | 'Relaxed' | 'Released' | 'Ignored' | 'Restored'

export interface PlacementDecision {
  state: PlacementState
  affinity: PlacementAffinity
  annotations: ResolvedAnnotations
  /** The reason, as a sentence. */
  message: string
}

/** Decides for one base. Pure and deterministic: the same input gives the same bytes, and the order of the claims does not matter. */
export function decidePlacement(input: ParsedInput, base: PlacementAffinity): PlacementDecision {
  const { claims, constraint } = input
  if (claims.length === 0) {
    return lacksRequiredClaim(input)
      ? holdOrApplyBase(input, base, [missingClaim])
      : applyBase('Restored', base, 'no claim is left for this workload')
  }
  const last = (input.stored ? input.storedAnnotations : input.annotations).locality
  const unknown = claims.filter(({ answer }) => answer.kind === 'unknown')
  const causes = [...unresolved(claims), ...nowhere(claims)]
  if (input.isScheduled) {
    if (last && unknown.length + causes.length > 0) return keep(input, base, last, describeUnlocated(claims))
    if (last && !demandsSame(constraintIn(last), constraint) && !mayMove(input.binding.spec.resource, claims)) {
      return keep(input, base, last, 'the data moved; rebalance does not allow the workload to follow')
    }
    if (last?.state === 'Relaxed' && !mayMove(input.binding.spec.resource, claims)) {
      // The workload runs without its data since an eviction or a change of its policy. To move it back is a move like any other.
      return relaxed(
        input,
        base,
        constraint,
        'the base affinity applies since an eviction or a change of the policy; rebalance does not allow the workload to move back',
      )
    }
  }
  if (causes.length > 0)
    return input.isScheduled
      ? applyBase('Ignored', base, describeUnlocated(claims))
      : holdOrApplyBase(input, base, causes)
  // No data is located. Without an annotation, the first real narrowing does not count as a move of the data.
  if (!constraint.required && !constraint.preferred) return applyBase('Ignored', base, describeUnlocated(claims))
  const narrowing = narrow(input, base, constraint)
  if (narrowing.kind === 'narrowed') {
    const waiting = isLeftToLoop(input, narrowing.allowed) ? keepUntilMoved(input, base, last) : undefined
    return waiting ?? narrowed(input, { base, constraint, ...narrowing })
  }
  if (input.isScheduled) {
    return last ? keep(input, base, last, narrowing.reason) : applyBase('Ignored', base, narrowing.reason)
  }
  return holdOrApplyBase(input, base, [unsatisfiable(claims, narrowing.reason)])
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

const TOO_LARGE =
  'the base affinity does not fit into the annotations of the binding; use fewer or shorter cluster affinities, or fewer annotations'

/** Whether this write would move the workload to its data and is not from the loop. The loop sends the locality annotation of the move. */
function isLeftToLoop(
  { leavesMovesToLoop, binding, stored, annotations, constraint }: ParsedInput,
  allowed: string[] | undefined,
): boolean {
  if (!leavesMovesToLoop || allowed === undefined) return false
  if (annotations.locality && demandsSame(constraintIn(annotations.locality), constraint)) return false
  // Compares the stored and the sent clusters: a cluster that the scheduler chose in this write is not lost by a move.
  const runsIn = new Set(stored?.spec.clusters?.map(({ name }) => name))
  const mayRunIn = new Set(allowed)
  return binding.spec.clusters?.some(({ name }) => runsIn.has(name) && !mayRunIn.has(name)) ?? false
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

function applyBase(state: PlacementState, base: PlacementAffinity, message: string): PlacementDecision {
  return { state, affinity: base, annotations: {}, message }
}

/** Applies the last narrowing again: Lodestone never moves a running workload because a location is unknown. */
function keep(input: ParsedInput, base: PlacementAffinity, last: LocalityAnnotation, why: string): PlacementDecision {
  const constraint = constraintIn(last)
  const narrowing = narrow(input, base, constraint)
  return narrowing.kind === 'narrowed'
    ? narrowed(input, { base, constraint, ...narrowing }, why)
    : relaxed(input, base, constraint, `${why}; the policy no longer allows the clusters of the last narrowing`)
}

function narrow(input: ParsedInput, base: PlacementAffinity, constraint: DataConstraint) {
  return narrowPlacement({
    base: withAffinity(input.binding.spec.placement ?? {}, base),
    constraint,
    clusters: input.clusters,
    isWorkload: input.isWorkload,
  })
}

interface NarrowedBase {
  base: PlacementAffinity
  constraint: DataConstraint
  affinity: PlacementAffinity
  /** Every cluster that the affinity allows; undefined if no data is required. */
  allowed: string[] | undefined
}

/** Applies a narrowing. `keptBecause`: why the last one is applied again. */
function narrowed(
  input: ParsedInput,
  { base, constraint, affinity, allowed }: NarrowedBase,
  keptBecause?: string,
): PlacementDecision {
  const evicted = new Set(input.binding.spec.gracefulEvictionTasks?.map(({ fromCluster }) => fromCluster))
  if (allowed?.every((name) => evicted.has(name))) {
    // Karmada excludes clusters under eviction. A hard affinity to these clusters alone would delete the workload (karmada#7455).
    return relaxed(input, base, constraint, `every cluster with the data is being evicted: ${allowed.join(', ')}`)
  }
  const state = keptBecause === undefined ? 'Narrowed' : 'Kept'
  const message = keptBecause ?? sentenceOf(input.claims.map(whereIs))
  return {
    state,
    affinity,
    annotations: { base, locality: localityAnnotation(state, input.claims, constraint, message) },
    message,
  }
}

function relaxed(
  input: ParsedInput,
  base: PlacementAffinity,
  constraint: DataConstraint,
  message: string,
): PlacementDecision {
  return {
    state: 'Relaxed',
    affinity: base,
    annotations: { base, locality: localityAnnotation('Relaxed', input.claims, constraint, message) },
    message,
  }
}

function localityAnnotation(
  state: LocalityAnnotation['state'],
  claims: readonly ClaimAnswer[],
  { required, requiredDigest, preferred }: DataConstraint,
  message: string,
): LocalityAnnotation {
  const written: LocalityAnnotation = { state, message, claims: claims.map(({ claim }) => claim) }
  if (required) written.required = required
  if (requiredDigest) written.requiredDigest = requiredDigest
  if (preferred) written.preferred = preferred
  return written
}
