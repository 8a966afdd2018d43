/** The loop of VolumeManagers: applies their movers, node labels, PersistentVolumes and status. */
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Action, Plan } from '../../core/plan.ts'
import type { VolumeManagerInput } from '../../core/volume-manager/input.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import { planVolumeManager } from '../../core/volume-manager/plan.ts'
import { isEnded } from '../../core/volume-manager/pod-use.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { moversOf } from '../../queries/own-movers.ts'
import { terminatingNamespace } from '../../queries/terminating.ts'
import { concernedManagers, gatherVolumeManager } from '../../queries/volume-manager.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan, applyWrite } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { createMovers, isMoverCreation } from './create-movers.ts'
import {
  emptyMemory,
  forgetMover,
  knownSlots,
  type MoverMemory,
  type RetryMemory,
  readProgresses,
  readUncached,
  rememberTriggers,
  retryMemoryOf,
} from './memory.ts'
import { openMoverAccess } from './mover-access.ts'
import type { MoverLogs } from './mover-logs.ts'

/** The delay until the next check whether the log of a mover was read. */
const LOG_MS = 250

/**
 * Opens the loop.
 * @param settings read in every run, so that a changed configuration applies immediately.
 * @param logs reads the logs of movers before they are deleted; absent if there are none
 */
export function openVolumeManagerLoop(settings: () => VolumeSettings, logs?: MoverLogs): ReconcileLoop {
  const memory = emptyMemory()
  const access = openMoverAccess()
  return {
    name: 'volume-manager',
    concurrency: 8,
    keysOf(change, store) {
      const { type, after, before } = change
      if (type.kind === pods.kind) forgetMover(memory, (after ?? before) as Pod, after === undefined)
      if (type.kind === namespaces.kind && before && !after) access.forgetNamespace(before.metadata.name ?? '')
      if (type.kind === pods.kind && before && !after) logs?.forget(before as Pod)
      const concerned = concernedManagers(change, store, settings(), knownSlots(memory))
      return [...concerned, ...rememberTriggers(change, store, memory)]
    },
    *allKeys(store) {
      for (const manager of store.list(volumeManagers)) yield keyOfObject(manager)
    },
    async reconcile(key, { store, events, now, jumps }) {
      const { namespace = '', name } = splitObjectKey(key)
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        // While an API server restarts, it serves no CRDs for a moment. This does not mean that their objects were deleted.
        if (!store.serves(volumeManagers)) return undefined
        memory.retries.delete(key)
        await deleteMovers(key, store, settings().movers, memory)
        return undefined
      }
      const { movers: moverSettings } = settings()
      const uncached = await readUncached(manager, store, moverSettings, memory)
      const progress = await readProgresses(key, store, moverSettings, memory, { now: now(), jumps: jumps?.() })
      const { stopping } = memory
      const retries = retryMemoryOf(manager, memory)
      const known = { uncached, ...knownSlots(memory), progress, ...retries }
      const context = { store, settings: settings(), now: now(), jumps: jumps?.() }
      const input = gatherVolumeManager(manager, known, context)
      const first = planVolumeManager(input)
      const creation = { store, events, memory, retries, access, settings: moverSettings, now: context.now }
      // Before the next await, so that another run preempts no other mover for the same slot.
      const unstopped = new Set(first.actions.filter(isStop).map(({ object }) => keyOfObject(object)))
      for (const mover of unstopped) stopping.add(mover)
      let waits = false
      try {
        const movers = await createMovers(first.actions.filter(isMoverCreation), creation)
        const plan = movers.isRejected ? planAgain(input, movers.created, retries, context) : first
        for (const action of plan.actions) {
          if (isMoverCreation(action)) continue
          // The status is written earlier in the plan and never waits for a log.
          const isKept =
            isDeletionOfEnded(action) && logs?.collect(action.object as Pod, moverSettings.logLines) === false
          waits ||= isKept
          if (isKept) continue
          await applyPlan({ store, events }, { actions: [action] })
          if (isStop(action)) unstopped.delete(keyOfObject(action.object))
        }
        return waits ? LOG_MS : plan.requeueAfterMs
      } finally {
        for (const mover of unstopped) stopping.delete(mover)
      }
    },
  }
}

/** Plans again after the API server rejected movers, so that the status has the reason. No other mover takes their place at once. */
function planAgain(
  { manager, movers, allowance, ...input }: VolumeManagerInput,
  created: readonly Pod[],
  { refusals, isTerminating }: RetryMemory,
  { store, settings }: { store: ObjectStore; settings: VolumeSettings },
): Plan {
  return planVolumeManager({
    ...{ ...input, manager, refusals },
    movers: new Map([...created.map((pod) => [pod.metadata.name ?? '', pod] as const), ...movers]),
    allowance: { ...allowance, slots: 0 },
    terminating: terminatingNamespace(manager, isTerminating, { store, settings: settings.movers }),
  })
}

/** Whether an action deletes an ended mover. The log of a mover that is still running is not complete. */
function isDeletionOfEnded(action: Action): action is Extract<Action, { kind: 'delete' }> {
  return action.kind === 'delete' && action.type.kind === pods.kind && isEnded((action.object as Pod).status)
}

/** Whether an action stops a mover: its slot is free when its Pod has ended. */
function isStop(action: Action): action is Extract<Action, { kind: 'delete' }> {
  return action.kind === 'delete' && action.type.kind === pods.kind && !isEnded((action.object as Pod).status)
}

/** Deletes the movers of a VolumeManager that was deleted in spite of its finalizer. */
async function deleteMovers(
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
  for (const pod of moversOf(store, key, settings)) await deleteMover(pod, store)
}

async function deleteMover(pod: Pod, store: ObjectStore): Promise<void> {
  if (!pod.metadata.deletionTimestamp) await applyWrite(store, { kind: 'delete', type: pods, object: pod })
}
