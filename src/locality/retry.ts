/** Repeats a health check that failed in a way that may pass. Queries are repeated by the loop of sources, which waits without a slot. */
import { backoffMs, equalJitter } from '../core/backoff.ts'
import { backoffBoundsOf, type RetryPolicy } from '../core/data-source/retry.ts'
import { isPassing } from '../core/locality/error-code.ts'
import { type Clock, sleep } from '../time/clock.ts'
import { LocalityError } from './plugins/plugin.ts'

/** Attempts until it succeeds, fails for good, or the retries are used up; throws the last error, or the abort's reason. */
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

/** How long to wait before the next attempt; undefined when there is none, or when the system wants more patience than we have here. */
function pauseAfter(error: unknown, failures: number, policy: RetryPolicy, clock: Clock): number | undefined {
  if (failures >= policy.maxRetries || !(error instanceof LocalityError) || !isPassing(error.code)) return undefined
  const askedMs = error.retryAfterMs ?? 0
  if (askedMs > policy.maxBackoffMs) return undefined
  return Math.max(askedMs, equalJitter(backoffMs(backoffBoundsOf(policy), failures + 1), clock.random()))
}
