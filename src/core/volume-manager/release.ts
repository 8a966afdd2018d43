/** One deletion of data, one step: nothing is deleted before nobody can come to use it and nobody does. */
import type { ReleaseState, ReleaseStatus } from '../../api/volume-manager.ts'
import { retryDelayMs } from './backoff.ts'
import type { Mended, VolumeUser } from './input.ts'
import { DELETED, type MoverView } from './mover-view.ts'
import type { VolumeSettings } from './settings.ts'
import { fromTime, toTime } from './time.ts'

export interface ReleaseSight {
  /** Its current mover; undefined when there is none. */
  mover: MoverView | undefined
  /** Whether the Node object is gone: then there is nothing left that could be deleted. */
  nodeGone: boolean
  /** Whether the node still has a label that leads pods there. */
  labelled: boolean
  /** The pods on that node that have the data mounted. */
  users: readonly VolumeUser[]
  /** Whether it may be deleted although it is used. */
  evenInUse: boolean
  /** Whether a mover that writes the data is still there. */
  written: boolean
  mended: ReadonlySet<Mended>
  settings: VolumeSettings
  now: number
}

/** The release as it is now; undefined when the data is gone. */
export function stepRelease(release: ReleaseStatus, sight: ReleaseSight): ReleaseStatus | undefined {
  if (sight.nodeGone) return undefined
  switch (release.state) {
    case 'Deleting':
      return stepDeleting(release, sight)
    case 'Failed':
      return isDue(release, sight) ? stepWaiting(again(release), sight) : release
    default:
      // A mover that is there although none was noted: whoever made it was stopped before it could write that down.
      return sight.mover ? stepDeleting(enter(release, 'Deleting', sight.now), sight) : stepWaiting(release, sight)
  }
}

function isDue({ retryTime }: ReleaseStatus, { mended, now }: ReleaseSight): boolean {
  return now >= (fromTime(retryTime) ?? 0) || mended.has('node')
}

/** A mover was made for it. */
export function startDeleting(release: ReleaseStatus, now: number): ReleaseStatus {
  return enter(release, 'Deleting', now)
}

function stepWaiting(release: ReleaseStatus, sight: ReleaseSight): ReleaseStatus {
  const obstacle = obstacleOf(release, sight)
  return obstacle === undefined ? enter(release, 'Queued', sight.now) : enter(release, 'Waiting', sight.now, obstacle)
}

/** A pod that was sent to the node just before it lost its label may not be seen there yet. */
const GRACE_MS = 3_000

function obstacleOf(
  { nodeLabels, since, state }: ReleaseStatus,
  { labelled, users, evenInUse, written, now }: ReleaseSight,
): string | undefined {
  if (users.length > 0 && !evenInUse) return `in use by ${named(users)}`
  const isRecent = state === 'Waiting' && nodeLabels.length > 0 && now < (fromTime(since) ?? now) + GRACE_MS
  if (labelled || (isRecent && !evenInUse)) return 'pods may still be on their way to the node'
  return written ? 'a mover is still writing it' : undefined
}

const MAX_NAMED = 3

function named(users: readonly VolumeUser[]): string {
  const names = users.map(({ pod }) => pod).sort()
  const rest = names.length - MAX_NAMED
  return rest > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${rest} more` : names.join(', ')
}

function stepDeleting(
  release: ReleaseStatus,
  { mover = DELETED, now, settings }: ReleaseSight,
): ReleaseStatus | undefined {
  switch (mover.kind) {
    case 'succeeded':
      return undefined
    case 'failed':
      return fail(release, `${mover.code}: ${mover.message}`, now)
    case 'waiting': {
      const waitedMs = now - (fromTime(release.since) ?? now)
      const tooLong = waitedMs > settings.movers.prepareTimeoutSeconds * 1000
      return tooLong
        ? fail(release, `PrepareTimeout: ${mover.message}`, now)
        : enter(release, 'Deleting', now, mover.message)
    }
    default:
      return enter(release, 'Deleting', now)
  }
}

function fail(release: ReleaseStatus, message: string, now: number): ReleaseStatus {
  const failures = (release.failures ?? 0) + 1
  const retryTime = toTime(now + retryDelayMs(failures, true))
  return { ...enter({ ...release, failures }, 'Failed', now, message), retryTime }
}

function again(release: ReleaseStatus): ReleaseStatus {
  const { retryTime: _, ...rest } = release
  return { ...rest, attempt: release.attempt + 1 }
}

function enter(release: ReleaseStatus, state: ReleaseState, now: number, message?: string): ReleaseStatus {
  const { message: _, ...rest } = release
  const since = release.state === state ? (release.since ?? toTime(now)) : toTime(now)
  return { ...rest, state, ...(message && { message }), since }
}
