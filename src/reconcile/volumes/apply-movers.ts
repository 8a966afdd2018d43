/** Applies the plan of a VolumeManager after its movers are created: stops movers, keeps Pods whose log is unread, and writes all else. */
import { keyOfObject } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import type { Action, Plan } from '../../core/plan.ts'
import { hasMoverEnded } from '../../core/volume-manager/mover/observed-state.ts'
import { rejectableObject } from '../../core/volume-manager/rejected-writes.ts'
import { applyPlan } from '../apply.ts'
import { type CreationContext, isMoverCreation } from './create-movers.ts'
import type { MoverMemory } from './memory.ts'
import type { MoverLogs } from './mover-logs.ts'
import { refusalOfMover } from './mover-refusal.ts'

/** The delay until the next check whether the log of a mover was read. */
const LOG_MS = 250

export interface ApplyContext extends CreationContext {
  /** Reads the logs of movers before they are deleted; absent if there are none. */
  logs: MoverLogs | undefined
}

type Deletion = Extract<Action, { kind: 'delete' }>

/**
 * Remembers that a plan stops movers, and runs `apply`. Called before the first await of a run, so that another run preempts no other mover
 * for the same slot. Forgets the movers that `apply` did not stop.
 */
export async function whileStopping<T>(
  { actions }: Plan,
  { stopping }: MoverMemory,
  apply: (unstopped: Set<string>) => Promise<T>,
): Promise<T> {
  const unstopped = new Set(actions.filter(isStop).map(({ object }) => keyOfObject(object)))
  for (const mover of unstopped) stopping.add(mover)
  try {
    return await apply(unstopped)
  } finally {
    for (const mover of unstopped) stopping.delete(mover)
  }
}

/**
 * Applies the actions of a plan except the creations of movers, in order.
 *
 * @param unstopped a mover that is stopped is removed from it
 * @returns the delay until the next run in ms; undefined if no run is needed
 */
export async function applyOthers(
  { actions, requeueAfterMs }: Plan,
  context: ApplyContext,
  unstopped: Set<string>,
): Promise<number | undefined> {
  let isLogUnread = false
  const { rejections } = context.retries
  const before = new Map(rejections)
  rejections.clear()
  for (const action of actions) {
    if (isMoverCreation(action)) continue
    if (isDeletionOfEnded(action)) isLogUnread = !(await deleteEnded(action, context)) || isLogUnread
    else if (isStop(action)) await stopMover(action, context, unstopped)
    else await applyUnlessRejected(action, context)
  }
  if (isLogUnread) return LOG_MS
  if (rejections.size === 0) return requeueAfterMs
  // The next plan has the reason in the status.
  const isNew = [...rejections.keys()].some((object) => !before.has(object))
  return isNew ? LOG_MS : Math.min(requeueAfterMs ?? REJECTED_MS, REJECTED_MS)
}

/** How often a rejected write is tried again. */
const REJECTED_MS = 60_000

/**
 * Applies an action. If a quota or a policy rejects the write of another object than a mover, it remembers the reason. The other actions are
 * applied nevertheless, so that the status can have it.
 */
async function applyUnlessRejected(action: Action, context: ApplyContext): Promise<void> {
  const object = rejectableObject(action)
  try {
    await applyPlan(context, { actions: [action] })
  } catch (error) {
    const refusal = object === undefined ? undefined : refusalOfMover(error)
    // An object that was replaced is read again.
    if (object === undefined || refusal === undefined || /\bmetadata\.uid\b/.test(refusal)) throw error
    context.retries.rejections.set(object, refusal)
  }
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
  return action.kind === 'delete' && action.type.kind === pods.kind && hasMoverEnded(action.object as Pod)
}

/** Whether an action stops a mover: its slot is free when its Pod has ended. */
function isStop(action: Action): action is Deletion {
  return action.kind === 'delete' && action.type.kind === pods.kind && !hasMoverEnded(action.object as Pod)
}
