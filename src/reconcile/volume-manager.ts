/** The loop of VolumeManagers: movers, labels, claims and a status that says how things stand. */
import { type K8sObject, objectKey } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { Action } from '../core/plan.ts'
import { expectedMovers } from '../core/volume-manager/expected.ts'
import type { Mended, MoverProgress } from '../core/volume-manager/input.ts'
import { moverAccess } from '../core/volume-manager/mover-access.ts'
import { planVolumeManager } from '../core/volume-manager/plan.ts'
import { isEnded } from '../core/volume-manager/pod-use.ts'
import { events as eventType, progressEventName, readProgress } from '../core/volume-manager/progress.ts'
import type { VolumeSettings } from '../core/volume-manager/settings.ts'
import { concernedManagers, gatherVolumeManager, mendedManagers, moversOf } from '../store/gather-movers.ts'
import { ConflictError, type ObjectStore, refusalOf, type StoreChange } from '../store/store.ts'
import { applyPlan, type Writers } from './apply.ts'
import type { ReconcileLoop } from './define.ts'
import type { MoverLogs } from './mover-logs.ts'

/** What is known beside the store. Lost with the process, which costs a few reads and nothing else. */
interface Memory {
  /** Movers that were created, or are about to be, and are in no cache yet, by `namespace/name`: they hold slots and lanes. */
  created: Map<string, Pod>
  /** Why movers could not be created. */
  refusals: Map<string, string>
  /** The ServiceAccounts of movers that are known to be there, by `namespace/name`. */
  granted: Set<string>
  /** When each running mover was last asked how far it is, and what it said. */
  asked: Map<string, { at: number; progress: MoverProgress | undefined }>
  /** What changed for a VolumeManager so that it may try again at once, until it has. */
  mended: Map<string, Set<Mended>>
}

/** Progress is written every ten seconds at most, and for people to see. */
const PROGRESS_MS = 25_000
/** What a mover has not said yet is asked for sooner: the pods of a stream wait for its first bytes. */
const FIRST_PROGRESS_MS = 4_000
/** A mover stays until its log is here, which takes some milliseconds. */
const LOG_MS = 100

/**
 * Opens the loop.
 *
 * @param settings read anew at every turn, so that a changed configuration counts at once
 * @param logs who takes the logs of movers before they are deleted, where there are any
 */
export function openVolumeManagerLoop(settings: () => VolumeSettings, logs?: MoverLogs): ReconcileLoop {
  const memory: Memory = {
    created: new Map(),
    refusals: new Map(),
    granted: new Set(),
    asked: new Map(),
    mended: new Map(),
  }
  return {
    name: 'volume-manager',
    concurrency: 8,
    keysOf(change, store) {
      const { type, after, before } = change
      if (type.kind === pods.kind) forget(memory, (after ?? before) as Pod, after === undefined)
      if (type.kind === pods.kind && before && !after) logs?.forget(before as Pod)
      return [...concernedManagers(change, store), ...noteMended(change, store, memory)]
    },
    *allKeys(store) {
      for (const manager of store.list(volumeManagers)) yield keyOf(manager)
    },
    async reconcile(key, { store, events, now }) {
      const [namespace = '', name = ''] = key.split('/')
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        memory.mended.delete(key)
        await deleteMovers(key, store)
        return undefined
      }
      const unseen = await readMissing(manager, store, memory)
      const progress = await readProgresses(key, store, memory, now())
      const { created, refusals } = memory
      const mended = memory.mended.get(key) ?? new Set()
      const known = { unseen, created: [...created.values()], progress, refusals, mended }
      const plan = planVolumeManager(gatherVolumeManager(manager, store, settings(), known, now()))
      const movers = plan.actions.filter(isMoverCreation)
      // Before anybody else can plan: what was counted as free is taken from here on.
      for (const { object } of movers) created.set(keyOf(object), object as Pod)
      const untried = new Set(movers.map(({ object }) => keyOf(object)))
      let waits = false
      try {
        if (movers.length > 0) await grant(namespace, settings(), memory, store)
        for (const action of plan.actions) {
          // Behind the status, which never waits for a log.
          const isKept =
            isEndOfMover(action) && logs?.collect(action.object as Pod, settings().movers.logLines) === false
          waits ||= isKept
          if (isMoverCreation(action)) {
            untried.delete(keyOf(action.object))
            await createMover(action, memory, { store, events })
          } else if (!isKept) await applyPlan({ store, events }, { actions: [action] })
        }
      } finally {
        for (const mover of untried) created.delete(mover)
      }
      // Kept when a write was overtaken: then nothing was tried yet.
      if (memory.mended.get(key) === mended) memory.mended.delete(key)
      // A mover that was refused is in the memory now, and on to the next plan.
      if (movers.some(({ object }) => refusals.has(object.metadata.name ?? ''))) return 1
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

/** Remembers for whom a change may have mended something, and gives their keys. */
function noteMended(change: StoreChange, store: ObjectStore, { mended }: Memory): string[] {
  const [what, managers] = mendedManagers(change, store) ?? []
  if (what === undefined || managers === undefined) return []
  // A set of its own each time: one that a plan was made with may be forgotten when that plan is carried out.
  for (const key of managers) mended.set(key, new Set([...(mended.get(key) ?? []), what]))
  return managers
}

/** Creates one mover. That the API server will not have it is for the status to say; anything else is thrown. */
async function createMover(action: Creation, { created, refusals }: Memory, writers: Writers): Promise<void> {
  const { namespace, name = '' } = action.object.metadata
  const key = keyOf(action.object)
  try {
    await applyPlan(writers, { actions: [action] })
    // A store that is its own server has told of it already.
    if (writers.store.get(pods, namespace, name)) created.delete(key)
  } catch (error) {
    created.delete(key)
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    refusals.set(name, refusal)
  }
}

function keyOf({ metadata }: K8sObject): string {
  return objectKey(metadata.namespace, metadata.name ?? '')
}

function forget({ created, refusals, asked }: Memory, { metadata, status }: Pod, isGone: boolean): void {
  const { namespace, name = '' } = metadata
  created.delete(objectKey(namespace, name))
  refusals.delete(name)
  if (isGone || isEnded(status)) asked.delete(objectKey(namespace, name))
}

/** The movers that should be there and are not in the cache, which may be behind: only the server knows that one is gone. */
async function readMissing(manager: VolumeManager, store: ObjectStore, { created }: Memory): Promise<Pod[]> {
  const { namespace } = manager.metadata
  const missing = expectedMovers(manager).filter((name) => !store.get(pods, namespace, name))
  const read = await Promise.all(
    missing.map(async (name) => {
      const pod = await store.read(pods, namespace, name)
      if (!pod) created.delete(objectKey(namespace, name))
      return pod
    }),
  )
  return read.filter((pod) => pod !== undefined)
}

async function readProgresses(
  key: string,
  store: ObjectStore,
  { asked }: Memory,
  now: number,
): Promise<Map<string, MoverProgress>> {
  const running = moversOf(store, key).filter(({ status }) => status?.phase === 'Running')
  const told = await Promise.all(
    running.map(async ({ metadata: { namespace, name = '' } }) => {
      const pod = objectKey(namespace, name)
      const known = asked.get(pod)
      if (known && now - known.at < (known.progress ? PROGRESS_MS : FIRST_PROGRESS_MS))
        return [name, known.progress] as const
      const progress = readProgress(await store.read(eventType, namespace, progressEventName(name)))
      asked.set(pod, { at: now, progress })
      return [name, progress] as const
    }),
  )
  return new Map(told.flatMap(([name, progress]) => (progress ? [[name, progress]] : [])))
}

/** Movers need a ServiceAccount that may write Events; it is made once in each namespace that has any. */
async function grant(namespace: string, { movers }: VolumeSettings, { granted }: Memory, store: ObjectStore) {
  const key = objectKey(namespace, movers.serviceAccountName)
  if (granted.has(key)) return
  for (const { type, object } of moverAccess(namespace, movers.serviceAccountName)) {
    if (await store.read(type, namespace, object.metadata.name ?? '')) continue
    try {
      await store.create(type, object)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
  }
  granted.add(key)
}

/** Movers of a VolumeManager that is gone although its finalizer should have kept it: nobody waits for them. */
async function deleteMovers(key: string, store: ObjectStore): Promise<void> {
  for (const pod of moversOf(store, key)) {
    if (!pod.metadata.deletionTimestamp) await store.delete(pods, pod)
  }
}
