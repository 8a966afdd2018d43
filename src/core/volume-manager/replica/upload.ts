/** The state machine of an upload, which writes the changes of pods back to the source (VCK's option `resync`). */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, UploadStatus } from '../../../api/volume-status.ts'
import { without } from '../../../base/json.ts'
import { parseDuration } from '../../../base/time/duration.ts'
import type { FailureCode } from '../../mover-contract/contract.ts'
import { parseBoolean } from '../rules/options.ts'
import { earliest, fromTime, toTime } from '../time.ts'
import {
  enter,
  hasNewInput,
  inQueue,
  isRetryDue,
  mayBeAccepted,
  type Observation,
  stepWork,
  type Transition,
  untilRetry,
} from './transition.ts'

const CONFLICT = 'WriteConflict' satisfies FailureCode

export interface UploadObservation extends Observation {
  /** Undefined for a volume that is no longer in the spec, and for one with an invalid spec and no such mover. */
  config: VolumeConfig | undefined
}

/** Whether changes of a volume are written back. */
export function isWrittenBack(config: VolumeConfig | undefined): boolean {
  return parseBoolean(config?.options?.['resync'] ?? '') ?? false
}

/** Whether pods may have changed the data since the last upload. Data that was never used is unchanged. */
export function hasChanges({ lastUsedTime, uploadedTime, inUse }: ReplicaStatus): boolean {
  if (inUse) return true
  const used = fromTime(lastUsedTime)
  return used !== undefined && used >= (fromTime(uploadedTime) ?? 0)
}

/** Computes the next status of the upload of a replica. */
export function stepUpload(replica: ReplicaStatus, observed: UploadObservation): Transition<ReplicaStatus> {
  const { upload, ...rest } = replica
  const { config, now } = observed
  if (replica.state !== 'Ready' || !isWrittenBack(config)) return idle(upload ? rest : replica, config, now)
  switch (upload?.state) {
    case 'Uploading':
      return stepUploading(replica, upload, observed)
    case 'Queued': {
      if (!observed.mover) return inQueue(replica, now)
      const started = startUpload(replica, now)
      return stepUploading(started, started.upload ?? upload, observed)
    }
    default: {
      if (isDue(replica, observed)) return inQueue({ ...replica, upload: queued(replica, now) }, now)
      if (!upload) return idle(replica, config, now)
      return isRetryDue(upload, now) ? inQueue(replica, now) : { next: replica, dueAt: untilRetry(upload, now).dueAt }
    }
  }
}

/** Enters Uploading, for a mover that is created now. */
export function startUpload(replica: ReplicaStatus, now: number): ReplicaStatus {
  const { upload } = replica
  return upload ? { ...replica, upload: enter(upload, 'Uploading', now), uploads: upload.attempt } : replica
}

/**
 * The transition of a replica without an upload. While pods use the data, it is checked again: the end of the use may be missed, or an
 * interval may end.
 */
function idle(next: ReplicaStatus, config: VolumeConfig | undefined, now: number): Transition<ReplicaStatus> {
  return next.inUse ? { next, dueAt: earliest(inQueue(next, now).dueAt, nextUploadAt(next, config)) } : { next }
}

/** Whether an upload is due: after the last pod has ended, or after `resyncInterval` while pods use the data. */
function isDue(replica: ReplicaStatus, { config, retryTriggers, now }: UploadObservation): boolean {
  const { upload, inUse } = replica
  const isTime =
    upload === undefined ||
    isRetryDue(upload, now) ||
    hasNewInput(retryTriggers) ||
    mayBeAccepted(retryTriggers, upload)
  if (!isTime) return false
  // It ends when the user has resolved the conflict, also without new changes.
  if (!hasChanges(replica)) return isConflict(replica)
  return !inUse || now >= (nextUploadAt(replica, config) ?? Number.POSITIVE_INFINITY)
}

/** The time of the next upload while pods use the data, in ms since the epoch; undefined without `resyncInterval`. */
function nextUploadAt(
  { uploadedTime, lastUsedTime }: ReplicaStatus,
  config: VolumeConfig | undefined,
): number | undefined {
  const intervalMs = parseDuration(config?.options?.['resyncInterval'] ?? '') ?? 0
  if (!isWrittenBack(config) || intervalMs <= 0) return undefined
  return Math.max(fromTime(uploadedTime) ?? 0, fromTime(lastUsedTime) ?? 0) + intervalMs
}

/** Queues the next attempt. The last failure stays visible until an attempt succeeds. */
function queued({ upload, uploads = 0 }: ReplicaStatus, now: number): UploadStatus {
  const { failures, isPermanent } = upload ?? {}
  const lastFailure = upload && failureOf(upload)
  return {
    state: 'Queued',
    attempt: uploads + 1,
    ...(failures && { failures }),
    ...(isPermanent && { isPermanent }),
    ...(lastFailure && { lastFailure }),
    since: toTime(now),
  }
}

/** Why the last attempt of an upload failed; undefined if none did. */
export function failureOf({ state, reason, message = '', lastFailure }: UploadStatus): string | undefined {
  return state === 'Failed' && reason !== undefined ? `${reason}: ${message}` : lastFailure
}

/** Whether the source has two versions of an object that pods and another client changed. */
export function isConflict({ upload }: ReplicaStatus): boolean {
  return upload?.state === 'Failed' && upload.reason === CONFLICT
}

/** Whether no upload has shown yet that a conflict is resolved: the last one found it, or the next one has not ended. */
export function mayConflict({ upload }: ReplicaStatus): boolean {
  return upload !== undefined && (failureOf(upload)?.startsWith(`${CONFLICT}: `) ?? false)
}

function stepUploading(
  replica: ReplicaStatus,
  upload: UploadStatus,
  observed: UploadObservation,
): Transition<ReplicaStatus> {
  const { upload: _, ...rest } = replica
  const { config, now } = observed
  const step = stepWork(upload, observed)
  // The upload may lack changes that pods made while the mover ran.
  const uploadedTime = upload.since ?? toTime(now)
  if (!step) return idle({ ...rest, uploadedTime }, config, now)
  const failed = { ...rest, upload: step.next.state === 'Failed' ? withCause(step.next, observed) : step.next }
  // The source has both versions, so nothing is lost when the data is deleted. The failure stays visible until an upload succeeds.
  return { next: isConflict(failed) ? { ...failed, uploadedTime } : failed, dueAt: step.dueAt }
}

function withCause(upload: UploadStatus, { mover }: UploadObservation): UploadStatus {
  const rest = without(upload, 'isPermanent', 'lastFailure')
  return { ...rest, ...(mover?.kind === 'failed' && !mover.retry && { isPermanent: true }) }
}
