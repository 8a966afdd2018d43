/** Decides when a data system that gave no answer gets the same query again. */
import { type BackoffBounds, backoffMs, equalJitter } from '../backoff.ts'

/** The `retryConfig` of a data system. */
export interface RetryPolicy {
  /** 0 means one attempt only. */
  maxRetries: number
  initialBackoffMs: number
  maxBackoffMs: number
  backoffMultiplier: number
  /** For each request. */
  timeoutMs: number
}

export interface RetryInput {
  policy: RetryPolicy
  /** How many queries for this source failed in a row; 1 after the first one. */
  failures: number
  /** Whether the error may pass by itself. */
  isPassing: boolean
  /** Whether there is an earlier answer, which stays valid meanwhile. */
  isLocated: boolean
  refreshIntervalMs: number
  /** The pause that the system asked for. */
  retryAfterMs: number | undefined
  /** In [0, 1): spreads the retries of sources that failed together. */
  spread: number
}

export interface Retry {
  delayMs: number
  /** Whether this is one of the retries of the policy: the failure is not reported yet. */
  isSilent: boolean
}

const FIRST_MS = 1_000
/** While nothing is known, workloads may be on hold: they continue within seconds after the system recovers. */
const LAST_UNKNOWN_MS = 3_000

/**
 * First the retries of the policy. After them the delay doubles up to the refresh interval when an earlier answer is valid, and up to
 * seconds when there is none.
 */
export function planRetry({ policy, failures, isPassing, spread, ...rest }: RetryInput): Retry {
  const { retryAfterMs } = rest
  const isSilent = isPassing && failures <= policy.maxRetries && (retryAfterMs ?? 0) <= policy.maxBackoffMs
  if (!isSilent) return { delayMs: lateDelayMs(Math.max(1, failures - policy.maxRetries), rest), isSilent }
  const boundMs = backoffMs(backoffBoundsOf(policy), failures)
  return { delayMs: Math.max(retryAfterMs ?? 0, equalJitter(boundMs, spread)), isSilent }
}

function lateDelayMs(
  failures: number,
  { isLocated, refreshIntervalMs, retryAfterMs }: Pick<RetryInput, 'isLocated' | 'refreshIntervalMs' | 'retryAfterMs'>,
): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, refreshIntervalMs)
  const lastMs = isLocated ? refreshIntervalMs : Math.min(LAST_UNKNOWN_MS, refreshIntervalMs)
  return backoffMs({ firstMs: FIRST_MS, lastMs }, failures)
}

/** The back-off that a data system is configured with. */
export function backoffBoundsOf({ initialBackoffMs, maxBackoffMs, backoffMultiplier }: RetryPolicy): BackoffBounds {
  return { firstMs: initialBackoffMs, lastMs: maxBackoffMs, multiplier: backoffMultiplier }
}
