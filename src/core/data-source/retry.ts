/** Decides when a failed query is repeated. */
import { type BackoffBounds, backoffMs, equalJitter } from '../../base/time/backoff.ts'

/** The `retryConfig` of a data system. */
export interface RetryPolicy {
  /** 0 means one attempt only. */
  maxRetries: number
  initialBackoffMs: number
  maxBackoffMs: number
  backoffMultiplier: number
  /** The timeout of each request. */
  timeoutMs: number
}

export interface RetryInput {
  policy: RetryPolicy
  /** How many queries for this source failed in a row; 1 after the first failure. */
  failures: number
  /** Whether the error may disappear by itself. */
  isTransient: boolean
  /** Whether workloads may wait for the answer: there is no earlier one, or it is too old for a claim. */
  isAwaited: boolean
  refreshIntervalMs: number
  /** The pause that the system requested. */
  retryAfterMs: number | undefined
  /** In [0, 1): spreads the retries of sources whose queries failed together. */
  spread: number
}

export interface Retry {
  delayMs: number
  /** Whether this retry belongs to the retry policy. Then the failure is not reported yet. */
  isSilent: boolean
}

const FIRST_MS = 1_000
/** Workloads on hold continue within seconds after the system recovers. */
const LAST_AWAITED_MS = 3_000

/**
 * Plans the retries of the policy first. After them, the delay doubles up to a few seconds if workloads may wait for the answer, and up to the
 * refresh interval otherwise. A pause that the system requested makes it longer, and never shorter: `Retry-After: 0` would ask without a pause.
 */
export function planRetry({ policy, failures, isTransient, spread, ...rest }: RetryInput): Retry {
  const { retryAfterMs } = rest
  const isSilent = isTransient && failures <= policy.maxRetries && (retryAfterMs ?? 0) <= policy.maxBackoffMs
  if (!isSilent) return { delayMs: lateDelayMs(Math.max(1, failures - policy.maxRetries), rest), isSilent }
  const boundMs = backoffMs(backoffBoundsOf(policy), failures)
  return { delayMs: Math.max(retryAfterMs ?? 0, equalJitter(boundMs, spread)), isSilent }
}

function lateDelayMs(
  failures: number,
  { isAwaited, refreshIntervalMs, retryAfterMs }: Pick<RetryInput, 'isAwaited' | 'refreshIntervalMs' | 'retryAfterMs'>,
): number {
  const lastMs = isAwaited ? Math.min(LAST_AWAITED_MS, refreshIntervalMs) : refreshIntervalMs
  return Math.max(backoffMs({ firstMs: FIRST_MS, lastMs }, failures), Math.min(retryAfterMs ?? 0, refreshIntervalMs))
}

/** Returns the back-off in the configuration of a data system. */
export function backoffBoundsOf({ initialBackoffMs, maxBackoffMs, backoffMultiplier }: RetryPolicy): BackoffBounds {
  return { firstMs: initialBackoffMs, lastMs: maxBackoffMs, multiplier: backoffMultiplier }
}
