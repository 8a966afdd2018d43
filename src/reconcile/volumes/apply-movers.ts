/** Applies the plan of a VolumeManager: creates movers first, then writes the status and everything else, and keeps Pods whose log is unread. */
import { keyOfObject } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import type { Action, Plan } from '../../core/plan.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import { isEnded } from '../../core/volume-manager/pod-use.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { managerMovers } from '../../queries/own-movers.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan, applyWrite } from '../apply.ts'
import { type CreationContext, createMovers, isMoverCreation } from './create-movers.ts'
import type { MoverMemory } from './memory.ts'
import type { MoverLogs } from './mover-logs.ts'

/** The delay until the next check whether the log of a mover was read. */
const LOG_MS = 250

export interface ApplyContext extends CreationContext {
  /** Reads the logs of movers before they are deleted; absent if there are none. */
  logs: MoverLogs | undefined
  /** Returns the plan after the API server rejected movers, with those that it created. */
  planAgain(created: readonly Pod[]): Plan
}

type Deletion = Extract<Action, { kind: 'delete' }>

/** Applies a plan. Returns the delay until the next run in ms; undefined if no run is needed. */
export async function applyMovers(first: Plan, context: ApplyContext): Promise<number | undefined> {
  const { stopping } = context.memory
  // Before the first await, so that another run preempts no other mover for the same slot.
  const unstopped = new Set(first.actions.filter(isStop).map(({ object }) => keyOfObject(object)))
  for (const mover of unstopped) stopping.add(mover)
  try {
    const movers = await createMovers(first.actions.filter(isMoverCreation), context)
    const plan = movers.isRejected ? context.planAgain(movers.created) : first
    const isLogUnread = await applyOthers(plan, context, unstopped)
    return isLogUnread ? LOG_MS : plan.requeueAfterMs
  } finally {
    for (const mover of unstopped) stopping.delete(mover)
  }
}

/** Applies the other actions, in order. Returns whether a Pod was kept because its log is being read. */
async function applyOthers({ actions }: Plan, context: ApplyContext, unstopped: Set<string>): Promise<boolean> {
  let isLogUnread = false
  for (const action of actions) {
    if (isMoverCreation(action)) continue
    if (isDeletionOfEnded(action)) isLogUnread = !(await deleteEnded(action, context)) || isLogUnread
    else if (isStop(action)) await stopMover(action, context, unstopped)
    else await applyPlan(context, { actions: [action] })
  }
  return isLogUnread
}

/** Deletes an ended mover when its log was read. Returns false if the log is being read; the plan has the status before the deletions. */
async function deleteEnded(deletion: Deletion, context: ApplyContext): Promise<boolean> {
  const { logs, settings } = context
  if (logs?.collect(deletion.object as Pod, settings.logLines) === false) return false
  await applyPlan(context, { actions: [deletion] })
  return true
}

async function stopMover(deletion: Deletion, context: ApplyContext, unstopped: Set<string>): Promise<void> {
  await applyPlan(context, { actions: [deletion] })
  unstopped.delete(keyOfObject(deletion.object))
}

/** Whether an action deletes an ended mover. The log of a mover that is still running is not complete. */
function isDeletionOfEnded(action: Action): action is Deletion {
  return action.kind === 'delete' && action.type.kind === pods.kind && isEnded((action.object as Pod).status)
}

/** Whether an action stops a mover: its slot is free when its Pod has ended. */
function isStop(action: Action): action is Deletion {
  return action.kind === 'delete' && action.type.kind === pods.kind && !isEnded((action.object as Pod).status)
}

/** Deletes the movers of a VolumeManager that was deleted in spite of its finalizer. */
export async function deleteMovers(
  key: string,
  store: ObjectStore,
  settings: VolumeSettings['movers'],
  { created }: MoverMemory,
): Promise<void> {
  const uncached = [...created.values()].filter((pod) => readTask(pod)?.manager === key)
  for (const { metadata } of uncached) {
    const pod = await store.read(pods, metadata.namespace, metadata.name ?? '')
    if (pod) await deleteMover(pod, store)
    created.delete(keyOfObject({ metadata }))
  }
  for (const pod of managerMovers(store, key, settings)) await deleteMover(pod, store)
}

async function deleteMover(pod: Pod, store: ObjectStore): Promise<void> {
  if (!pod.metadata.deletionTimestamp) await applyWrite(store, { kind: 'delete', type: pods, object: pod })
}
