/** Work of movers that write data back or delete it, while it is under way: how far it is, and when it is given up. */
import type { WorkProgress } from '../../../api/volume-manager.ts'
import type { MoverProgress } from '../input.ts'
import { BEGINNING, type MoverFailure, type MoverView, overdue } from '../mover/observed-state.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { fromTime, toTime } from '../status/time.ts'

interface Work extends WorkProgress {
  attempt: number
  since?: string
  message?: string
}

interface WorkSight {
  mover: Extract<MoverView, { kind: 'waiting' | 'running' }>
  progress: MoverProgress | undefined
  settings: VolumeSettings
  now: number
}

/** The work one look on; a failure when its mover takes too long to begin, or does not get on for too long. */
export function stepWork<T extends Work>(work: T, { mover, progress, settings, now }: WorkSight): T | MoverFailure {
  const { prepareTimeoutSeconds, progressTimeoutSeconds } = settings.movers
  const isOver = (from: number | undefined, seconds: number) => now - (from ?? now) > seconds * 1000
  const { message: _, ...rest } = work
  if (mover.kind === 'waiting') {
    if (isOver(fromTime(work.since), prepareTimeoutSeconds)) {
      return overdue('PrepareTimeout', `not begun in time: ${mover.message}`, mover.node)
    }
    return mover.reason === BEGINNING.reason ? (rest as T) : { ...work, message: mover.message }
  }
  const { bytes, files, progressTime } = work
  const isNews = progress?.attempt === work.attempt && (progress.bytes !== bytes || progress.files !== files)
  if (isNews) return { ...(rest as T), bytes: progress.bytes, files: progress.files, progressTime: toTime(now) }
  // The time begins when it is first seen to run: before, it was not its turn.
  if (progressTime === undefined) return { ...(rest as T), progressTime: toTime(now) }
  return isOver(fromTime(progressTime), progressTimeoutSeconds)
    ? overdue('Stalled', 'it did not get on for too long', mover.node)
    : (rest as T)
}

/** What is noted of a mover that is at work goes when it no longer is. */
export function withoutProgress<T extends WorkProgress>(work: T): Omit<T, keyof WorkProgress> {
  const { bytes: _bytes, files: _files, progressTime: _time, ...rest } = work
  return rest
}
