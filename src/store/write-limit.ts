/** Keeps writes to an API server below a rate: after an outage, a loop with 100,000 objects to write must not cause the next one. */
import type { Clock } from './clock.ts'

export interface WriteLimitOptions {
  /** How many writes a second in the long run. Default 50. */
  writesPerSecond?: number | undefined
  /** How many at once after a rest. Default 100. */
  burst?: number | undefined
}

interface Waiting {
  go(): void
  fail(error: Error): void
}

/** A token bucket: full at first, one token per write. */
export class WriteLimit {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burst: number
  readonly #waiting: Waiting[] = []
  #tokens: number
  #filledAtMs: number
  #cancel: (() => void) | undefined
  #stopped = false

  /** Throws for a rate or a burst that would never let anything through. */
  constructor(clock: Clock, { writesPerSecond = 50, burst = 100 }: WriteLimitOptions = {}) {
    if (!(writesPerSecond > 0)) throw new Error(`writesPerSecond: must be above 0, is ${writesPerSecond}`)
    if (!(burst >= 1)) throw new Error(`burst: must be at least 1, is ${burst}`)
    this.#clock = clock
    this.#perMs = writesPerSecond / 1000
    this.#burst = burst
    this.#tokens = burst
    this.#filledAtMs = clock.now()
  }

  /** Resolves when the caller may write, first come first served; rejects once stopped. */
  take(): Promise<void> {
    if (this.#stopped) return Promise.reject(stopped())
    return new Promise((go, fail) => {
      this.#waiting.push({ go, fail })
      this.#serve()
    })
  }

  /** Turns away everybody who waits, and who comes later. */
  stop(): void {
    this.#stopped = true
    this.#cancel?.()
    for (const { fail } of this.#waiting.splice(0)) fail(stopped())
  }

  #serve(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#fill()
    while (this.#tokens >= 1) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#tokens -= 1
      next.go()
    }
    if (this.#waiting.length === 0) return
    // Rounded up: a timer a moment too early would only set the next one.
    const delayMs = Math.max(1, Math.ceil((1 - this.#tokens) / this.#perMs))
    this.#cancel = this.#clock.after(delayMs, () => this.#serve())
  }

  #fill(): void {
    const nowMs = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledAtMs) * this.#perMs)
    this.#filledAtMs = nowMs
  }
}

function stopped(): Error {
  return new Error('the store was stopped')
}
