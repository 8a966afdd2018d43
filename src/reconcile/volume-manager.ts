/** The loop of VolumeManagers: movers, labels, claims and a status that says how things stand. */
import { objectKey } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { Action } from '../core/plan.ts'
import { expectedMovers } from '../core/volume-manager/expected.ts'
import type { MoverProgress } from '../core/volume-manager/input.ts'
import { moverAccess } from '../core/volume-manager/mover-access.ts'
import { planVolumeManager } from '../core/volume-manager/plan.ts'
import { isEnded } from '../core/volume-manager/pod-use.ts'
import { events as eventType, progressEventName, readProgress } from '../core/volume-manager/progress.ts'
import type { VolumeSettings } from '../core/volume-manager/settings.ts'
import { concernedManagers, gatherVolumeManager, moversOf } from '../store/gather-movers.ts'
import { ConflictError, type ObjectStore, refusalOf } from '../store/store.ts'
import { applyPlan, type Writers } from './apply.ts'
import type { ReconcileLoop } from './define.ts'

/** What is known beside the store. Lost with the process, which costs a few reads and nothing else. */
interface Memory {
  /** Movers that were created and are in no cache yet, by `namespace/name`: they hold slots. */
  created: Set<string>
  /** Why movers could not be created. */
  refusals: Map<string, string>
  /** The namespaces in which movers have their ServiceAccount. */
  granted: Set<string>
  /** When each running mover was last asked how far it is, and what it said. */
  asked: Map<string, { at: number; progress: MoverProgress | undefined }>
}

/** Progress is written every ten seconds at most, and for people to see. */
const PROGRESS_MS = 25_000
/** What a mover has not said yet is asked for sooner: the pods of a stream wait for its first bytes. */
const FIRST_PROGRESS_MS = 4_000

/**
 * Opens the loop.
 *
 * @param settings read anew at every turn, so that a changed configuration counts at once
 */
export function openVolumeManagerLoop(settings: () => VolumeSettings): ReconcileLoop {
  const memory: Memory = { created: new Set(), refusals: new Map(), granted: new Set(), asked: new Map() }
  return {
    name: 'volume-manager',
    concurrency: 8,
    keysOf(change, store) {
      const { type, after, before } = change
      if (type.kind === pods.kind) forget(memory, (after ?? before) as Pod, after === undefined)
      return concernedManagers(change, store)
    },
    *allKeys(store) {
      for (const { metadata } of store.list(volumeManagers)) yield objectKey(metadata.namespace, metadata.name ?? '')
    },
    async reconcile(key, { store, events, now }) {
      const [namespace = '', name = ''] = key.split('/')
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        await deleteMovers(key, store)
        return undefined
      }
      const unseen = await readMissing(manager, store)
      const progress = await readProgresses(key, store, memory, now())
      const { created, refusals } = memory
      const known = { unseen, created: created.size, progress, refusals }
      const plan = planVolumeManager(gatherVolumeManager(manager, store, settings(), known, now()))
      const movers = plan.actions.filter(isMoverCreation)
      if (movers.length > 0) await grant(namespace, settings(), memory, store)
      for (const action of plan.actions) {
        if (isMoverCreation(action)) await createMover(action, memory, { store, events })
        else await applyPlan({ store, events }, { actions: [action] })
      }
      // A mover that was refused is in the memory now, and on to the next plan.
      return movers.some(({ object }) => refusals.has(object.metadata.name ?? '')) ? 1 : plan.requeueAfterMs
    },
  }
}

type Creation = Extract<Action, { kind: 'create' | 'update' }>

function isMoverCreation(action: Action): action is Creation {
  return action.kind === 'create' && action.type.kind === pods.kind
}

/** Creates one mover. That the API server will not have it is for the status to say; anything else is thrown. */
async function createMover(action: Creation, { created, refusals }: Memory, writers: Writers): Promise<void> {
  const { namespace, name = '' } = action.object.metadata
  const key = objectKey(namespace, name)
  created.add(key)
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

function forget({ created, refusals, asked }: Memory, { metadata, status }: Pod, isGone: boolean): void {
  const { namespace, name = '' } = metadata
  created.delete(objectKey(namespace, name))
  refusals.delete(name)
  if (isGone || isEnded(status)) asked.delete(objectKey(namespace, name))
}

/** The movers that should be there and are not in the cache, which may be behind: only the server knows that one is gone. */
async function readMissing(manager: VolumeManager, store: ObjectStore): Promise<Pod[]> {
  const { namespace } = manager.metadata
  const missing = expectedMovers(manager).filter((name) => !store.get(pods, namespace, name))
  const read = await Promise.all(missing.map((name) => store.read(pods, namespace, name)))
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
  if (granted.has(namespace)) return
  for (const { type, object } of moverAccess(namespace, movers.serviceAccountName)) {
    if (await store.read(type, namespace, object.metadata.name ?? '')) continue
    try {
      await store.create(type, object)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
  }
  granted.add(namespace)
}

/** Movers of a VolumeManager that is gone although its finalizer should have kept it: nobody waits for them. */
async function deleteMovers(key: string, store: ObjectStore): Promise<void> {
  for (const pod of moversOf(store, key)) {
    if (!pod.metadata.deletionTimestamp) await store.delete(pods, pod)
  }
}
