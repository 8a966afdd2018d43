/** The loop of VolumeManagers: movers, labels, claims and a status that says how things stand. */
import { keyOfObject, splitObjectKey } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import type { Action } from '../core/plan.ts'
import { readTask } from '../core/volume-manager/mover/task.ts'
import { planVolumeManager } from '../core/volume-manager/plan.ts'
import { isEnded } from '../core/volume-manager/replica/pod-use.ts'
import type { VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import { concernedManagers, gatherVolumeManager, moversOf } from '../queries/movers.ts'
import { type ObjectStore, refusalOf } from '../store/store.ts'
import { applyPlan, type Writers } from './apply.ts'
import type { ReconcileLoop } from './define.ts'
import { openMoverAccess } from './mover-access.ts'
import type { MoverLogs } from './mover-logs.ts'
import {
  emptyMemory,
  forgetMover,
  type MoverMemory,
  noteMended,
  notesOn,
  readProgresses,
  readUnseen,
} from './mover-memory.ts'

/** How soon it is looked again whether the log of a mover is here. */
const LOG_MS = 250

/**
 * Opens the loop.
 *
 * @param settings read anew at every turn, so that a changed configuration counts at once
 * @param logs who takes the logs of movers before they are deleted, where there are any
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
      if (type.kind === pods.kind && before && !after) logs?.forget(before as Pod)
      return [...concernedManagers(change, store), ...noteMended(change, store, memory)]
    },
    *allKeys(store) {
      for (const manager of store.list(volumeManagers)) yield keyOfObject(manager)
    },
    async reconcile(key, { store, events, now }) {
      const { namespace = '', name } = splitObjectKey(key)
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        // A kind that is not served just now is no proof that its objects are gone: an API server that restarts misses CRDs for a moment.
        if (!store.serves(volumeManagers)) return undefined
        memory.notes.delete(key)
        await deleteMovers(key, store, memory)
        return undefined
      }
      const { movers: moverSettings } = settings()
      const unseen = await readUnseen(manager, store, memory)
      const progress = await readProgresses(key, store, memory, now())
      const { created } = memory
      const notes = notesOn(manager, memory)
      const known = { unseen, created: [...created.values()], progress, ...notes }
      const plan = planVolumeManager(gatherVolumeManager(manager, store, settings(), known, now()))
      const movers = plan.actions.filter(isMoverCreation)
      // Before anybody else can plan: what was counted as free is taken from here on.
      for (const { object } of movers) created.set(keyOfObject(object), object as Pod)
      const untried = new Set(movers.map(({ object }) => keyOfObject(object)))
      let [waits, isRefused] = [false, false]
      try {
        if (movers.length > 0) await access.grant(namespace, moverSettings.serviceAccountName, store)
        for (const action of plan.actions) {
          // Behind the status, which never waits for a log.
          const isKept = isEndOfMover(action) && logs?.collect(action.object as Pod, moverSettings.logLines) === false
          waits ||= isKept
          if (isMoverCreation(action)) {
            untried.delete(keyOfObject(action.object))
            const refusal = await createMover(action, memory, { store, events })
            if (refusal === undefined) continue
            isRefused = true
            notes.refusals.set(action.object.metadata.name ?? '', refusal)
            access.doubt(namespace, moverSettings.serviceAccountName)
          } else if (!isKept) await applyPlan({ store, events }, { actions: [action] })
        }
      } finally {
        for (const mover of untried) created.delete(mover)
      }
      // A mover that was refused is in the notes now, and on to the next plan.
      if (isRefused) return 1
      return waits ? LOG_MS : plan.requeueAfterMs
    },
  }
}

/** Whether a mover is deleted that has ended: one that is stopped has nothing to say yet. */
function isEndOfMover(action: Action): action is Extract<Action, { kind: 'delete' }> {
  return action.kind === 'delete' && action.type.kind === pods.kind && isEnded((action.object as Pod).status)
}

type Creation = Extract<Action, { kind: 'create' | 'update' }>

function isMoverCreation(action: Action): action is Creation {
  return action.kind === 'create' && action.type.kind === pods.kind
}

/** Creates one mover. That the API server will not have it is for the status to say, and given back; anything else is thrown. */
async function createMover(action: Creation, { created }: MoverMemory, writers: Writers): Promise<string | undefined> {
  const { namespace, name = '' } = action.object.metadata
  const key = keyOfObject(action.object)
  try {
    await applyPlan(writers, { actions: [action] })
    // A store that is its own server has told of it already.
    if (writers.store.get(pods, namespace, name)) created.delete(key)
    return undefined
  } catch (error) {
    created.delete(key)
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return refusal
  }
}

/** Movers of a VolumeManager that is gone although its finalizer should have kept it: nobody waits for them. */
async function deleteMovers(key: string, store: ObjectStore, { created }: MoverMemory): Promise<void> {
  const unseen = [...created.values()].filter((pod) => readTask(pod)?.manager === key)
  for (const { metadata } of unseen) {
    const pod = await store.read(pods, metadata.namespace, metadata.name ?? '')
    if (pod && !pod.metadata.deletionTimestamp) await store.delete(pods, pod)
    created.delete(keyOfObject({ metadata }))
  }
  for (const pod of moversOf(store, key)) {
    if (!pod.metadata.deletionTimestamp) await store.delete(pods, pod)
  }
}
