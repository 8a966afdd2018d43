/** What is known of a source between two queries, and what the result of a query changes. */
import { isPassing, type LocalityErrorCode } from '../locality/error-code.ts'
import { type Attempt, CONFIRMATIONS } from './plan.ts'
import { planRetry, type RetryPolicy } from './retry.ts'

/** Lost with the process, which costs one query. */
export interface SourceMemory {
  /** The version of the last answer, for systems that give one. */
  etag?: string
  /** How often in a row the system said that there is no such data. */
  confirmations: number
  /** How many queries in a row failed. */
  failures: number
  /** When the system last answered, in ms since the epoch. */
  answeredAt?: number
  /** When the next query is due, if the interval does not decide it; in ms since the epoch. */
  nextAt?: number
}

export const NEW_MEMORY: SourceMemory = { confirmations: 0, failures: 0 }

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

/** "No such data" is asked again sooner than a location, until it is confirmed. */
const CONFIRM_MS = 10_000

/** Adds a result. `attempt` is what to report of it: nothing while the policy still retries. */
export function afterResult(
  memory: SourceMemory,
  result: QueryResult,
  { now, isLocated, refreshIntervalMs, retry, spread }: ResultContext,
): { memory: SourceMemory; attempt: Attempt | undefined } {
  const { etag: known, confirmations } = memory
  const kept = known === undefined ? {} : { etag: known }
  switch (result.kind) {
    case 'failed': {
      const { code, reason, retryAfterMs } = result
      const failures = memory.failures + 1
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
        memory: { ...memory, failures, nextAt: now + delayMs },
        attempt: isSilent ? undefined : { kind: 'failed', reason },
      }
    }
    case 'nowhere': {
      const said = confirmations + 1
      const isOpen = said < CONFIRMATIONS && isLocated
      const next = isOpen ? { nextAt: now + Math.min(CONFIRM_MS, refreshIntervalMs) } : {}
      return {
        memory: { ...kept, confirmations: said, failures: 0, answeredAt: now, ...next },
        attempt: { kind: 'nowhere', reason: result.reason, confirmations: said },
      }
    }
    case 'unchanged':
      return { memory: { ...kept, confirmations: 0, failures: 0, answeredAt: now }, attempt: { kind: 'unchanged' } }
    case 'located': {
      const { etag, ...answer } = result
      return {
        memory: { ...(etag !== undefined && { etag }), confirmations: 0, failures: 0, answeredAt: now },
        attempt: answer,
      }
    }
  }
}
