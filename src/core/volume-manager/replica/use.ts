/** Whether pods use a replica, and when that was last seen: what decides whether it has changes, and whether it may be evicted. */
import type { ReplicaStatus } from '../../../api/volume-manager.ts'
import type { LastEnd, VolumeManagerInput } from '../input.ts'
import { fromTime, toTime } from '../status/time.ts'
import { isReady } from './replica.ts'
import { lastUse } from './replica-set.ts'

/** The replica with what is seen of its use, by pods that are there and by pods that have ended. */
export function noteUse(replica: ReplicaStatus, { users, lastEnd, now }: VolumeManagerInput): ReplicaStatus {
  const { path, node, inUse: wasUsed = false } = replica
  const isUsed = isReady(replica) && path !== undefined && users(path).some((user) => user.node === node)
  // While it is in use there are changes anyway, and many pods may end: only the last of them is worth a write of the status.
  const seen = isUsed ? replica : noteEnd(replica, lastEnd, now)
  if (isUsed === wasUsed) return seen
  const { inUse: _, ...rest } = seen
  return { ...rest, ...(isUsed && { inUse: true }), lastUsedTime: toTime(now) }
}

/**
 * The replica with the use by a pod that has ended since the last look, and may have begun since then as well. Whether an end is news
 * is told by times of its node alone, whose clock may be any: what was already seen is in the status, by the same clock.
 */
export function noteEnd(replica: ReplicaStatus, lastEnd: LastEnd, now: number): ReplicaStatus {
  const { node, path, lastEndTime } = replica
  if (!isReady(replica) || node === undefined || path === undefined) return replica
  const ended = lastEnd(node, path)
  const accountedFor = fromTime(lastEndTime) ?? lastUse(replica)
  if (ended === undefined || (fromTime(ended) ?? 0) <= accountedFor) return replica
  return { ...replica, lastEndTime: ended, lastUsedTime: toTime(now) }
}
