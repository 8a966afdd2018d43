/** Repeats requests while the API server is not available. */
import { backoffMs, equalJitter } from '../../base/time/backoff.ts'
import { type Clock, sleep, systemClock } from '../../base/time/clock.ts'
import { ApiError, askedDelayMs, CredentialsError, RequestError } from './api-error.ts'

export interface RepeatOptions {
  signal: AbortSignal
  /** Default: without an end. */
  patienceMs?: number
  /** Called before each wait. */
  onRetry?(error: unknown, retryInMs: number): void
  /** Default: the clock of the system. */
  clock?: Clock
}

const BACKOFF = { firstMs: 250, lastMs: 5000 }
/** The statuses of overload, of a proxy without a server, and of a server that starts. */
const PASSING = [429, 502, 503, 504]

/**
 * Runs a request, and again while the API server is not available: as long as `patienceMs`, and until `signal` aborts. `run` has the same effect
 * when it runs twice. Throws the last error.
 */
export async function repeated<T>(
  run: () => Promise<T>,
  { signal, patienceMs = Number.POSITIVE_INFINITY, onRetry, clock = systemClock }: RepeatOptions,
): Promise<T> {
  const until = clock.now() + patienceMs
  for (let failures = 1; ; failures++) {
    try {
      return await run()
    } catch (error) {
      const delayMs = equalJitter(backoffMs(BACKOFF, failures), clock.random())
      const waitMs = Math.max(delayMs, askedDelayMs(error))
      if (!mayPass(error) || signal.aborted || clock.now() + waitMs >= until) throw error
      onRetry?.(error, waitMs)
      await sleep(clock, waitMs, signal)
      signal.throwIfAborted()
    }
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.includes(error.status)
  // Missing credentials are no matter of the API server.
  return error instanceof RequestError && !(error.cause instanceof CredentialsError)
}
