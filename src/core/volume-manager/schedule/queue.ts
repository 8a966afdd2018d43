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

/** The order of the queue, regardless of priorities. Checks and refreshes never delay a download. */
const RANK = { ready: 0, stuck: 1, maintenance: 2 } as const

/** A mover that waits for a slot. */
interface QueueEntry {
  manager: string
  /** The node of the data that the mover deletes, uploads or checks; undefined for a download, which is marked when it cannot start. */
  node: string | undefined
  /** A stuck download could not start when its VolumeManager was last planned. */
  rank: (typeof RANK)[keyof typeof RANK]
  priority: number
  since: number
}

/** Cached objects never change, so the entries of each version of a VolumeManager are read and sorted once. */
const knownEntries = new WeakMap<object, readonly QueueEntry[]>()

/**
 * Returns the first entries of the queue, each as the `namespace/name` of its VolumeManager. A VolumeManager has one entry for each mover
 * that may start now. Deletions are first, because they free disk. The rest is sorted by priority, then by waiting time. Stuck downloads
 * are behind them, and checks and refreshes are last.
 *
 * @param waiting the VolumeManagers that wait (`isInQueue`)
 * @param mayUseSlot whether an entry may use a free slot. Other entries are left out.
 */
export function firstEntries(
  waiting: Iterable<VolumeManager>,
  count: number,
  mayUseSlot: (entry: QueueEntry) => boolean = () => true,
): string[] {
  const first: QueueEntry[] = []
  for (const manager of waiting) {
    for (const entry of entriesOf(manager)) {
      if (mayUseSlot(entry) && !insert(first, entry, count)) break
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
    a.rank - b.rank ||
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
    const entry = ({ since }: { since?: string }, node: string | undefined, more: Partial<QueueEntry> = {}) => ({
      ...{ manager, node, rank: RANK.ready, priority, since: fromTime(since) ?? 0 },
      ...more,
    })
    const download = (one: ReplicaStatus) =>
      entry(one, undefined, { rank: STUCK.has(one.reason) ? RANK.stuck : RANK.ready })
    const downloads = replicas.filter(isWaiting)
    const pinned = downloads.filter(({ node }) => node !== undefined)
    const unpinned = downloads.filter(({ node }) => node === undefined)
    return [
      ...deletions.filter(isWaiting).map((one) => entry(one, one.node, { priority: Number.POSITIVE_INFINITY })),
      ...replicas.flatMap(({ upload, node }) => (upload && isWaiting(upload) ? [entry(upload, node)] : [])),
      ...pinned.map(download),
      // They start one after the other, because each waits until the scheduler has placed the one before it (`searchState`).
      ...unpinned.map(download).sort(compareEntries).slice(0, 1),
      ...replicas.flatMap(({ maintenance, node }) =>
        maintenance && isWaiting(maintenance)
          ? [entry(maintenance, node, { rank: RANK.maintenance, priority: Number.NEGATIVE_INFINITY })]
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

/**
 * How many movers a VolumeManager may start now without overtaking another one that could start. Movers of full nodes and stuck downloads
 * of others keep no slot free, or a single VolumeManager that matches no node could stop all others.
 */
export function allowanceOf({ manager, waiting, active, settings }: AllowanceInput): MoverAllowance {
  const free = Math.max(0, settings.maxInAll - active.length)
  if (free === 0 || waiting.length === 0) return { slots: 0, active }
  const full = openNodeSlots(active, settings.maxPerNode).fullNodes()
  const mayUseSlot = (entry: QueueEntry) =>
    (entry.node === undefined || !full.has(entry.node)) && (entry.rank !== RANK.stuck || entry.manager === manager)
  const slots = firstEntries(waiting, free, mayUseSlot).filter((one) => one === manager).length
  return { slots, active }
}
