/**
 * Limits how often a caller may act: full at first, one token each time, filled at a steady rate. If the bucket is empty, the caller learns
 * how long to wait.
 */

export interface Rate {
  perSecond: number
  /** How many tokens are available at once after a rest. */
  burst: number
}

export class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #filledAtMs: number

  /** `now` in ms on any clock, as in every later call. Throws for a rate or a burst that would never let anything through. */
  constructor({ perSecond, burst }: Rate, now: number) {
    if (!(perSecond > 0)) throw new Error(`perSecond: must be above 0, is ${perSecond}`)
    if (!(burst >= 1)) throw new Error(`burst: must be at least 1, is ${burst}`)
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#filledAtMs = now
  }

  /** Takes a token. Returns 0, or the ms until a token is available, rounded up: a timer that fires early would only be set again. */
  take(now: number): number {
    // A clock that was set back neither adds nor removes tokens.
    const passedMs = Math.max(0, now - this.#filledAtMs)
    this.#tokens = Math.min(this.#burst, this.#tokens + passedMs * this.#perMs)
    this.#filledAtMs = now
    if (this.#tokens < 1) return Math.max(1, Math.ceil((1 - this.#tokens) / this.#perMs))
    this.#tokens -= 1
    return 0
  }
}
