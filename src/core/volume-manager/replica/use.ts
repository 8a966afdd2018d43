/**
 * The state machine of the use of a replica: whether pods mount its data, and when they last did.
 *
 * | State | Event | Next |
 * | --- | --- | --- |
 * | unused | a pod on its node mounts the data | in use, used now |
 * | in use | no pod mounts it any more, or the data is not ready any more | unused, used now |
 * | unused | a pod has ended that was never observed | unused, used now |
 * | any | the data is lost or evicted | unused; the times stay |
 * | any | new data arrives | the ends of pods before that count as processed |
 */
import type { ReplicaDownload, ReplicaUse } from '../../../api/volume-status.ts'
import { defined, without } from '../../../base/json.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { fromTime } from '../time.ts'
import { isReady } from './download.ts'

export interface UseObservation {
  /** Whether a pod on the node of the data mounts it. */
  isMounted: boolean
  /** Returns when the last pod that mounted the data ended, by the clock of its node; undefined if there is none. */
  lastEnd: () => string | undefined
  now: number
}

/** The fields of a download on which the use of its data depends. */
type Data = Pick<ReplicaDownload, 'state' | 'since'>

/** Computes the next use of a replica from the running pods and the pods that have ended. */
export function stepUse(use: ReplicaUse, data: Data, observed: UseObservation): ReplicaUse {
  const { inUse: wasUsed = false } = use
  const isUsed = isReady(data) && observed.isMounted
  // A replica in use counts as changed anyway. Only the end of the last of its pods is worth a write of the status.
  const recorded = isUsed || !isReady(data) ? use : recordEnd(use, data, observed)
  if (isUsed === wasUsed) return recorded
  return defined({ ...recorded, inUse: isUsed || undefined, lastUsedTime: toTime(observed.now) })
}

/**
 * Records the end of a pod that the controller may never have observed running. It compares times of one node only, since clocks of nodes
 * differ: the status has the last recorded end by the same clock.
 */
export function recordEnd<T extends ReplicaUse>(use: T, data: Data, observed: Omit<UseObservation, 'isMounted'>): T {
  const ended = observed.lastEnd()
  const recordedEnd = fromTime(use.lastEndTime) ?? lastUse({ ...data, ...use })
  if (ended === undefined || (fromTime(ended) ?? 0) <= recordedEnd) return use
  return { ...use, lastEndTime: ended, lastUsedTime: toTime(observed.now) }
}

/** The use of data that is lost, or evicted. */
export function endUse(use: ReplicaUse): ReplicaUse {
  return without(use, 'inUse')
}

/**
 * The use of data that has just arrived. Pods that ended before this time used other data. Times are exact to one second, so a pod that ended
 * in the same second may have used this data.
 *
 * @param endTime when the mover ended, by the clock of the node
 */
export function beginUse(use: ReplicaUse, endTime: string | undefined): ReplicaUse {
  const endMs = fromTime(endTime)
  return defined({ ...use, lastEndTime: endMs === undefined ? undefined : toTime(endMs - 1000) })
}

/** When a replica was last used, or became ready, in ms since the epoch; for the order of eviction. */
export function lastUse({ lastUsedTime, since }: ReplicaUse & Pick<ReplicaDownload, 'since'>): number {
  return Math.max(fromTime(lastUsedTime) ?? 0, fromTime(since) ?? 0)
}
