/** Moves of workloads to their data: those that are due, those that happen, and the last one of each workload. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { type ObjectReference, plainReference } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { affinityTerms, effectiveAffinity } from '../../core/placement/affinity.ts'
import { isWorkload, targetClusters } from '../../core/placement/binding-state.ts'
import type { LocalityAnnotation } from '../../core/resource-binding/annotations.ts'
import { waitMs } from '../../core/resource-binding/returns.ts'
import type { PlacementTiming } from '../../core/resource-binding/timing.ts'
import { describeAffinity } from '../explain/placement.ts'
import type { DecidedBinding } from './workloads.ts'

/**
 * - Moving: the workload still runs in a cluster that its placement excludes; Karmada's scheduler moves it.
 * - Returning: the workload returns to its data at `due`.
 * - Releasing: its claim is gone; it loses its narrowing at `due`.
 * - Staying: it is not with its data, and does not move: the message says why.
 * - Placed: it is where its data is.
 */
export type MoveState = 'Moving' | 'Returning' | 'Releasing' | 'Staying' | 'Placed'

/** A workload that a decision places. A binding has its last decision only: the Events have those before it. */
export interface MoveRow {
  workload: ObjectReference
  state: MoveState
  /** Why: the sentence of the annotation, the Event and `explain`. */
  message: string
  /** The clusters where it runs. */
  clusters: string[]
  /** The clusters that are allowed, in words. */
  allowed: string
  /** Since when it waits for its return or its release. */
  since?: string
  /** When the wait ends, if nothing changes; by the configuration of the page. */
  due?: string
  /** When Karmada last scheduled it. */
  scheduledTime?: string
  decisionId: string
}

/** Reports the bindings with a narrowing, or with the reason why there is none. Workloads on hold run nowhere: they do not move. */
export function moveRows(decided: readonly DecidedBinding[], timing: PlacementTiming): MoveRow[] {
  return decided.flatMap(({ binding, hold, locality, decisionId }) =>
    locality && !hold ? [moveRow(binding, locality, decisionId, timing)] : [],
  )
}

function moveRow(
  binding: ResourceBinding,
  locality: LocalityAnnotation,
  decisionId: string,
  timing: PlacementTiming,
): MoveRow {
  const { message, since } = locality
  const state = moveState(binding, locality)
  return {
    workload: plainReference(binding.spec.resource),
    state,
    message,
    clusters: targetClusters(binding.spec),
    allowed: describeAffinity(effectiveAffinity(binding.spec.placement)),
    ...defined({
      since: since || undefined,
      due: since && new Date(Date.parse(since) + waitMs(locality, timing)).toISOString(),
      scheduledTime: binding.status?.lastScheduledTime || undefined,
    }),
    decisionId,
  }
}

function moveState(binding: ResourceBinding, { state, since }: LocalityAnnotation): MoveState {
  if (since !== undefined) return state === 'Kept' ? 'Releasing' : 'Returning'
  if (state !== 'Narrowed') return 'Staying'
  return isExcluded(binding) ? 'Moving' : 'Placed'
}

/** Whether the placement names clusters, and the workload runs in another one. */
function isExcluded({ spec }: ResourceBinding): boolean {
  const terms = affinityTerms(effectiveAffinity(spec.placement), isWorkload(spec))
  if (terms.some(({ clusterNames }) => !clusterNames?.length)) return false
  const allowed = new Set(terms.flatMap(({ clusterNames = [] }) => clusterNames))
  return targetClusters(spec).some((name) => !allowed.has(name))
}
