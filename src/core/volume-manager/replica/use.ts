/** Records whether pods use a replica, and when they last did: uploads and evictions depend on it. */
import type { ReplicaStatus } from '../../../api/volume-manager.ts'
import type { LastEnd, VolumeManagerInput } from '../input.ts'
import { fromTime, toTime } from '../status/time.ts'
import { isReady } from './replica.ts'
import { lastUse } from './replica-set.ts'

/** The replica with its use by pods that run, and by pods that have ended. */
export function recordUse(replica: ReplicaStatus, { users, lastEnd, now }: VolumeManagerInput): ReplicaStatus {
  const { path, node, inUse: wasUsed = false } = replica
  const isUsed = isReady(replica) && path !== undefined && users(path).some((user) => user.node === node)
  // While it is in use it counts as changed. Many pods may end: only the end of the last one is worth a write of the status.
  const recorded = isUsed ? replica : recordEnd(replica, lastEnd, now)
  if (isUsed === wasUsed) return recorded
  const { inUse: _, ...rest } = recorded
  return { ...rest, ...(isUsed && { inUse: true }), lastUsedTime: toTime(now) }
}

/**
 * The replica with its use by a pod that ended, and may have started, since the last look. Only times of one node are compared, since its
 * clock may be off: the status has the last recorded end by the same clock.
 */
export function recordEnd(replica: ReplicaStatus, lastEnd: LastEnd, now: number): ReplicaStatus {
  const { node, path, lastEndTime } = replica
  if (!isReady(replica) || node === undefined || path === undefined) return replica
  const ended = lastEnd(node, path)
  const recordedEnd = fromTime(lastEndTime) ?? lastUse(replica)
  if (ended === undefined || (fromTime(ended) ?? 0) <= recordedEnd) return replica
  return { ...replica, lastEndTime: ended, lastUsedTime: toTime(now) }
}
