/** Waits between attempts: exponential with jitter, at least as long as the server asked for, and not for ever. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, equalJitter } from '../../core/backoff.ts'
import { MoverError } from '../mover-error.ts'

/** A failure that the next attempt may not have. */
export class PassingError extends Error {
  override name = 'PassingError'
  readonly retryAfterMs: number

  constructor(message: string, { retryAfterMs = 0, ...options }: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

export interface RetryOptions {
  /** Attempts beyond the first. */
  retries: number
  firstDelayMs: number
  maxDelayMs: number
}

export const DEFAULT_RETRY: RetryOptions = { retries: 8, firstDelayMs: 200, maxDelayMs: 20_000 }
/** What a server may ask for; beyond it the mover would look as if it hung. */
const LONGEST_RETRY_AFTER_MS = 120_000

export class Backoff {
  readonly #options: RetryOptions
  #failures = 0

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /** The last attempt brought something: failures are counted anew. */
  reset(): void {
    this.#failures = 0
  }

  /** Waits until the next attempt. Throws the error itself unless it is passing, `Unreachable` after too many, or the signal's reason. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!(error instanceof PassingError)) throw error
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

/** Runs an attempt until it succeeds, or fails in a way that does not pass. */
export async function withRetries<T>(
  options: RetryOptions,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const backoff = new Backoff(options)
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      await backoff.wait(error, signal)
    }
  }
}
