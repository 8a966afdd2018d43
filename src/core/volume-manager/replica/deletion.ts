/** One deletion of data, one step: nothing is deleted before nobody can come to use it and nobody does. */
import type { ReleaseState, ReleaseStatus } from '../../../api/volume-manager.ts'
import type { VolumeUser } from '../input.ts'
import type { MoverSight } from '../mover/observed-mover.ts'
import { DELETED, type MoverFailure } from '../mover/observed-state.ts'
import { retryDelayMs } from '../schedule/backoff.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { WAIT_MESSAGES } from '../status/codes.ts'
import { fromTime, toTime } from '../status/time.ts'
import { stepWork, withoutProgress } from './transition.ts'

export interface ReleaseSight extends MoverSight {
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

/** Why a deletion does not go on. */
interface Obstacle {
  code: string
  message: string
}

function obstacleOf(
  { nodeLabels, since, state }: ReleaseStatus,
  { labelled, users, evenInUse, written, now }: ReleaseSight,
): Obstacle | undefined {
  if (users.length > 0 && !evenInUse) return { code: 'InUse', message: WAIT_MESSAGES.InUse(named(users)) }
  const isRecent = state === 'Waiting' && nodeLabels.length > 0 && now < (fromTime(since) ?? now) + GRACE_MS
  if (labelled || (isRecent && !evenInUse)) return { code: 'NodeLabel', message: WAIT_MESSAGES.NodeLabel() }
  return written ? { code: 'MoverRunning', message: WAIT_MESSAGES.MoverRunning() } : undefined
}

const MAX_NAMED = 3

function named(users: readonly VolumeUser[]): string {
  const names = users.map(({ pod }) => pod).sort()
  const rest = names.length - MAX_NAMED
  return rest > 0 ? `${names.slice(0, MAX_NAMED).join(', ')} and ${rest} more` : names.join(', ')
}

function stepDeleting(
  release: ReleaseStatus,
  { mover = DELETED, progress, now, settings }: ReleaseSight,
): ReleaseStatus | undefined {
  if (mover.kind === 'succeeded') return undefined
  const stepped = mover.kind === 'failed' ? mover : stepWork(release, { mover, progress, settings, now })
  return 'kind' in stepped ? fail(release, stepped, now) : stepped
}

function fail(release: ReleaseStatus, { code, message }: MoverFailure, now: number): ReleaseStatus {
  const failures = (release.failures ?? 0) + 1
  const retryTime = toTime(now + retryDelayMs(failures, true))
  return { ...enter({ ...release, failures }, 'Failed', now, { code, message: `${code}: ${message}` }), retryTime }
}

function again(release: ReleaseStatus): ReleaseStatus {
  const { retryTime: _, ...rest } = release
  return { ...rest, attempt: release.attempt + 1 }
}

function enter(release: ReleaseStatus, state: ReleaseState, now: number, obstacle?: Obstacle): ReleaseStatus {
  const { code: _code, message: _message, ...rest } = withoutProgress(release)
  const since = release.state === state ? (release.since ?? toTime(now)) : toTime(now)
  return { ...rest, state, ...obstacle, since }
}
