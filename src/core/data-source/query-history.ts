/** The history of the queries for one DataSource, and how the result of a query changes it. */
import type { DataSource } from '../../api/data-source.ts'
import { isPassing, type LocalityErrorCode } from '../locality/error-code.ts'
import { type Attempt, CONFIRMATIONS } from './plan.ts'
import { planRetry, type RetryPolicy } from './retry.ts'

/** Kept in memory only: after a restart, each source is queried once more. */
export interface QueryHistory {
  /** The version of the last answer, for systems that give one. */
  etag?: string
  /** How many answers in a row were "no such data". */
  confirmations: number
  /** How many queries in a row failed. */
  failures: number
  /** When the system last answered, in ms since the epoch. */
  answeredAt?: number
  /** When the next query is due, where the interval does not decide it; in ms since the epoch. */
  nextAt?: number
}

export const NO_HISTORY: QueryHistory = { confirmations: 0, failures: 0 }

/** The end of one query. */
export type QueryResult =
  | { kind: 'located'; location: string; clusters: readonly string[]; bytes?: number; etag?: string }
  | { kind: 'unchanged' }
  | { kind: 'nowhere'; reason: string }
  | { kind: 'failed'; code: LocalityErrorCode; reason: string; retryAfterMs?: number }

export interface ResultContext {
  now: number
  /** Whether there is an earlier answer, which stays valid while the system does not answer. */
  isLocated: boolean
  refreshIntervalMs: number
  retry: RetryPolicy
  /** In [0, 1): spreads the retries of sources that failed together. */
  spread: number
}

/** After "no such data", the next query is due sooner than after a location, until the answer is confirmed. */
const CONFIRM_MS = 10_000

/**
 * The history after a data system got a new configuration. The next query is due at once: it may succeed where the old one failed.
 * The version of the old answer is dropped, since it may mean another answer now.
 */
export function afterNewConfiguration({ etag: _old, ...history }: QueryHistory, now: number): QueryHistory {
  return { ...history, failures: 0, nextAt: now }
}

/** The part of a query that is not in the configuration of the data system. */
export interface SourceQuery {
  type: string
  name: string
  attributes: Readonly<Record<string, string>>
  /** The version of the stored answer: the data system may then answer "unchanged". */
  etag?: string
}

/** The next query for a source. It has the version of the last answer only while the source has that answer and is not being deleted. */
export function nextQuery({ metadata, spec }: DataSource, { etag }: QueryHistory): SourceQuery {
  const { type, name, attributes = {}, locality } = spec
  return { type, name, attributes, ...(etag && locality && !metadata.deletionTimestamp && { etag }) }
}

/** Adds a result. `attempt` is the part for the status: undefined while the retries of the policy last. */
export function afterResult(
  history: QueryHistory,
  result: QueryResult,
  { now, isLocated, refreshIntervalMs, retry, spread }: ResultContext,
): { history: QueryHistory; attempt: Attempt | undefined } {
  const { etag: known, confirmations } = history
  const kept = known === undefined ? {} : { etag: known }
  switch (result.kind) {
    case 'failed': {
      const { code, reason, retryAfterMs } = result
      const failures = history.failures + 1
      const { delayMs, isSilent } = planRetry({
        policy: retry,
        failures,
        isPassing: isPassing(code),
        isLocated,
        refreshIntervalMs,
        retryAfterMs,
        spread,
      })
      return {
        history: { ...history, failures, nextAt: now + delayMs },
        attempt: isSilent ? undefined : { kind: 'failed', reason },
      }
    }
    case 'nowhere': {
      const said = confirmations + 1
      const isOpen = said < CONFIRMATIONS && isLocated
      const next = isOpen ? { nextAt: now + Math.min(CONFIRM_MS, refreshIntervalMs) } : {}
      return {
        history: { ...kept, confirmations: said, failures: 0, answeredAt: now, ...next },
        attempt: { kind: 'nowhere', reason: result.reason, confirmations: said },
      }
    }
    case 'unchanged':
      return { history: { ...kept, confirmations: 0, failures: 0, answeredAt: now }, attempt: { kind: 'unchanged' } }
    case 'located': {
      const { etag, ...answer } = result
      return {
        history: { ...(etag !== undefined && { etag }), confirmations: 0, failures: 0, answeredAt: now },
        attempt: answer,
      }
    }
  }
}
