/** What a mover that checks a replica compares, and which replaced trees it may delete. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeUser } from '../input.ts'
import { isReadOnly } from '../rules/published.ts'
import { fromTime, toTime } from '../time.ts'

/** What a check compares: with `record`, pods may have changed the files. */
export function contentsOf(config: VolumeConfig, { lastUsedTime, inUse }: ReplicaStatus): 'record' | 'files' {
  const isUnused = lastUsedTime === undefined && !inUse
  return isReadOnly(config) || isUnused ? 'files' : 'record'
}

/** The time before which replaced trees may be deleted: `all`, the start of the first pod, or undefined if a start is not known. */
export function deletableBefore(users: readonly VolumeUser[]): string | undefined {
  if (users.length === 0) return 'all'
  const starts = users.map(({ startTime }) => fromTime(startTime))
  return starts.every((start) => start !== undefined) ? toTime(Math.min(...starts)) : undefined
}
