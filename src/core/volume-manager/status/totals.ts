/** Counts the replicas and the waiting work of a VolumeManager, for the metrics. */

import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaState } from '../../../api/volume-status.ts'
import { listVolumes } from '../known-status.ts'
import { listVolumeWork, type MeasuredTask } from '../mover/measured-mover.ts'
import { isConflict } from '../replica/upload.ts'
import { fromTime } from '../time.ts'

/** The values of the label `state`. */
export const REPLICA_STATES = [
  'Queued',
  'Starting',
  'Downloading',
  'Ready',
  'Failed',
  'Unreachable',
  'Evicted',
] as const satisfies ReplicaState[]

export interface VolumeTotals {
  replicas: Partial<Record<ReplicaState, number>>
  /** Work that waits for a slot: how much, and since when the oldest waits, in ms since the epoch. */
  queue: Partial<Record<MeasuredTask, { count: number; since: number }>>
  /** Replicas whose write-back waits for the user, since the source has another version. */
  conflicts: number
}

/** Returns the totals of one VolumeManager. Any tenant may write a status, so an unknown state is left out. */
export function countTotals(manager: VolumeManager): VolumeTotals {
  const totals: VolumeTotals = { replicas: {}, queue: {}, conflicts: 0 }
  for (const volume of listVolumes(manager)) {
    for (const replica of volume.replicas ?? []) {
      if (REPLICA_STATES.includes(replica.state)) {
        totals.replicas[replica.state] = (totals.replicas[replica.state] ?? 0) + 1
      }
      if (isConflict(replica)) totals.conflicts++
    }
    for (const [task, , { state, since }] of listVolumeWork(volume)) {
      if (state !== 'Queued') continue
      const { count, since: oldest } = totals.queue[task] ?? { count: 0, since: Number.POSITIVE_INFINITY }
      totals.queue[task] = { count: count + 1, since: Math.min(oldest, fromTime(since) ?? oldest) }
    }
  }
  return totals
}
