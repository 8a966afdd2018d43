/** The condition `WorkloadPlaced` of a claim: whether its workload is scheduled, where, and why it is not with its data. */
import type { ResourceBinding } from '../../api/karmada.ts'
import type { Condition } from '../../api/meta.ts'
import { type ConditionState, condition } from '../../base/conditions.ts'
import { listNames } from '../../base/names.ts'
import { cut } from '../outcome.ts'
import { readDecision } from '../resource-binding/annotations.ts'
import { activeHold } from '../resource-binding/hold-not-honored.ts'
import type { PlacedReason } from '../signal-tables.ts'

export const WORKLOAD_PLACED = 'WorkloadPlaced'

/** In characters; it must fit into the status of each claim of the workload. */
const MAX_LENGTH = 1024

/**
 * Returns the condition for the binding of the workload. Its reasons are:
 *
 * - Placed: the workload is scheduled to clusters that its narrowing allows.
 * - Kept, Relaxed: as the states of a placement; the message says why.
 * - NotNarrowed: the workload is scheduled, and the claim does not choose its clusters.
 * - OnHold: the message has the cause.
 * - NotScheduled: Karmada's scheduler has not chosen a cluster yet.
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
  if (reason === 'NotScheduled' && placedReason(before) === undefined) return undefined
  return condition(WORKLOAD_PLACED, placed, reason, cut(message, MAX_LENGTH))
}

/** Returns the binding that places the workload; the others are attached to those of other workloads. */
export function placedBinding(bindings: readonly ResourceBinding[]): ResourceBinding | undefined {
  return bindings.find(({ spec }) => spec.placement !== undefined)
}

function bindingPlacement(binding: ResourceBinding): { placed: boolean; reason: PlacedReason; message: string } {
  const hold = activeHold(binding)
  if (hold) return { placed: false, reason: 'OnHold', message: hold.message }
  const { locality } = readDecision(binding.metadata.annotations)
  const names = binding.spec.clusters?.map(({ name }) => name) ?? []
  if (names.length === 0) {
    const why = locality && locality.state !== 'Narrowed' ? `: ${locality.message}` : ''
    return { placed: false, reason: 'NotScheduled', message: `the scheduler has not chosen a cluster yet${why}` }
  }
  const runsIn = `the workload is scheduled to ${listNames(names, MAX_SHOWN)}`
  if (!locality) return { placed: true, reason: 'NotNarrowed', message: runsIn }
  return locality.state === 'Narrowed'
    ? { placed: true, reason: 'Placed', message: locality.since ? `${runsIn}; ${locality.message}` : runsIn }
    : { placed: true, reason: locality.state, message: `${runsIn}; ${locality.message}` }
}

const MAX_SHOWN = 5

/** Returns the reason of the condition that a claim has; undefined if it has none. */
export function placedReason(conditions: readonly Condition[] | undefined): string | undefined {
  return conditions?.find(({ type }) => type === WORKLOAD_PLACED)?.reason
}

/** Whether a change to this reason deserves a Warning: the workload does not run, or not with its data. */
export function isPlacedWarning(reason: string): boolean {
  return reason === 'OnHold' || reason === 'Relaxed' || reason === 'Kept'
}
