/** Retries requests with exponential delays and jitter. A longer Retry-After of the server is honored. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, equalJitter } from '../../base/time/backoff.ts'
import { MoverError } from '../mover-error.ts'

/** A failure after which a retry may succeed. */
export class RetryableError extends Error {
  override name = 'RetryableError'
  readonly retryAfterMs: number

  constructor(message: string, { retryAfterMs = 0, ...options }: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

export interface RetryOptions {
  /** Attempts after the first. */
  retries: number
  firstDelayMs: number
  maxDelayMs: number
}

export const DEFAULT_RETRY: RetryOptions = { retries: 8, firstDelayMs: 200, maxDelayMs: 20_000 }
/** The longest Retry-After that is honored. A mover that waits longer looks stalled. */
const LONGEST_RETRY_AFTER_MS = 120_000

/** The attempts of one request: counts failures and waits between them. */
export class RequestBackoff {
  readonly #options: RetryOptions
  #failures = 0

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /** Resets the number of failures, after an attempt that made progress. */
  reset(): void {
    this.#failures = 0
  }

  /**
   * Waits until the next attempt. Throws `error` when it is not retryable, `Unreachable` after the last attempt, or the reason of the
   * signal.
   */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!(error instanceof RetryableError)) throw error
    const { retries, firstDelayMs, maxDelayMs } = this.#options
    if (this.#failures >= retries) {
      throw new MoverError('Unreachable', `${error.message} (after ${retries + 1} attempts)`, { cause: error })
    }
    this.#failures += 1
    const delayMs = backoffMs({ firstMs: firstDelayMs, lastMs: maxDelayMs }, this.#failures)
    const asked = Math.min(error.retryAfterMs, LONGEST_RETRY_AFTER_MS)
    await sleep(Math.max(asked, equalJitter(delayMs, Math.random())), undefined, { signal })
  }
}

/** Repeats an attempt until it succeeds or fails with an error that is not retryable. */
export async function withRetries<T>(
  options: RetryOptions,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const backoff = new RequestBackoff(options)
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      await backoff.wait(error, signal)
    }
  }
}
