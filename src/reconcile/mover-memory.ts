/** What the loop of VolumeManagers knows beside the store. Lost with the process, which costs a few reads and nothing else. */
import { events } from '../api/event.ts'
import { keyOfObject, objectKey, splitObjectKey } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { Mended, MoverProgress } from '../core/volume-manager/input.ts'
import { progressEventName, readProgress } from '../core/volume-manager/mover/progress.ts'
import { expectedMovers, unsettledMovers } from '../core/volume-manager/mover/recorded-movers.ts'
import { isEnded } from '../core/volume-manager/replica/pod-use.ts'
import { mendedManagers, moversOf } from '../queries/movers.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'

/** What is noted on movers of one VolumeManager, by the names of their pods. */
export interface MoverNotes {
  /** Why they could not be created. */
  refusals: Map<string, string>
  /** What changed since they were made. */
  mended: Map<string, Set<Mended>>
}

export interface MoverMemory {
  /** Movers that were created, or are about to be, and are in no cache yet, by `namespace/name`: they hold slots and lanes. */
  created: Map<string, Pod>
  /** When each running mover was last asked how far it is, and what it said. */
  asked: Map<string, { at: number; progress: MoverProgress | undefined }>
  /** By `namespace/name` of the VolumeManager. */
  notes: Map<string, MoverNotes>
}

export function emptyMemory(): MoverMemory {
  return { created: new Map(), asked: new Map(), notes: new Map() }
}

/** The notes on a VolumeManager's movers. Those on movers that others have followed are dropped. */
export function notesOn(manager: VolumeManager, { notes }: MoverMemory): MoverNotes {
  const key = keyOfObject(manager)
  const known = notes.get(key) ?? { refusals: new Map(), mended: new Map() }
  const unsettled = new Set(unsettledMovers(manager))
  for (const map of [known.refusals, known.mended]) {
    for (const name of map.keys()) if (!unsettled.has(name)) map.delete(name)
  }
  notes.set(key, known)
  return known
}

/** Notes for whose movers a change may have mended something, and gives the keys of their VolumeManagers. */
export function noteMended(change: StoreChange, store: ObjectStore, memory: MoverMemory): string[] {
  const [what, keys = []] = mendedManagers(change, store) ?? []
  if (what === undefined) return []
  for (const key of keys) {
    const { namespace, name } = splitObjectKey(key)
    const manager = store.get(volumeManagers, namespace, name)
    if (!manager) continue
    const { mended } = notesOn(manager, memory)
    for (const mover of unsettledMovers(manager)) mended.set(mover, new Set([...(mended.get(mover) ?? []), what]))
  }
  return keys
}

/** A mover was seen, or its end. */
export function forgetMover({ created, asked }: MoverMemory, { metadata, status }: Pod, isGone: boolean): void {
  const key = keyOfObject({ metadata })
  created.delete(key)
  if (isGone || isEnded(status)) asked.delete(key)
}

/** The movers that should be there and are not in the cache, which may be behind: only the server knows that one is gone. */
export async function readUnseen(manager: VolumeManager, store: ObjectStore, { created }: MoverMemory): Promise<Pod[]> {
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

/** Progress is written every ten seconds at most, and for people to see. */
const PROGRESS_MS = 25_000
/** What a mover has not said yet is asked for sooner: the pods of a stream wait for its first bytes. */
const FIRST_PROGRESS_MS = 4_000

/** How far the running movers of a VolumeManager are, by the names of their pods; asked for only so often. */
export async function readProgresses(
  key: string,
  store: ObjectStore,
  { asked }: MoverMemory,
  now: number,
): Promise<Map<string, MoverProgress>> {
  const running = moversOf(store, key).filter(({ status }) => status?.phase === 'Running')
  const told = await Promise.all(
    running.map(async ({ metadata: { namespace, name = '' } }) => {
      const pod = objectKey(namespace, name)
      const known = asked.get(pod)
      if (known && now - known.at < (known.progress ? PROGRESS_MS : FIRST_PROGRESS_MS))
        return [name, known.progress] as const
      const progress = readProgress(await store.read(events, namespace, progressEventName(name)))
      asked.set(pod, { at: now, progress })
      return [name, progress] as const
    }),
  )
  return new Map(told.flatMap(([name, progress]) => (progress ? [[name, progress]] : [])))
}
