/** The state of movers that is not in the store. After a restart, it costs a few reads and earlier retries, and nothing else (ADR 18). */
import { events } from '../../api/event.ts'
import { keyOfObject, objectKey, splitObjectKey } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { onPresentClock, type Present } from '../../base/time/clock-jumps.ts'
import type { MoverProgress, RetryTrigger } from '../../core/volume-manager/input.ts'
import { nodeOfMover } from '../../core/volume-manager/mover/affinity.ts'
import { progressEventName, readProgress } from '../../core/volume-manager/mover/log.ts'
import { isOwnMover } from '../../core/volume-manager/mover/own-mover.ts'
import { expectedMovers, readTask, unsettledMovers } from '../../core/volume-manager/mover/task.ts'
import { isEnded } from '../../core/volume-manager/pod-use.ts'
import { moverNamespace, type VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { RATE_WINDOW_MS } from '../../core/volume-manager/schedule/preemption.ts'
import { namespaceOfMover } from '../../core/volume-manager/schedule/shares.ts'
import { shareKey } from '../../core/volume-manager/schedule/turns.ts'
import type { KnownSlots } from '../../queries/mover-slots.ts'
import { managerMovers } from '../../queries/own-movers.ts'
import { managersToRetry } from '../../queries/volume-manager-changes.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'

/** The inputs of the next attempts of one VolumeManager, by the names of its movers' Pods. */
export interface RetryMemory {
  /** Why the API server rejected the Pods. */
  refusals: Map<string, string>
  /** Whether it rejected one because its namespace is being deleted. A namespace never returns from that. */
  isTerminating: boolean
  /** Why it rejected the last writes of other objects, by the object (rejected-writes.ts). */
  rejections: Map<string, string>
  /** The retry triggers that occurred since the Pods were created. */
  retryTriggers: Map<string, Set<RetryTrigger>>
  /** The last state of Pods that another client removed. */
  removed: Map<string, Pod>
}

export interface MoverMemory {
  /** Movers that were created or are being created and are not cached yet, by `namespace/name`. They occupy slots. */
  created: Map<string, Pod>
  /** Movers that are being deleted and have not ended, by `namespace/name`. Their slots are free soon. */
  stopping: Set<string>
  /** When a mover was last started, by `shareKey`. The oldest are forgotten. */
  served: Map<string, number>
  /** The last progress of each running mover, and when it was read. */
  progress: Map<string, KnownProgress>
  /** By `namespace/name` of the VolumeManager. */
  retries: Map<string, RetryMemory>
  /** By namespace: the VolumeManagers whose movers the API server rejected in it, in the order of the rejections. */
  rejected: Map<string, Set<string>>
  /** The VolumeManagers that may retry movers because of the last observed change. */
  triggered: readonly string[]
}

interface KnownProgress {
  at: number
  progress: MoverProgress | undefined
  /** The begin of the window in which the rate is measured, and the bytes then. */
  window: { at: number; bytes: number }
}

/** Returns the memory of a loop that has run for no VolumeManager yet. */
export function emptyMemory(): MoverMemory {
  return {
    created: new Map(),
    stopping: new Set(),
    served: new Map(),
    progress: new Map(),
    retries: new Map(),
    rejected: new Map(),
    triggered: [],
  }
}

/** The memory about the slots of all VolumeManagers. */
export function knownSlots({ created, stopping, served }: MoverMemory): KnownSlots {
  return { created: [...created.values()], stopping, served }
}

const MAX_SERVED = 10_000

/** Remembers that a mover is started, so that its namespace waits its turn. */
export function rememberServed({ served }: MoverMemory, mover: Pod, now: number): void {
  for (const key of new Set([
    shareKey(namespaceOfMover(mover)),
    shareKey(namespaceOfMover(mover), nodeOfMover(mover)),
  ])) {
    served.delete(key)
    served.set(key, now)
  }
  for (const key of served.keys()) {
    if (served.size <= MAX_SERVED) break
    served.delete(key)
  }
}

/** Returns the memory of a VolumeManager's movers, and removes movers that have a successor. */
export function currentRetryMemory(manager: VolumeManager, { retries }: MoverMemory): RetryMemory {
  const key = keyOfObject(manager)
  const known = retries.get(key) ?? {
    refusals: new Map(),
    rejections: new Map(),
    retryTriggers: new Map(),
    removed: new Map(),
    isTerminating: false,
  }
  const unsettled = new Set(unsettledMovers(manager))
  for (const map of [known.refusals, known.retryTriggers, known.removed]) {
    for (const name of map.keys()) if (!unsettled.has(name)) map.delete(name)
  }
  retries.set(key, known)
  return known
}

/** Remembers what a change shows: movers that are cached or have ended, and retry triggers. */
export function observeChange(
  memory: MoverMemory,
  change: StoreChange,
  store: ObjectStore,
  settings: VolumeSettings['movers'],
): void {
  const { type, before, after } = change
  if (type.kind === pods.kind) {
    forgetMover(memory, (after ?? before) as Pod, after === undefined)
    if (!after) rememberRemoved(memory, before as Pod, store, settings)
  }
  const rejected: [RetryTrigger, string[]] = ['namespace', takeRejected(change, memory)]
  const triggers = [...managersToRetry(change, store), rejected]
  for (const [trigger, keys] of triggers) {
    for (const key of keys) rememberTrigger(memory, trigger, key, store)
  }
  memory.triggered = triggers.flatMap(([, keys]) => keys)
}

/** Remembers a retry trigger for each mover of a VolumeManager that may have another attempt. */
function rememberTrigger(memory: MoverMemory, trigger: RetryTrigger, key: string, store: ObjectStore): void {
  const { namespace, name } = splitObjectKey(key)
  const manager = store.get(volumeManagers, namespace, name)
  if (!manager) return
  const { retryTriggers } = currentRetryMemory(manager, memory)
  for (const mover of unsettledMovers(manager)) {
    retryTriggers.set(mover, new Set([...(retryTriggers.get(mover) ?? []), trigger]))
  }
}

/**
 * Remembers the last state of a mover whose Pod is removed before its result is in the status. The result counts. Data of a mover without one
 * is on its node, where the next attempt continues. On another node, it would stay there for ever.
 */
function rememberRemoved(memory: MoverMemory, pod: Pod, store: ObjectStore, settings: VolumeSettings['movers']): void {
  const key = readTask(pod)?.manager
  if (key === undefined) return
  const { namespace, name } = splitObjectKey(key)
  const manager = store.get(volumeManagers, namespace, name)
  const { name: podName = '', deletionTimestamp = REMOVED } = pod.metadata
  if (!manager || !unsettledMovers(manager).includes(podName)) return
  if (!isOwnMover(pod, { manager: () => manager, leftover: () => undefined }, settings)) return
  const { removed } = currentRetryMemory(manager, memory)
  removed.set(podName, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } })
}

/** The time of a removal that no cached state of the Pod announced. Only its presence matters. */
const REMOVED = '1970-01-01T00:00:00Z'

/** Remembers a VolumeManager whose mover the API server rejected in a namespace. */
export function rememberRejection({ rejected }: MoverMemory, namespace: string, key: string): void {
  const keys = rejected.get(namespace) ?? new Set()
  // The order is that of the last rejection, so that each VolumeManager gets its turn.
  keys.delete(key)
  rejected.set(namespace, keys.add(key))
}

/** How many VolumeManagers retry when a pod leaves a namespace: the quota of one pod may be enough for more than one mover. */
const MAX_RETRIED = 4

/** Returns the VolumeManagers whose movers the API server may accept after a change in their namespace, and forgets the rejections. */
function takeRejected({ type, before, after }: StoreChange, { rejected }: MoverMemory): string[] {
  const isFreed = type.kind === pods.kind && before && (!after || hasEnded(before as Pod, after as Pod))
  // Also its deletion: nothing else would end these entries.
  const changed = type.kind === namespaces.kind ? (after ?? before) : undefined
  if (!isFreed && !changed) return []
  const namespace = (changed ? changed.metadata.name : before?.metadata.namespace) ?? ''
  const keys = rejected.get(namespace)
  if (!keys) return []
  const retried = [...keys].slice(0, changed ? keys.size : MAX_RETRIED)
  for (const key of retried) keys.delete(key)
  if (keys.size === 0) rejected.delete(namespace)
  return retried
}

function hasEnded(before: Pod, after: Pod): boolean {
  return isEnded(after.status) && !isEnded(before.status)
}

/** Forgets a mover that the store has now. Forgets the progress of a mover that has ended or is gone. */
function forgetMover({ created, progress, stopping }: MoverMemory, { metadata, status }: Pod, isGone: boolean): void {
  const key = keyOfObject({ metadata })
  created.delete(key)
  if (!isGone && !isEnded(status)) return
  progress.delete(key)
  stopping.delete(key)
}

/**
 * Reads the expected movers that are not in the cache from the API server: the cache may be behind, and a mover may be deleted. A mover that was
 * removed has its last state.
 */
export async function readUncached(
  manager: VolumeManager,
  store: ObjectStore,
  settings: VolumeSettings['movers'],
  memory: MoverMemory,
): Promise<Pod[]> {
  const { created } = memory
  const { removed } = currentRetryMemory(manager, memory)
  const namespace = moverNamespace(manager, settings)
  const missing = expectedMovers(manager).filter((name) => !store.get(pods, namespace, name))
  const read = await Promise.all(
    missing.map(async (name) => {
      const pod = await store.read(pods, namespace, name)
      if (!pod) created.delete(objectKey(namespace, name))
      return pod ?? removed.get(name)
    }),
  )
  return read.filter((pod) => pod !== undefined)
}

/** Reads the movers of a VolumeManager that does not exist any more, also those that were created and are not cached yet. */
export async function readMovers(
  key: string,
  store: ObjectStore,
  settings: VolumeSettings['movers'],
  memory: MoverMemory,
): Promise<Pod[]> {
  const read = await Promise.all(
    createdFor(key, memory).map(({ metadata }) => store.read(pods, metadata.namespace, metadata.name ?? '')),
  )
  const movers = [...managerMovers(store, key, settings), ...read.filter((pod) => pod !== undefined)]
  return [...new Map(movers.map((pod) => [keyOfObject(pod), pod])).values()]
}

/** Forgets the movers of a VolumeManager that does not exist any more. */
export function forgetCreated(key: string, memory: MoverMemory): void {
  for (const pod of createdFor(key, memory)) memory.created.delete(keyOfObject(pod))
}

function createdFor(key: string, { created }: MoverMemory): Pod[] {
  return [...created.values()].filter((pod) => readTask(pod)?.manager === key)
}

/** A mover writes its progress at most every ten seconds, and it is only shown to users. */
const PROGRESS_MS = 25_000
/** The first progress is read earlier: the pods of a stream wait for its first bytes. */
const FIRST_PROGRESS_MS = 4_000

/** Reads the progress of the running movers of a VolumeManager, by the names of their Pods. Between two reads, it returns the last one. */
export async function readProgresses(
  key: string,
  store: ObjectStore,
  settings: VolumeSettings['movers'],
  { progress: remembered }: MoverMemory,
  present: Present,
): Promise<Map<string, MoverProgress>> {
  const running = managerMovers(store, key, settings).filter(({ status }) => status?.phase === 'Running')
  const read = await Promise.all(
    running.map(async ({ metadata: { namespace, name = '' } }) => {
      const pod = objectKey(namespace, name)
      const known = remembered.get(pod)
      // A progress of the future was read before the clock was set back.
      const age = known && present.now - known.at
      if (known && age !== undefined && age >= 0 && age < (known.progress ? PROGRESS_MS : FIRST_PROGRESS_MS))
        return [name, known.progress] as const
      const read = readProgress(await store.read(events, namespace, progressEventName(name)))
      const next = measured(known, read, present)
      remembered.set(pod, next)
      return [name, next.progress] as const
    }),
  )
  return new Map(read.flatMap(([name, progress]) => (progress ? [[name, progress]] : [])))
}

/** The progress with the rate of the last window. A window begins when the one before it is over. */
function measured(
  known: KnownProgress | undefined,
  read: MoverProgress | undefined,
  { now, jumps }: Present,
): KnownProgress {
  const { bytes = 0 } = read ?? {}
  const isBefore = known !== undefined && known.window.at <= now
  const window = isBefore ? known.window : { at: now, bytes }
  const ms = now - onPresentClock(window.at, jumps)
  const isOver = ms >= RATE_WINDOW_MS
  const bytesPerSecond = isOver ? ((bytes - window.bytes) * 1000) / ms : known?.progress?.bytesPerSecond
  const progress = read && defined({ ...read, bytesPerSecond })
  return { at: now, progress, window: isOver ? { at: now, bytes } : window }
}
