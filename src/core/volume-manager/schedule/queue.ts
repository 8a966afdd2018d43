/** The queue of movers: one for all VolumeManagers, since they share the nodes and the network. */

import { keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus, ReplicaStatus, UploadStatus } from '../../../api/volume-status.ts'
import type { MoverAllowance } from '../input.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { STUCK } from '../status/codes.ts'
import { fromTime } from '../status/time.ts'
import { openNodeSlots } from './slots.ts'

/** The work on data that is ready: an upload, and a check or a refresh. */
function workOf({ upload, maintenance }: ReplicaStatus): (UploadStatus | MaintenanceStatus)[] {
  return [upload, maintenance].filter((work) => work !== undefined)
}

/** Whether a replica, a deletion or other work waits for a slot. */
function isWaiting({ state }: { state: string }): boolean {
  return state === 'Queued'
}

/** Whether any mover of a VolumeManager waits for a slot. */
export function isInQueue({ status }: Pick<VolumeManager, 'status'>): boolean {
  const volumes = Array.isArray(status?.volumes) ? status.volumes : []
  return volumes.some(({ replicas = [], deletions = [] }) =>
    [...replicas, ...deletions, ...replicas.flatMap(workOf)].some(isWaiting),
  )
}

/** A mover that waits for a slot. */
interface QueueEntry {
  manager: string
  /** The node of the data that the mover deletes, uploads or checks; undefined for a download, which is marked when it cannot start. */
  node: string | undefined
  /** Whether it could not start when its VolumeManager was last planned. */
  isStuck: boolean
  priority: number
  since: number
}

/** Cached objects never change, so the entries of each version of a VolumeManager are read and sorted once. */
const knownEntries = new WeakMap<object, readonly QueueEntry[]>()

/**
 * Returns the first entries of the queue, each as the `namespace/name` of its VolumeManager. A VolumeManager has one entry for each waiting
 * mover. Deletions are first, because they free disk. The rest is sorted by priority, then by waiting time. Entries that could not start
 * when their VolumeManager was last planned are last. Checks and refreshes are behind them, so that they never delay a download.
 *
 * @param waiting the VolumeManagers that wait (`isInQueue`)
 * @param full the nodes without a free slot. Movers that must run there have no entry: they would delay the movers of all other nodes.
 */
export function firstEntries(
  waiting: Iterable<VolumeManager>,
  count: number,
  full: ReadonlySet<string> = new Set(),
): string[] {
  const first: QueueEntry[] = []
  for (const manager of waiting) {
    for (const entry of entriesOf(manager)) {
      if (entry.node !== undefined && full.has(entry.node)) continue
      if (!insert(first, entry, count)) break
    }
  }
  return first.map(({ manager }) => manager)
}

/** The first VolumeManagers of the queue, each once. */
export function firstManagers(waiting: Iterable<VolumeManager>, count: number): string[] {
  const first: QueueEntry[] = []
  for (const manager of waiting) {
    const [best] = entriesOf(manager)
    if (best) insert(first, best, count)
  }
  return first.map(({ manager }) => manager)
}

/** Inserts an entry into the first `count` in order; returns false when all of them come before it. */
function insert(first: QueueEntry[], entry: QueueEntry, count: number): boolean {
  let at = first.length
  while (at > 0 && compareEntries(entry, first[at - 1] as QueueEntry) < 0) at--
  if (at >= count) return false
  first.splice(at, 0, entry)
  if (first.length > count) first.pop()
  return true
}

function compareEntries(a: QueueEntry, b: QueueEntry): number {
  return (
    Number(a.isStuck) - Number(b.isStuck) ||
    // Two deletions, or two checks, have infinite priority, and Infinity - Infinity is NaN.
    (a.priority === b.priority ? 0 : b.priority - a.priority) ||
    a.since - b.since ||
    (a.manager < b.manager ? -1 : Number(a.manager > b.manager))
  )
}

function entriesOf(manager: VolumeManager): readonly QueueEntry[] {
  const known = knownEntries.get(manager)
  if (known) return known
  const entries = readEntries(manager).sort(compareEntries)
  knownEntries.set(manager, entries)
  return entries
}

function readEntries({ metadata, spec, status }: VolumeManager): QueueEntry[] {
  const manager = keyOfObject({ metadata })
  return (status?.volumes ?? []).flatMap(({ id, replicas = [], deletions = [] }) => {
    const priority = spec.volumeConfigs.find((config) => config.id === id)?.priority ?? 0
    const entry = ({ since }: { since?: string }, node: string | undefined) => ({
      manager,
      node,
      isStuck: false,
      since: fromTime(since) ?? 0,
    })
    return [
      ...deletions.filter(isWaiting).map((one) => ({ ...entry(one, one.node), priority: Number.POSITIVE_INFINITY })),
      ...replicas.flatMap(({ upload, node }) =>
        upload && isWaiting(upload) ? [{ ...entry(upload, node), priority }] : [],
      ),
      ...replicas
        .filter(isWaiting)
        .map((one) => ({ ...entry(one, undefined), priority, isStuck: STUCK.has(one.reason) })),
      // Behind all others, also those that could not start: more checks may wait than may run at once.
      ...replicas.flatMap(({ maintenance, node }) =>
        maintenance && isWaiting(maintenance)
          ? [{ ...entry(maintenance, node), priority: Number.NEGATIVE_INFINITY, isStuck: true }]
          : [],
      ),
    ]
  })
}

export interface AllowanceInput {
  /** `namespace/name` of the VolumeManager that is planned. */
  manager: string
  /** The VolumeManagers with waiting movers. */
  waiting: readonly VolumeManager[]
  /** The movers of all VolumeManagers that have not ended, including movers that the cache does not have yet. */
  active: readonly Pod[]
  settings: VolumeSettings['movers']
}

/** How many movers a VolumeManager may start now without overtaking another one. */
export function allowanceOf({ manager, waiting, active, settings }: AllowanceInput): MoverAllowance {
  const free = Math.max(0, settings.maxInAll - active.length)
  if (free === 0 || waiting.length === 0) return { slots: 0, active }
  const full = openNodeSlots(active, settings.maxPerNode).fullNodes()
  const slots = firstEntries(waiting, free, full).filter((one) => one === manager).length
  return { slots, active }
}
