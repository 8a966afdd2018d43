/** Records whether pods use a replica, and when they last used it. Uploads and evictions depend on these fields. */
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { LastEnd, VolumeManagerInput } from '../input.ts'
import { fromTime, toTime } from '../time.ts'
import { isReady } from './replica.ts'
import { lastUse } from './replica-set.ts'

/** Records the use by running pods and by pods that have ended. */
export function recordUse(replica: ReplicaStatus, { users, lastEnd, now }: VolumeManagerInput): ReplicaStatus {
  const { path, node, inUse: wasUsed = false } = replica
  const isUsed = isReady(replica) && path !== undefined && users(path).some((user) => user.node === node)
  // A replica in use counts as changed anyway. Only the end of the last of its pods is worth a write of the status.
  const recorded = isUsed ? replica : recordEnd(replica, lastEnd, now)
  if (isUsed === wasUsed) return recorded
  const { inUse: _, ...rest } = recorded
  return { ...rest, ...(isUsed && { inUse: true }), lastUsedTime: toTime(now) }
}

/**
 * Records the end of a pod that the controller may never have observed running. It compares times of one node only, since clocks of nodes
 * differ: the status has the last recorded end by the same clock.
 */
export function recordEnd(replica: ReplicaStatus, lastEnd: LastEnd, now: number): ReplicaStatus {
  const { node, path, lastEndTime } = replica
  if (!isReady(replica) || node === undefined || path === undefined) return replica
  const ended = lastEnd(node, path)
  const recordedEnd = fromTime(lastEndTime) ?? lastUse(replica)
  if (ended === undefined || (fromTime(ended) ?? 0) <= recordedEnd) return replica
  return { ...replica, lastEndTime: ended, lastUsedTime: toTime(now) }
}
