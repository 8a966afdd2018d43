/** Changes that pods made to the data: written back to where it came from, once they are done with it (VCK's option `resync`). */
import type { ReplicaStatus, UploadStatus, VolumeConfig } from '../../../api/volume-manager.ts'
import { parseDuration } from '../../locality/duration.ts'
import type { MoverSight } from '../mover/observed-mover.ts'
import { DELETED } from '../mover/observed-state.ts'
import { retryDelayMs } from '../schedule/backoff.ts'
import { parseBoolean } from '../spec/options.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { fromTime, toTime } from '../status/time.ts'
import { stepWork, withoutProgress } from './transition.ts'

/** Whether changes of a volume are written back at all. */
export function isWrittenBack(config: VolumeConfig | undefined): boolean {
  return parseBoolean(config?.options?.['resync'] ?? '') ?? false
}

/** Whether pods may have changed the data since it was last written back. One that was never used is as it came. */
export function hasChanges({ lastUsedTime, uploadedTime, inUse }: ReplicaStatus): boolean {
  if (inUse) return true
  const used = fromTime(lastUsedTime)
  return used !== undefined && used >= (fromTime(uploadedTime) ?? 0)
}

export interface UploadSight extends MoverSight {
  config: VolumeConfig | undefined
  settings: VolumeSettings
  now: number
}

/** The replica with its upload one step on. */
export function stepUpload(replica: ReplicaStatus, sight: UploadSight): ReplicaStatus {
  const { upload, ...rest } = replica
  if (replica.state !== 'Ready' || !isWrittenBack(sight.config)) return upload ? rest : replica
  switch (upload?.state) {
    case 'Uploading':
      return stepUploading(replica, upload, sight)
    case 'Queued':
      return sight.mover
        ? stepUploading({ ...replica, uploads: upload.attempt }, enter(upload, 'Uploading', sight.now), sight)
        : replica
    default:
      return isDue(replica, sight) ? { ...replica, upload: queued(replica, sight.now) } : replica
  }
}

/** A mover was made for it. */
export function startUpload(replica: ReplicaStatus, now: number): ReplicaStatus {
  const { upload } = replica
  return upload ? { ...replica, upload: enter(upload, 'Uploading', now), uploads: upload.attempt } : replica
}

/** When the last pod is done; while pods are at work only every so often, and only if somebody asked for that. */
function isDue(replica: ReplicaStatus, { config, mended, now }: UploadSight): boolean {
  const { upload, inUse } = replica
  const isTime = now >= (fromTime(upload?.retryTime) ?? 0) || mended.has('secret')
  if (!isTime || !hasChanges(replica)) return false
  return !inUse || now >= (nextUploadAt(replica, config) ?? Number.POSITIVE_INFINITY)
}

/** When changes are written back next while pods are at work, in ms since the epoch; undefined where nobody asked for that. */
export function nextUploadAt(
  { uploadedTime, lastUsedTime }: ReplicaStatus,
  config: VolumeConfig | undefined,
): number | undefined {
  const intervalMs = parseDuration(config?.options?.['resyncInterval'] ?? '') ?? 0
  if (!isWrittenBack(config) || intervalMs <= 0) return undefined
  return Math.max(fromTime(uploadedTime) ?? 0, fromTime(lastUsedTime) ?? 0) + intervalMs
}

function queued({ upload, uploads = 0 }: ReplicaStatus, now: number): UploadStatus {
  const { failures } = upload ?? {}
  return { state: 'Queued', attempt: uploads + 1, ...(failures && { failures }), since: toTime(now) }
}

function stepUploading(
  replica: ReplicaStatus,
  upload: UploadStatus,
  { mover = DELETED, progress, settings, now }: UploadSight,
): ReplicaStatus {
  const { upload: _, ...rest } = replica
  // What was changed while it ran was perhaps not seen.
  if (mover.kind === 'succeeded') return { ...rest, uploadedTime: upload.since ?? toTime(now) }
  const stepped = mover.kind === 'failed' ? mover : stepWork(upload, { mover, progress, settings, now })
  if (!('kind' in stepped)) return { ...rest, upload: stepped }
  const failures = (upload.failures ?? 0) + 1
  const retryTime = toTime(now + retryDelayMs(failures, stepped.retry))
  const message = `${stepped.code}: ${stepped.message}`
  return { ...rest, upload: { ...enter(upload, 'Failed', now), failures, message, retryTime } }
}

function enter(upload: UploadStatus, state: UploadStatus['state'], now: number): UploadStatus {
  const { message: _, retryTime: _retry, ...rest } = withoutProgress(upload)
  return { ...rest, state, since: upload.state === state ? (upload.since ?? toTime(now)) : toTime(now) }
}
