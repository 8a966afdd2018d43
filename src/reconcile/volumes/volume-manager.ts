/** The loop of VolumeManagers: applies their movers, node labels, PersistentVolumes and status. */
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Action } from '../../core/plan.ts'
import type { VolumeManagerInput } from '../../core/volume-manager/input.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import { planVolumeManager } from '../../core/volume-manager/plan.ts'
import { isEnded } from '../../core/volume-manager/replica/pod-use.ts'
import { moverNamespace, type VolumeSettings } from '../../core/volume-manager/spec/settings.ts'
import { dropsColumns } from '../../core/volume-manager/status/conditions.ts'
import { concernedManagers, gatherVolumeManager } from '../../queries/movers.ts'
import { moversOf } from '../../queries/own-movers.ts'
import { type ObjectStore, refusalOf } from '../../store/store.ts'
import { applyPlan, applyWrite, type Writers } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { openMoverAccess } from './mover-access.ts'
import { createCopy, readCredentials } from './mover-credentials.ts'
import type { MoverLogs } from './mover-logs.ts'
import {
  emptyMemory,
  forgetMover,
  type MoverMemory,
  readProgresses,
  readUncached,
  rememberTriggers,
  retryMemoryOf,
} from './mover-memory.ts'

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
  // Until a write shows otherwise. A newer CRD is used after a restart.
  let crd: NonNullable<VolumeManagerInput['crd']> = 'ours'
  return {
    name: 'volume-manager',
    concurrency: 8,
    keysOf(change, store) {
      const { type, after, before } = change
      if (type.kind === pods.kind) forgetMover(memory, (after ?? before) as Pod, after === undefined)
      if (type.kind === pods.kind && before && !after) logs?.forget(before as Pod)
      return [...concernedManagers(change, store), ...rememberTriggers(change, store, memory)]
    },
    *allKeys(store) {
      for (const manager of store.list(volumeManagers)) yield keyOfObject(manager)
    },
    async reconcile(key, { store, events, now }) {
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
      const ofMovers = moverNamespace(manager, moverSettings) ?? ''
      const uncached = await readUncached(manager, store, moverSettings, memory)
      const progress = await readProgresses(key, store, moverSettings, memory, now())
      const { created } = memory
      const retries = retryMemoryOf(manager, memory)
      const known = { uncached, created: [...created.values()], progress, ...retries }
      const context = { store, settings: settings(), now: now() }
      const plan = planVolumeManager({ ...gatherVolumeManager(manager, known, context), crd })
      const movers = plan.actions.filter(isMoverCreation)
      // Before the next await, so that another run does not use the same slots.
      for (const { object } of movers) created.set(keyOfObject(object), object as Pod)
      const untried = new Set(movers.map(({ object }) => keyOfObject(object)))
      let [waits, isRefused] = [false, false]
      try {
        if (movers.length > 0) await access.grant(ofMovers, moverSettings.serviceAccountName, store)
        for (const action of plan.actions) {
          // The status is written earlier in the plan and never waits for a log.
          const isKept =
            isDeletionOfEnded(action) && logs?.collect(action.object as Pod, moverSettings.logLines) === false
          waits ||= isKept
          if (isMoverCreation(action)) {
            untried.delete(keyOfObject(action.object))
            const refusal = await createMover(action, memory, { store, events })
            if (refusal === undefined) continue
            isRefused = true
            retries.refusals.set(action.object.metadata.name ?? '', refusal)
            access.forget(ofMovers, moverSettings.serviceAccountName)
          } else if (!isKept) {
            const [written] = await applyPlan({ store, events }, { actions: [action] })
            if (dropsColumns(action, written)) crd = 'older'
          }
        }
      } finally {
        for (const mover of untried) created.delete(mover)
      }
      // The next plan reads the refusal from memory.
      if (isRefused) return 1
      return waits ? LOG_MS : plan.requeueAfterMs
    },
  }
}

/** Whether an action deletes an ended mover. The log of a mover that is still running is not complete. */
function isDeletionOfEnded(action: Action): action is Extract<Action, { kind: 'delete' }> {
  return action.kind === 'delete' && action.type.kind === pods.kind && isEnded((action.object as Pod).status)
}

type Creation = Extract<Action, { kind: 'create' | 'update' }>

function isMoverCreation(action: Action): action is Creation {
  return action.kind === 'create' && action.type.kind === pods.kind
}

/** Creates one mover. Returns why the API server rejected it, for the status. Throws any other error. */
async function createMover(action: Creation, { created }: MoverMemory, writers: Writers): Promise<string | undefined> {
  const { namespace, name = '' } = action.object.metadata
  const key = keyOfObject(action.object)
  const mover = action.object as Pod
  try {
    const credentials = await readCredentials(mover, writers.store)
    if (credentials && 'refusal' in credentials) {
      created.delete(key)
      return credentials.refusal
    }
    await applyPlan(writers, { actions: [action] })
    if (credentials) await createCopy(mover, credentials.data, writers.store)
    // A folder store has the mover in its cache already.
    if (writers.store.get(pods, namespace, name)) created.delete(key)
    return undefined
  } catch (error) {
    created.delete(key)
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return refusal
  }
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
