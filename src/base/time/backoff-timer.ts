/** Computes the delay before the next attempt of a connection from its failures: exponential with full jitter. */
import { backoffMs, fullJitter } from './backoff.ts'
import type { Clock } from './clock.ts'

export interface BackoffOptions {
  /** Upper bound of the first delay. Default 800 ms, as client-go's reflector. */
  initialMs?: number
  /** Upper bound of every delay. Default 30 s, as client-go's reflector. */
  maxMs?: number
}

/** In ms. After a connection of this length, the server counts as healthy, and the next failure as the first. */
export const HEALTHY_AFTER_MS = 10_000

export class Backoff {
  readonly #clock: Clock
  readonly #initialMs: number
  readonly #maxMs: number
  #failures = 0

  constructor(clock: Clock, options: BackoffOptions = {}) {
    this.#clock = clock
    this.#initialMs = options.initialMs ?? 800
    this.#maxMs = options.maxMs ?? 30_000
  }

  /** Returns the delay before the next attempt in milliseconds: random between 0 and a bound that doubles with every call. */
  nextDelayMs(): number {
    this.#failures += 1
    const boundMs = backoffMs({ firstMs: this.#initialMs, lastMs: this.#maxMs }, this.#failures)
    return Math.round(fullJitter(boundMs, this.#clock.random()))
  }

  /** Records a connection of `livedMs`. After a long one, the next failure counts as the first. */
  lived(livedMs: number): void {
    if (livedMs >= HEALTHY_AFTER_MS) this.#failures = 0
  }

  reset(): void {
    this.#failures = 0
  }
}
