/** Decides what one reconcile of a DataSource does: the query of its data system, the write, and the time of the next one. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { defined } from '../../base/json.ts'
import type { Attempt } from './attempt.ts'
import { isCreatable, type SourceCrd } from './crd.ts'
import { dueAt, refreshIntervalMs, tooOldAt } from './due.ts'
import type { QueryHistory } from './query-history.ts'

export interface SourceInput {
  /** The stored source. Without a resourceVersion, it is a source that is not created yet. */
  source: DataSource
  /** The permitted claims with this query. */
  claims: readonly DataSourceClaim[]
  /** The data system of the source; undefined if no system with its name is configured. */
  system: { refreshIntervalMs: number; maxBackoffMs?: number; isFailing: boolean } | undefined
  /** The last health check of the system; undefined before the first one and without a system. */
  health: { isHealthy: boolean; message: string } | undefined
  history: QueryHistory
  /** Whether a query is waiting or in progress. */
  isQuerying: boolean
  /** The CRD of the API server. Default: ours. */
  crd?: SourceCrd
  /** The result of the last query, if the status does not have it yet. Undefined without a result. */
  attempt: Attempt | undefined
  /** Until then, no source with this name is created; in ms since the epoch. */
  absentUntil: number | undefined
  /** Milliseconds since the epoch. */
  now: number
}

export interface SourceDecision {
  /**
   * - send: put a query into the queue of the data system.
   * - resume: start the waiting query if a slot is free. Its answer is for the namespaces of new claims too.
   * - cancel: withdraw the query that is waiting or in progress.
   */
  query: 'send' | 'resume' | 'cancel' | 'none'
  /** Whether the source is planned and written now. */
  writes: boolean
  /** Milliseconds until the next reconcile; absent if a change of the object or the end of a query triggers it. */
  requeueAfterMs?: number
}

/** kubectl waits for the deletion of a source by name. A new source with the same name would look like the deleted one. */
export const ABSENT_MS = 500

/** Decides on one source. */
export function decideSource(input: SourceInput): SourceDecision {
  const { source, claims, system, isQuerying, attempt, crd = 'ours', absentUntil = 0, now } = input
  const isStored = source.metadata.resourceVersion !== undefined
  // Without a data system there is no answer, and a new source without an answer has no content.
  if (!isStored && !system) return { query: 'none', writes: false }
  const absentMs = absentUntil - now
  if (!isStored && absentMs > 0 && absentMs <= ABSENT_MS)
    return { query: 'none', writes: false, requeueAfterMs: absentMs }
  if (!system || claims.length === 0) return { query: 'cancel', writes: true }
  const nextAt = notBeyond(nextQueryAt(input, refreshIntervalMs(system.refreshIntervalMs, claims)), system, now)
  const query = isQuerying ? 'resume' : hasAnswer(attempt) || now < nextAt ? 'none' : 'send'
  // A new source is created with its answer, in one write. If its system fails, it is created without one, and the status has the error.
  const waitsForAnswer = !isStored && ((attempt === undefined && !system.isFailing) || !isCreatable(crd, attempt))
  const isInProgress = isQuerying || query === 'send'
  return defined({
    query,
    writes: !waitsForAnswer,
    // A due time of 0 means that the source was just created or is deleted now: the change of the object triggers the next reconcile.
    requeueAfterMs: !isInProgress && nextAt > 0 ? Math.max(0, nextAt - now) : undefined,
  })
}

/** A long back-off ends when the location becomes too old for a claim: from then on, its workload may be on hold. */
function nextQueryAt({ source, claims, history }: SourceInput, intervalMs: number): number {
  const atMs = dueAt(source, history, intervalMs)
  const isPatient = history.failures > 0 && !history.isRetryFixed
  return isPatient ? Math.min(atMs, tooOldAt(source, claims)) : atMs
}

/** A later time than the longest delay was recorded before the clock was set back. The query is due now, and not when that time comes. */
function notBeyond(
  atMs: number,
  { refreshIntervalMs: longestMs, maxBackoffMs = 0 }: NonNullable<SourceInput['system']>,
  now: number,
): number {
  return atMs - now > Math.max(longestMs, maxBackoffMs) ? now : atMs
}

/** Whether an attempt has an answer. It is written before the next query, so that a failed write does not cost another query. */
function hasAnswer(attempt: Attempt | undefined): boolean {
  return attempt !== undefined && attempt.kind !== 'failed'
}
