/** Decides what one reconcile of a DataSource does: query its data system, write the object, and when the next one is due. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { dueAt, refreshIntervalMs } from './due.ts'
import type { Attempt } from './plan.ts'
import type { QueryHistory } from './query-history.ts'

export interface SourceInput {
  /** As stored; without a resource version, a source that is to be created. */
  source: DataSource
  /** The permitted claims for this query. */
  claims: readonly DataSourceClaim[]
  /** The data system of the source; undefined when no system of that name is configured. */
  system: { refreshIntervalMs: number; isFailing: boolean } | undefined
  history: QueryHistory
  /** Whether a query waits or is in progress. */
  isQuerying: boolean
  /** An answer or failure that is not in the status yet. */
  attempt: Attempt | undefined
  /** Until when no source of this name is created, in ms since the epoch. */
  absentUntil: number | undefined
  /** Milliseconds since the epoch. */
  now: number
}

export interface SourceDecision {
  /**
   * - send: put a query into the queue of the data system.
   * - resume: start the query that waits, where a slot is free.
   * - cancel: withdraw the query that waits or is in progress.
   */
  query: 'send' | 'resume' | 'cancel' | 'none'
  /** Whether the source is planned and written now. */
  writes: boolean
  /** Milliseconds until the next reconcile; absent where an event or the end of a query triggers it. */
  requeueAfterMs?: number
}

/** Decides on one source. */
export function decideSource(input: SourceInput): SourceDecision {
  const { source, claims, system, history, isQuerying, attempt, absentUntil = 0, now } = input
  const isStored = source.metadata.resourceVersion !== undefined
  // No answer can come, and a new source without one has no content.
  if (!isStored && !system) return { query: 'none', writes: false }
  if (!isStored && absentUntil > now) return { query: 'none', writes: false, requeueAfterMs: absentUntil - now }
  if (!system || claims.length === 0) return { query: 'cancel', writes: true }
  const nextAt = dueAt(source, history, refreshIntervalMs(system.refreshIntervalMs, claims))
  const query = isQuerying ? 'resume' : hasAnswer(attempt) || now < nextAt ? 'none' : 'send'
  // A new source is created with its answer, in one write. A system that fails may give none for long: then the status says so.
  const waitsForAnswer = !isStored && attempt === undefined && !system.isFailing
  const isInProgress = isQuerying || query === 'send'
  return {
    query,
    writes: !waitsForAnswer,
    // A source that is due at once was just created or may be deleted now: the change of the object triggers the next reconcile.
    ...(!isInProgress && nextAt > 0 && { requeueAfterMs: Math.max(0, nextAt - now) }),
  }
}

/** Whether an attempt has an answer. It is written before the next query: a failed write must not cost another query. */
function hasAnswer(attempt: Attempt | undefined): boolean {
  return attempt !== undefined && attempt.kind !== 'failed'
}
