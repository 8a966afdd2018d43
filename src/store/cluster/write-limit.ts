/** Limits the rate of writes to an API server, so that 100,000 writes after an outage do not cause the next one. */
import type { Clock } from '../../base/time/clock.ts'
import { TokenBucket } from '../../base/time/token-bucket.ts'

export interface WriteLimitOptions {
  /** The average number of writes per second. Default 50. */
  writesPerSecond?: number | undefined
  /** The number of writes at once after a pause. Default 100. */
  burst?: number | undefined
}

interface Waiting {
  go(): void
  fail(error: Error): void
}

export class WriteLimit {
  readonly #clock: Clock
  readonly #bucket: TokenBucket
  readonly #waiting: Waiting[] = []
  #cancel: (() => void) | undefined
  #stopped = false

  /** Throws for a rate or a burst that would allow no write. */
  constructor(clock: Clock, { writesPerSecond = 50, burst = 100 }: WriteLimitOptions = {}) {
    this.#clock = clock
    this.#bucket = new TokenBucket({ perSecond: writesPerSecond, burst }, clock.now())
  }

  /** Resolves when the caller may write, in the order of the calls. Rejects after `stop`. */
  take(): Promise<void> {
    if (this.#stopped) return Promise.reject(stopped())
    return new Promise((go, fail) => {
      this.#waiting.push({ go, fail })
      this.#serve()
    })
  }

  /** Rejects all waiting and later writes. */
  stop(): void {
    this.#stopped = true
    this.#cancel?.()
    for (const { fail } of this.#waiting.splice(0)) fail(stopped())
  }

  #serve(): void {
    this.#cancel?.()
    this.#cancel = undefined
    while (this.#waiting.length > 0) {
      const waitMs = this.#bucket.take(this.#clock.now())
      if (waitMs > 0) {
        this.#cancel = this.#clock.after(waitMs, () => this.#serve())
        return
      }
      this.#waiting.shift()?.go()
    }
  }
}

function stopped(): Error {
  return new Error('the store was stopped')
}
