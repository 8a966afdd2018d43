/**
 * A token bucket: limits how often a caller may act. The bucket is full at first and fills at a steady rate. If it is empty, the caller
 * receives the time to wait.
 */

export interface Rate {
  perSecond: number
  /** The capacity: how many tokens are available at once after a pause. */
  burst: number
}

export class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #filledAtMs: number

  /** `now` is in ms on any clock, and later calls use the same clock. Throws if the rate is not above 0 or the burst is below 1. */
  constructor({ perSecond, burst }: Rate, now: number) {
    if (!(perSecond > 0)) throw new Error(`perSecond: must be above 0, is ${perSecond}`)
    if (!(burst >= 1)) throw new Error(`burst: must be at least 1, is ${burst}`)
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#filledAtMs = now
  }

  /**
   * Takes a token, if there are `before` others for those before the caller. Returns 0, or the ms until there are. They are rounded up, since
   * an early timer would have to wait again.
   */
  take(now: number, before = 0): number {
    // A clock that was set back neither adds nor removes tokens.
    const passedMs = Math.max(0, now - this.#filledAtMs)
    this.#tokens = Math.min(this.#burst, this.#tokens + passedMs * this.#perMs)
    this.#filledAtMs = now
    const missing = 1 + before - this.#tokens
    if (missing > 0) return Math.max(1, Math.ceil(missing / this.#perMs))
    this.#tokens -= 1
    return 0
  }
}
