/**
 * The state machine of an upload, which writes the changes of pods back to the source (VCK's option `resync`).
 *
 * | State | Event | Next |
 * | --- | --- | --- |
 * | none, Failed | the data has changes, and no pod uses it or `resyncInterval` is over | Queued |
 * | Queued | its mover gets a slot | Uploading |
 * | Uploading | the mover succeeded | none: the changes until its start are uploaded |
 * | Uploading | the mover failed, was rejected, did not start in time, or stalled | Failed |
 * | Uploading | pods wrote files all the time | Failed, which does not count: the next upload has these files |
 * | Uploading | the mover was preempted | Queued |
 * | Failed | a conflict, and its retry time has passed | Queued |
 * | any | the data is not ready, or the volume is not written back | none |
 */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type {
  ReplicaDownload,
  ReplicaStatus,
  ReplicaUpload,
  ReplicaUse,
  UploadStatus,
} from '../../../api/volume-status.ts'
import { defined, without } from '../../../base/json.ts'
import { parseDuration } from '../../../base/time/duration.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import type { FailureCode } from '../../mover-contract/contract.ts'
import { parseBoolean } from '../rules/options.ts'
import { revisionOf, sourceDigest } from '../rules/source-types.ts'
import { fromTime } from '../time.ts'
import { isReady } from './download.ts'
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
/** Files changed all the time. The mover has uploaded all others. */
const CHANGING = 'SourceChanged' satisfies FailureCode

export interface UploadObservation extends Observation {
  /** Undefined for a volume that is no longer in the spec, and for one with an invalid spec and no such mover. */
  config: VolumeConfig | undefined
}

/** The source of a volume in the spec. It is read once for all replicas, since its digests are of all options. */
export interface SpecSource {
  /** The revision of its data. */
  revision: string
  /** The digest of the source alone. */
  digest: string
  isWrittenBack: boolean
}

/** Reads the source of a volume; undefined for a volume that is no longer in the spec. */
export function readSpecSource(config: VolumeConfig): SpecSource
export function readSpecSource(config: VolumeConfig | undefined): SpecSource | undefined
export function readSpecSource(config: VolumeConfig | undefined): SpecSource | undefined {
  return config && { revision: revisionOf(config), digest: sourceDigest(config), isWrittenBack: isWrittenBack(config) }
}

/**
 * A replica with the source to which its changes belong, while its volume is written back. Data of an older source keeps that source, since its
 * changes are no changes of the new one.
 */
export function withUploadSource(replica: ReplicaStatus, source: SpecSource | undefined): ReplicaStatus {
  if (source === undefined) return replica
  if (!source.isWrittenBack) return without(replica, 'uploadSource')
  return replica.revision === source.revision ? { ...replica, uploadSource: source.digest } : replica
}

/** Whether the spec has the source to which the changes of a replica belong. Otherwise no mover can write them back. */
export function hasUploadSource({ uploadSource }: ReplicaUpload, source: SpecSource | undefined): boolean {
  return source !== undefined && uploadSource === source.digest
}

/** Whether the changes of a replica are not lost with its data: they belong to the source of its volume, or to an older one. */
export function keepsChanges({ uploadSource }: ReplicaUpload, source: SpecSource | undefined): boolean {
  return source === undefined ? uploadSource !== undefined : source.isWrittenBack
}

/** Whether changes of a volume are written back. */
export function isWrittenBack(config: VolumeConfig | undefined): boolean {
  return parseBoolean(config?.options?.['resync'] ?? '') ?? false
}

/** Whether pods may have changed the data since the last upload. Data that was never used is unchanged. */
export function hasChanges({
  lastUsedTime,
  uploadedTime,
  inUse,
}: ReplicaUse & Pick<ReplicaUpload, 'uploadedTime'>): boolean {
  if (inUse) return true
  const used = fromTime(lastUsedTime)
  return used !== undefined && used >= (fromTime(uploadedTime) ?? 0)
}

/** The data of a replica: whether it is ready, and whether pods use it. */
type Data = Pick<ReplicaDownload, 'state'> & ReplicaUse

type Step = Transition<ReplicaUpload>

/** With an upload that waits, runs or failed. */
type Begun = ReplicaUpload & { upload: UploadStatus }

type StepFrom = (uploads: Begun, data: Data, observed: UploadObservation) => Step

const STATES: Readonly<Record<UploadStatus['state'], StepFrom>> = {
  Queued: stepQueued,
  Uploading: stepUploading,
  Failed: stepFailed,
}

/** Computes the next uploads of a replica. */
export function stepUpload(uploads: ReplicaUpload, data: Data, observed: UploadObservation): Step {
  const { upload } = uploads
  if (!isReady(data) || !isWrittenBack(observed.config)) return idle(uploads, data, observed)
  return upload ? STATES[upload.state]({ ...uploads, upload }, data, observed) : stepNone(uploads, data, observed)
}

/** Enters Uploading, for a mover that is created now. */
export function startUpload<T extends ReplicaUpload>(uploads: T, now: number): T {
  const { upload } = uploads
  return upload ? { ...uploads, upload: enter(upload, 'Uploading', now), uploads: upload.attempt } : uploads
}

function stepNone(uploads: ReplicaUpload, data: Data, observed: UploadObservation): Step {
  return isDue(uploads, data, observed) ? queue(uploads, observed) : idle(uploads, data, observed)
}

/** If a mover exists, the controller was stopped between the creation of the mover and the write of the status. */
function stepQueued(uploads: Begun, data: Data, observed: UploadObservation): Step {
  return observed.mover
    ? stepUploading(startUpload(uploads, observed.now), data, observed)
    : inQueue(uploads, observed.now)
}

function stepUploading(uploads: Begun, data: Data, observed: UploadObservation): Step {
  const { upload } = uploads
  const step = stepWork(upload, observed)
  // The upload may lack changes that pods made while the mover ran.
  const uploadedTime = upload.since ?? toTime(observed.now)
  if (!step) return idle({ ...uploads, uploadedTime }, data, observed)
  const next = { ...uploads, upload: step.next.state === 'Failed' ? withCause(step.next, observed) : step.next }
  // The source has both versions, so nothing is lost when the data is deleted. The failure stays visible until an upload succeeds.
  if (isConflict(next)) return { next: { ...next, uploadedTime }, dueAt: step.dueAt }
  const isChanging = next.upload.state === 'Failed' && next.upload.reason === CHANGING
  if (!isChanging || !hasChanges({ ...data, uploadedTime })) return { next, dueAt: step.dueAt }
  // It is shown, and is no failure: the changes of these pods are written back after the interval, or when the last pod has ended.
  const uncounted = without(next.upload, 'failures') as UploadStatus
  return { next: { ...next, uploadedTime, upload: uncounted }, dueAt: step.dueAt }
}

/** Whether pods wrote files all the time during an upload, such as a log. The next upload has them. */
export function isLeftForNext({ reason, failures }: UploadStatus): boolean {
  return reason === CHANGING && failures === undefined
}

function stepFailed(uploads: Begun, data: Data, observed: UploadObservation): Step {
  const { upload } = uploads
  const { retryTriggers, now } = observed
  const mayRetry = isRetryDue(upload, now) || hasNewInput(retryTriggers) || mayBeAccepted(retryTriggers, upload)
  if (mayRetry && isDue(uploads, data, observed)) return queue(uploads, observed)
  return isRetryDue(upload, now) ? inQueue(uploads, now) : { next: uploads, dueAt: untilRetry(upload, now).dueAt }
}

/**
 * Stays without an upload. While pods use the data, it is checked again: the end of the use may be missed, or an interval may end.
 */
function idle(uploads: ReplicaUpload, data: Data, { config, now }: UploadObservation): Step {
  const next = without(uploads, 'upload')
  if (!data.inUse) return { next }
  return { next, dueAt: earliest(inQueue(next, now).dueAt, nextUploadAt(uploads, data, config)) }
}

/** Whether there are changes to upload: after the last pod has ended, or after `resyncInterval` while pods use the data. */
function isDue(uploads: ReplicaUpload, data: Data, { config, now }: UploadObservation): boolean {
  // It ends when the user has resolved the conflict, also without new changes.
  if (!hasChanges({ ...uploads, ...data })) return isConflict(uploads)
  return !data.inUse || now >= (nextUploadAt(uploads, data, config) ?? Number.POSITIVE_INFINITY)
}

/** The time of the next upload while pods use the data, in ms since the epoch; undefined without `resyncInterval`. */
function nextUploadAt(
  { uploadedTime }: ReplicaUpload,
  { lastUsedTime }: Data,
  config: VolumeConfig | undefined,
): number | undefined {
  const intervalMs = parseDuration(config?.options?.['resyncInterval'] ?? '') ?? 0
  if (!isWrittenBack(config) || intervalMs <= 0) return undefined
  return Math.max(fromTime(uploadedTime) ?? 0, fromTime(lastUsedTime) ?? 0) + intervalMs
}

/** Queues the next attempt. The last failure stays visible until an attempt succeeds. */
function queue(before: ReplicaUpload, { now }: UploadObservation): Step {
  const { upload, uploads = 0 } = before
  const { failures, isPermanent } = upload ?? {}
  const queued: UploadStatus = defined({
    state: 'Queued' as const,
    attempt: uploads + 1,
    failures,
    isPermanent,
    lastFailure: upload && lastFailure(upload),
    since: toTime(now),
  })
  return inQueue({ ...before, upload: queued }, now)
}

/** Why the last attempt of an upload failed; undefined if none did. */
export function lastFailure(upload: UploadStatus): string | undefined {
  const { state, reason, message = '' } = upload
  return state === 'Failed' && reason !== undefined ? `${reason}: ${message}` : upload.lastFailure
}

/** Whether the source has two versions of an object that pods and another client changed. */
export function isConflict({ upload }: ReplicaUpload): boolean {
  return upload?.state === 'Failed' && upload.reason === CONFLICT
}

/** Whether no upload has shown yet that a conflict is resolved: the last one found it, or the next one has not ended. */
export function mayConflict({ upload }: ReplicaUpload): boolean {
  return upload !== undefined && (lastFailure(upload)?.startsWith(`${CONFLICT}: `) ?? false)
}

function withCause(upload: UploadStatus, { mover }: UploadObservation): UploadStatus {
  const isPermanent = mover?.kind === 'failed' && !mover.retry ? true : undefined
  return defined({ ...upload, isPermanent, lastFailure: undefined })
}
