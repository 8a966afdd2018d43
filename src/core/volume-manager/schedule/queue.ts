/** The queue of movers: the waiting work of VolumeManagers, in the order of their namespace. Namespaces share the slots (shares.ts). */

import { keyOfObject } from '../../../api/meta.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus, ReplicaStatus, UploadStatus } from '../../../api/volume-status.ts'
import { STUCK } from '../codes.ts'
import { listConfigs, listVolumes } from '../known-status.ts'
import type { MoverTask } from '../mover/task.ts'
import { fromTime } from '../time.ts'

/** The work on data that is ready: an upload, and a check or a refresh. */
function uploadAndMaintenance({ upload, maintenance }: ReplicaStatus): (UploadStatus | MaintenanceStatus)[] {
  return [upload, maintenance].filter((work) => work !== undefined)
}

/** Whether a replica, a deletion or other work waits for a slot. */
function isWaiting({ state }: { state: string }): boolean {
  return state === 'Queued'
}

/** Whether any mover of a VolumeManager waits for a slot. */
export function isInQueue(manager: Pick<VolumeManager, 'status'>): boolean {
  return listVolumes(manager).some(({ replicas = [], deletions = [] }) =>
    [...replicas, ...deletions, ...replicas.flatMap(uploadAndMaintenance)].some(isWaiting),
  )
}

/** The order inside a namespace, regardless of priorities. Its checks and refreshes never delay its downloads. */
export const RANK = { ready: 0, stuck: 1, maintenance: 2 } as const

/** A mover that waits for a slot. */
export interface QueueEntry extends Pick<MoverTask, 'manager' | 'id' | 'role' | 'index'> {
  /** The namespace of the VolumeManager. */
  namespace: string
  /** The node of the data; undefined for a download that may run on several nodes. */
  node: string | undefined
  /** A stuck download could not start when its VolumeManager was last planned. */
  rank: (typeof RANK)[keyof typeof RANK]
  priority: number
  /** Since when it waits, in ms since the epoch. */
  since: number
  /** Before this time it does not start: its last mover was preempted. In ms since the epoch. */
  notBefore: number
}

/** Cached objects never change, so the entries of each version of a VolumeManager are read and sorted once. */
const knownEntries = new WeakMap<object, readonly QueueEntry[]>()

/**
 * The entries of a VolumeManager in their order, one for each mover that may start now. Deletions are first, because they free disk. The
 * rest is sorted by priority, then by waiting time. Stuck downloads are behind them, and checks and refreshes are last.
 */
export function queueEntries(manager: VolumeManager): readonly QueueEntry[] {
  const known = knownEntries.get(manager)
  if (known) return known
  const entries = readEntries(manager).sort(compareEntries)
  knownEntries.set(manager, entries)
  return entries
}

/** The order of two entries of one namespace. */
export function compareEntries(a: QueueEntry, b: QueueEntry): number {
  return (
    a.rank - b.rank ||
    // Two deletions, or two checks, have infinite priority, and Infinity - Infinity is NaN.
    (a.priority === b.priority ? 0 : b.priority - a.priority) ||
    a.since - b.since ||
    (a.manager < b.manager ? -1 : Number(a.manager > b.manager))
  )
}

/** Inserts an entry into the first `count` entries in order, unless all of them come before it, or it is blocked. */
export function insertEntry(
  first: QueueEntry[],
  entry: QueueEntry,
  count: number,
  isBlocked: (entry: QueueEntry) => boolean,
): void {
  let at = first.length
  while (at > 0 && compareEntries(entry, first[at - 1] as QueueEntry) < 0) at--
  // Most entries are behind, and only the others are looked up.
  if (at >= count || isBlocked(entry)) return
  first.splice(at, 0, entry)
  if (first.length > count) first.pop()
}

function readEntries(volumeManager: VolumeManager): QueueEntry[] {
  const { metadata, status } = volumeManager
  const configs = listConfigs(volumeManager)
  const { namespace = '' } = metadata
  const manager = keyOfObject({ metadata })
  return (status?.volumes ?? []).flatMap(({ id, replicas = [], deletions = [] }) => {
    const priority = configs.find((config) => config.id === id)?.priority ?? 0
    const entry = (
      role: MoverTask['role'],
      index: number,
      { since, reason, retryTime }: { since?: string; reason?: string; retryTime?: string },
      more: Partial<QueueEntry> = {},
    ): QueueEntry => {
      const rank = STUCK.has(reason) ? RANK.stuck : RANK.ready
      const times = { since: fromTime(since) ?? 0, notBefore: fromTime(retryTime) ?? 0 }
      return { manager, namespace, id, role, index, node: undefined, rank, priority, ...times, ...more }
    }
    const download = (one: ReplicaStatus) => entry('replica', one.index, one, { node: one.node })
    const downloads = replicas.filter(isWaiting)
    const pinned = downloads.filter(({ node }) => node !== undefined)
    const unpinned = downloads.filter(({ node }) => node === undefined)
    const first = { priority: Number.POSITIVE_INFINITY }
    const last = { rank: RANK.maintenance, priority: Number.NEGATIVE_INFINITY }
    return [
      ...deletions.filter(isWaiting).map((one) => entry('deletion', one.index, one, { ...first, node: one.node })),
      ...replicas.flatMap(({ index, upload, node }) =>
        upload && isWaiting(upload) ? [entry('upload', index, upload, { node })] : [],
      ),
      ...pinned.map(download),
      // They start one after the other, because each waits until the scheduler has placed the one before it (`searchState`).
      ...unpinned.map(download).sort(compareEntries).slice(0, 1),
      ...replicas.flatMap(({ index, maintenance, node }) =>
        maintenance && isWaiting(maintenance) ? [entry('maintenance', index, maintenance, { node, ...last })] : [],
      ),
    ]
  })
}
