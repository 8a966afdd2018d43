/** State transitions that replicas, uploads and deletions share: the next status, and when time alone changes it. */
import type { RecordedProgress, ReplicaStatus } from '../../../api/volume-status.ts'
import { defined, without } from '../../../base/json.ts'
import { backoffMs } from '../../../base/time/backoff.ts'
import type { Present } from '../../../base/time/clock-jumps.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { MESSAGES, PREEMPTED } from '../codes.ts'
import type { RetryTrigger } from '../input.ts'
import { DELETED, type MoverFailure, type ObservedMover, overdue, REJECTED } from '../mover/observed-state.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { fromTime } from '../time.ts'

export interface Transition<T> {
  next: T
  /** When the status must be computed again although nothing changed, in ms since the epoch. Absent when only a change matters. */
  dueAt?: number | undefined
}

/** The fields of every state of a replica, an upload or a deletion. */
export interface StateStatus {
  state: string
  reason?: string
  message?: string
  since?: string
  failures?: number
  retryTime?: string
}

/** The observed mover of a replica, an upload or a deletion, with the settings and the time. */
export interface Observation extends ObservedMover, Present {
  settings: VolumeSettings
}

/** How often the progress of a running mover is read. */
export const PROGRESS_MS = 30_000
/** How often queued work is checked. A freed slot requeues it earlier; the interval covers an event that was missed. */
const QUEUE_MS = 60_000

/** Enters a state. `since` changes only with the state. The reason, message and retry time of the last state are dropped. */
export function enter<T extends StateStatus>(
  status: T,
  state: T['state'],
  now: number,
  explanation: { reason?: string | undefined; message?: string | undefined } = {},
): T {
  const { reason, message } = explanation
  const since = status.state === state && status.since !== undefined ? status.since : toTime(now)
  // An empty message says nothing.
  const next: object = defined({ ...status, state, reason, message: message || undefined, retryTime: undefined, since })
  return next as T
}

/** Stays in a state that ends when a slot is free or when the mover changes. */
export function inQueue<T>(next: T, now: number): Transition<T> {
  return { next, dueAt: now + QUEUE_MS }
}

/**
 * How long a mover for which no node has room keeps a slot that others need. Other movers have more time to start, but this one has done nothing
 * yet. Its volume chooses its resources, perhaps more than any node has.
 */
export const ROOM_MS = 300_000

const BACKOFF = { firstMs: 10_000, lastMs: 600_000 }
/** A failure that only a change can repair is retried less often. */
const PERMANENT_BACKOFF = { firstMs: 60_000, lastMs: 600_000 }

/** Enters Failed. The retry delay grows with the number of failures in a row. */
export function fail<T extends StateStatus>(
  status: T,
  { code, message, retry }: Pick<MoverFailure, 'code' | 'message' | 'retry'>,
  now: number,
): Transition<T> {
  const failures = (status.failures ?? 0) + 1
  const retryTime = toTime(now + backoffMs(retry ? BACKOFF : PERMANENT_BACKOFF, failures))
  const next = { ...enter({ ...status, failures }, 'Failed', now, { reason: code, message }), retryTime }
  return { next, dueAt: fromTime(retryTime) }
}

/**
 * Whether the retry time has passed. A missing or invalid retry time has passed. A retry time that is later than the longest delay was written
 * before the clock was set back, and has passed too. Times are exact to one second.
 */
export function isRetryDue({ retryTime }: StateStatus, now: number): boolean {
  const waitMs = (fromTime(retryTime) ?? 0) - now
  return waitMs <= 0 || waitMs > BACKOFF.lastMs + 1000
}

/** Whether a user has changed the Secret or the spec that failed, so that the next attempt may succeed. */
export function hasNewInput(triggers: ReadonlySet<RetryTrigger>): boolean {
  return triggers.has('secret') || triggers.has('spec')
}

/** Whether the API server may accept the mover that it rejected. */
export function mayBeAccepted(triggers: ReadonlySet<RetryTrigger>, { reason }: Pick<StateStatus, 'reason'>): boolean {
  return triggers.has('namespace') && reason === REJECTED
}

/** Stays in Failed until the time of the retry. */
export function untilRetry<T extends StateStatus>(next: T, now: number): Transition<T> {
  return { next, dueAt: fromTime(next.retryTime) ?? now }
}

/** The namespace that waits takes the slot meanwhile. */
const PREEMPTION_BACKOFF = { firstMs: 30_000, lastMs: 240_000 }

/** Whether the back-off of preempted work is over. A later end than the longest one was written before the clock was set back. */
export function isBackoffOver(notBefore: number, now: number): boolean {
  return notBefore <= now || notBefore > now + PREEMPTION_BACKOFF.lastMs + 1000
}

/** Queues work again whose mover gives its slot to another namespace. This is not a failure. */
export function preempt<T extends StateStatus & { attempt: number; preemptions?: number }>(
  work: T,
  now: number,
): Transition<T> {
  const { attempt, preemptions = 0 } = work
  const explanation = { reason: PREEMPTED, message: MESSAGES.Preempted() }
  const next = enter({ ...work, attempt: attempt + 1, preemptions: preemptions + 1 }, 'Queued', now, explanation)
  const retryAt = now + backoffMs(PREEMPTION_BACKOFF, preemptions + 1)
  return { next: { ...next, retryTime: toTime(retryAt) }, dueAt: retryAt }
}

/** The work of a replica whose mover was preempted since an earlier status. */
export function preemptedWork(before: ReplicaStatus, after: ReplicaStatus): StateStatus[] {
  const works = [[before, after] as const, ...KINDS.map((kind) => [before[kind], after[kind]] as const)]
  return works.flatMap(([old, work]) =>
    work?.reason === PREEMPTED && work.preemptions !== old?.preemptions ? [work] : [],
  )
}

const KINDS = ['upload', 'maintenance'] as const

interface Work extends StateStatus, RecordedProgress {
  attempt: number
  preemptions?: number
}

/**
 * Steps an upload or a deletion that has a mover. A mover that does not start in time, or makes no progress for too long, counts as failed.
 *
 * @returns undefined when the mover succeeded
 */
export function stepWork<T extends Work>(
  work: T,
  { mover = DELETED, progress, settings, now, jumps }: Observation,
): Transition<T> | undefined {
  if (mover.kind === 'succeeded') return undefined
  if (mover.kind === 'failed') return failWork(work, mover, now)
  if (mover.kind === 'preempted') return preempt(withoutProgress(work) as T, now)
  const { prepareTimeoutSeconds, progressTimeoutSeconds } = settings.movers
  const isOver = (from: string | undefined, seconds: number) => now - (fromTime(from, jumps) ?? now) > seconds * 1000
  const rest = without(work, 'reason', 'message')
  if (mover.kind === 'waiting') {
    const { reason, message, node } = mover
    if (isOver(work.since, prepareTimeoutSeconds)) {
      return failWork(work, overdue('PrepareTimeout', MESSAGES.PrepareTimeout(message), node), now)
    }
    return inQueue(reason === 'Starting' ? (rest as T) : { ...work, reason, message }, now)
  }
  const { bytes, files, progressTime } = work
  const isNew = progress?.attempt === work.attempt && (progress.bytes !== bytes || progress.files !== files)
  if (isNew) {
    return inQueue({ ...(rest as T), bytes: progress.bytes, files: progress.files, progressTime: toTime(now) }, now)
  }
  // The timeout begins when the mover is first observed to run.
  if (progressTime === undefined) return inQueue({ ...(rest as T), progressTime: toTime(now) }, now)
  return isOver(progressTime, progressTimeoutSeconds)
    ? failWork(
        work,
        overdue('Stalled', MESSAGES.Stalled(progress !== undefined || bytes !== undefined), mover.node),
        now,
      )
    : inQueue(rest as T, now)
}

function failWork<T extends Work>(work: T, failure: MoverFailure, now: number): Transition<T> {
  return fail(withoutProgress(work) as T, failure, now)
}

/** Drops the progress of a mover that no longer works. */
export function withoutProgress<T extends RecordedProgress>(work: T): Omit<T, keyof RecordedProgress> {
  return without(work, 'bytes', 'files', 'progressTime')
}
