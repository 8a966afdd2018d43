/** The condition `WorkloadPlaced` of a claim: whether its workload is scheduled, where, and why it is not with its data. */
import { MANAGED_BY_LABEL, type ResourceBinding } from '../../api/karmada.ts'
import type { Condition } from '../../api/meta.ts'
import { type ConditionState, condition, findCondition } from '../../base/conditions.ts'
import { listNames } from '../../base/names.ts'
import { cut } from '../outcome.ts'
import { isScaledToZero, isSuspended, occupiedClusters, schedulingFailure } from '../placement/binding-state.ts'
import { type LocalityAnnotation, readDecision } from '../resource-binding/annotations.ts'
import { activeHold } from '../resource-binding/hold-not-honored.ts'
import { narrowedClusters } from '../resource-binding/kept-to-data.ts'
import { policyReferenceOf } from '../resource-binding/policy.ts'
import type { PlacedReason } from '../signal-tables.ts'

export const WORKLOAD_PLACED = 'WorkloadPlaced'

/** In characters; it must fit into the status of each claim of the workload. */
const MAX_LENGTH = 1024

/**
 * Returns the condition for the binding of the workload. Its reasons are:
 *
 * - Placed: the workload is scheduled to clusters that its narrowing allows. If preferred data is elsewhere, the message says where.
 * - Kept, Relaxed: as the states of a placement; the message says why. Kept also if the scheduler does not move the workload to its data.
 * - NotNarrowed: the workload is scheduled, and the claim does not choose its clusters.
 * - OnHold: the message has the cause.
 * - NotScheduled: Karmada's scheduler has not chosen a cluster, or does not look at the workload.
 *
 * A workload without replicas needs no cluster, and no condition.
 *
 * @param before the conditions of the claim. A workload that is about to be scheduled for the first time needs no condition.
 * @returns undefined if there is nothing to say
 */
export function workloadPlaced(
  bindings: readonly ResourceBinding[],
  before: readonly Condition[] | undefined,
): (ConditionState & { reason: PlacedReason }) | undefined {
  const binding = placedBinding(bindings)
  if (!binding) return undefined
  const { placed, reason, message } = bindingPlacement(binding)
  if (reason === 'NotScheduled') {
    const isAwaited = isNew(binding) && placedReason(before) === undefined && whyNotTried(binding) === undefined
    if (isEmpty(binding) || isAwaited) return undefined
  }
  return condition(WORKLOAD_PLACED, placed, reason, cut(message, MAX_LENGTH))
}

/** Whether the scheduler has not tried to schedule a binding, or has succeeded. */
function isNew(binding: ResourceBinding): boolean {
  return schedulingFailure(binding) === undefined
}

/** Whether the scheduler removed a workload from all clusters since it has no replicas. */
function isEmpty(binding: ResourceBinding): boolean {
  return isScaledToZero(binding.spec) && isNew(binding)
}

/** Returns the binding that places the workload; the others are attached to those of other workloads. */
export function placedBinding(bindings: readonly ResourceBinding[]): ResourceBinding | undefined {
  return bindings.find(({ spec }) => spec.placement !== undefined)
}

function bindingPlacement(binding: ResourceBinding): { placed: boolean; reason: PlacedReason; message: string } {
  const hold = activeHold(binding)
  if (hold) return { placed: false, reason: 'OnHold', message: hold.message }
  const { locality } = readDecision(binding.metadata.annotations)
  const names = occupiedClusters(binding.spec)
  if (names.length === 0) {
    const why = locality && locality.state !== 'Narrowed' ? `: ${locality.message}` : ''
    const failure = schedulingFailure(binding)
    const failed = failure === undefined ? '' : ` (${failure}; see the condition Scheduled of the binding)`
    return {
      placed: false,
      reason: 'NotScheduled',
      message: `${whyNotTried(binding) ?? 'the scheduler has not chosen a cluster yet'}${failed}${why}`,
    }
  }
  const runsIn = `the workload is scheduled to ${listNames(names, MAX_SHOWN)}`
  if (!locality) return { placed: true, reason: 'NotNarrowed', message: runsIn }
  const stays = locality.state === 'Narrowed' ? whyNotMoved(binding) : undefined
  if (stays) return { placed: true, reason: 'Kept', message: `${runsIn}; ${locality.message}; ${stays}` }
  return locality.state === 'Narrowed'
    ? { placed: true, reason: 'Placed', message: isAway(locality, names) ? `${runsIn}; ${locality.message}` : runsIn }
    : { placed: true, reason: locality.state, message: `${runsIn}; ${locality.message}` }
}

/** Whether a workload waits to return to its data, or runs in a cluster without the preferred data. */
function isAway({ since, preferred }: LocalityAnnotation, names: readonly string[]): boolean {
  if (since !== undefined) return true
  return preferred !== undefined && names.some((name) => !preferred.some((tier) => tier.includes(name)))
}

/**
 * Returns why the scheduler does not look at a workload; undefined if it does. It ignores changes of a binding without a policy, except
 * that of a MultiClusterService (v1.18.1, pkg/scheduler/event_handler.go, resourceBindingEventFilter).
 */
function whyNotTried({ metadata, spec }: ResourceBinding): string | undefined {
  if (isSuspended(spec)) return 'another client has suspended its scheduling'
  const isSelected = policyReferenceOf(metadata) !== undefined || metadata.labels?.[MANAGED_BY_LABEL] !== undefined
  return isSelected
    ? undefined
    : 'no policy selects the workload any more, so the scheduler looks at it only when a cluster changes'
}

/** Returns why the scheduler does not move a workload to its data; undefined if it is there, or is about to move. */
function whyNotMoved(binding: ResourceBinding): string | undefined {
  const data = narrowedClusters(binding.metadata)
  if (!data || occupiedClusters(binding.spec).every((name) => data.has(name))) return undefined
  if (isSuspended(binding.spec)) return 'another client has suspended its scheduling, so it does not move there'
  const failure = schedulingFailure(binding)
  return failure
    ? `the scheduler could not move it there (${failure}; see the condition Scheduled of the binding)`
    : whyNotTried(binding)
}

const MAX_SHOWN = 5

/** Returns the reason of the condition that a claim has; undefined if it has none. */
export function placedReason(conditions: readonly Condition[] | undefined): string | undefined {
  return findCondition(conditions, WORKLOAD_PLACED)?.reason
}

/** Whether a change to this reason deserves a Warning: the workload does not run, or not with its data. */
export function isPlacedWarning(reason: string): boolean {
  return reason === 'OnHold' || reason === 'Relaxed' || reason === 'Kept'
}
