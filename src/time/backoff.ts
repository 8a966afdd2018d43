/** How long to wait before the next attempt: exponential with full jitter, so that a thousand clients do not come back at once. */
import type { Clock } from './clock.ts'

export interface BackoffOptions {
  /** Upper bound of the first delay. Default 800 ms, as client-go's reflector. */
  initialMs?: number
  /** Upper bound of every delay. Default 30 s, as client-go's reflector. */
  maxMs?: number
  /** A connection that lived this long proves the server well: the next failure counts as the first. Default 10 s. */
  healthyAfterMs?: number
}

export class Backoff {
  readonly healthyAfterMs: number
  readonly #clock: Clock
  readonly #initialMs: number
  readonly #maxMs: number
  #failures = 0

  constructor(clock: Clock, options: BackoffOptions = {}) {
    this.#clock = clock
    this.#initialMs = options.initialMs ?? 800
    this.#maxMs = options.maxMs ?? 30_000
    this.healthyAfterMs = options.healthyAfterMs ?? 10_000
  }

  /** The delay before the next attempt in milliseconds: anything from 0 to the bound, which doubles with every call. */
  nextDelayMs(): number {
    // 2^30 times any bound is beyond every maximum; the cap keeps the power finite after weeks of failures.
    const bound = Math.min(this.#maxMs, this.#initialMs * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return Math.round(this.#clock.random() * bound)
  }

  /** Takes note of a connection that lived `livedMs`: a long one forgets the failures before it. */
  lived(livedMs: number): void {
    if (livedMs >= this.healthyAfterMs) this.#failures = 0
  }

  reset(): void {
    this.#failures = 0
  }
}
