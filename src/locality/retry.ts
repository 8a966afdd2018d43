/** Retries health checks after errors that may pass. The loop of sources retries queries, because it waits without a slot. */
import { backoffMs, equalJitter } from '../base/time/backoff.ts'
import { type Clock, sleep } from '../base/time/clock.ts'
import { isTransient } from '../core/data-source/error-code.ts'
import { backoffBoundsOf, type RetryPolicy } from '../core/data-source/retry.ts'
import { LocalityError } from './locality.ts'

/**
 * Repeats `attempt` until it succeeds, fails with an error that cannot pass, or has no retries left. Throws the last error, or the reason
 * of the signal.
 */
export async function withRetries<T>(
  policy: RetryPolicy,
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      const pauseMs = pauseAfter(error, failures, policy, clock)
      if (pauseMs === undefined) throw error
      await sleep(clock, pauseMs, signal)
    }
  }
}

/** The delay before the next attempt; undefined when there is none, or when Retry-After is longer than the longest back-off. */
function pauseAfter(error: unknown, failures: number, policy: RetryPolicy, clock: Clock): number | undefined {
  if (failures >= policy.maxRetries || !(error instanceof LocalityError) || !isTransient(error.code)) return undefined
  const askedMs = error.retryAfterMs ?? 0
  if (askedMs > policy.maxBackoffMs) return undefined
  return Math.max(askedMs, equalJitter(backoffMs(backoffBoundsOf(policy), failures + 1), clock.random()))
}
