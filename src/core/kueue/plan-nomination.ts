/** Plans for a Workload of MultiKueue: writes its nominated clusters, says why none is nominated, and stops for another dispatcher. */
import { KUEUE_ADMISSION_MANAGER, type KueueWorkload, kueueWorkloads } from '../../api/kueue.ts'
import { apiVersionOf, nameOfObject } from '../../api/meta.ts'
import { type ConditionState, condition, withConditions } from '../../base/conditions.ts'
import { isObject, isSameSet, jsonEqual } from '../../base/json.ts'
import { type EventAction, NOTHING, type PatchAction, type Plan, statusPatchOf } from '../plan.ts'
import type { NominationDecision } from './decide-nomination.ts'
import { appliedFields } from './managed-fields.ts'
import { NOMINATED, nominatedClusters } from './workload-state.ts'

/**
 * Plans at most one write: the nomination, or when that is as decided, the condition. MultiKueue copies the Workload to all of its clusters at
 * once, so another order needs no write. A Workload that was never on hold gets no condition.
 *
 * @param workload as the API server has it: the managed fields decide what a write contains
 * @param now in ms since the epoch
 */
export function planNomination(workload: KueueWorkload, { clusters, message }: NominationDecision, now: number): Plan {
  const isOnHold = clusters.length === 0
  if (isSameSet(clusters, nominatedClusters(workload))) {
    if (isOnHold) return planCondition(workload, condition(NOMINATED, false, 'OnHold', message), now)
    const wasOnHold = workload.status?.conditions?.some(({ type }) => type === NOMINATED)
    return wasOnHold ? planCondition(workload, condition(NOMINATED, true, 'Nominated', message), now) : NOTHING
  }
  const nomination = writeNomination(workload, clusters)
  if (isOnHold) return { actions: [nomination] }
  const text = `nominated ${clusters.join(', ')}: ${message}`
  return { actions: [nomination, event(workload, 'ClustersNominated', text)] }
}

/** Plans for a Workload whose nominations another dispatcher changes: says so, and leaves them. */
export function planOverruled(workload: KueueWorkload, now: number): Plan {
  return planCondition(workload, condition(NOMINATED, false, 'OtherDispatcher', OTHER_DISPATCHER), now)
}

const OTHER_DISPATCHER =
  'another dispatcher changes the nomination; set multiKueue.dispatcherName of Kueue to lodestone.dev/dispatcher'

/** Plans the condition, with an Event if it is False. */
function planCondition(workload: KueueWorkload, state: ConditionState, now: number): Plan {
  const before = workload.status?.conditions ?? []
  const conditions = withConditions(before, [state], workload.metadata.generation, now)
  const ours = (list: typeof before) => list.find(({ type }) => type === NOMINATED)
  if (jsonEqual(ours(conditions), ours(before))) return NOTHING
  const write = statusPatchOf(kueueWorkloads, workload, { conditions })
  return { actions: [write, ...(state.status === 'False' ? [event(workload, 'NominationOnHold', state.message)] : [])] }
}

/**
 * Returns a server-side apply in the name of Kueue, which removes the nomination with an apply of the same manager. It has all fields that
 * Kueue applied, with their present values, so it changes no other field.
 */
function writeNomination(workload: KueueWorkload, nominatedClusterNames: readonly string[]): PatchAction {
  const { name, namespace, uid, resourceVersion } = workload.metadata
  const { status } = appliedFields(workload, KUEUE_ADMISSION_MANAGER, 'status')
  return {
    kind: 'patch',
    of: { type: kueueWorkloads, ...nameOfObject(workload) },
    patch: {
      apiVersion: apiVersionOf(kueueWorkloads),
      kind: kueueWorkloads.kind,
      metadata: { name, namespace, uid, resourceVersion },
      status: { ...(isObject(status) && status), nominatedClusterNames },
    },
    subresource: 'status',
    fieldManager: KUEUE_ADMISSION_MANAGER,
  }
}

function event(
  { metadata }: KueueWorkload,
  reason: 'ClustersNominated' | 'NominationOnHold',
  message: string,
): EventAction {
  const about = { apiVersion: apiVersionOf(kueueWorkloads), kind: kueueWorkloads.kind, metadata }
  return { kind: 'event', about, type: reason === 'NominationOnHold' ? 'Warning' : 'Normal', reason, message }
}

/** What Lodestone wrote for a Workload, and how often another writer changed it. */
export interface NominationMemory {
  /** RFC 3339: the reservation of quota to which the rest belongs. */
  since: string
  written: readonly string[]
  changes: number
}

/** Kueue itself changes a nomination once, when another Workload of the same job has a worker cluster. */
const MAX_CHANGES = 3

/**
 * Returns the memory after a look at the present nomination. Kueue removes a nomination when it evicts the Workload or has found its worker, so
 * an empty one is no change of another dispatcher.
 */
export function rememberChange(
  memory: NominationMemory | undefined,
  since: string,
  nominated: readonly string[],
): NominationMemory {
  if (memory?.since !== since) return { since, written: nominated, changes: 0 }
  const isChanged = nominated.length > 0 && !isSameSet(nominated, memory.written)
  return { since, written: nominated, changes: memory.changes + (isChanged ? 1 : 0) }
}

/** Whether another dispatcher nominates the clusters, so that Lodestone stops. */
export function isOverruled({ changes }: NominationMemory): boolean {
  return changes >= MAX_CHANGES
}
