/** Limits the requests to one system: how many run at once, and how many begin each second. */

import pLimit from 'p-limit'
import { type Clock, sleep, untilAborted } from '../base/time/clock.ts'
import { TokenBucket } from '../base/time/token-bucket.ts'

export interface LimiterOptions {
  maxConcurrent: number
  maxRequestsPerSecond: number
  clock: Clock
}

export class Limiter {
  readonly #slots: Slots
  readonly #bucket: TokenBucket
  readonly #clock: Clock

  constructor({ maxConcurrent, maxRequestsPerSecond, clock }: LimiterOptions) {
    this.#slots = new Slots(maxConcurrent)
    this.#bucket = new TokenBucket({ perSecond: maxRequestsPerSecond, burst: maxRequestsPerSecond }, clock.now())
    this.#clock = clock
  }

  /** Runs a request when the limits allow it. Throws the reason of `signal` when it aborts first. */
  run<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    return this.#slots.run(signal, () => this.#pace(signal).then(request))
  }

  /** Waits for the rate limit, so that all queries of a fleet at once, as after a restart, do not overload a catalog. */
  async #pace(signal: AbortSignal): Promise<void> {
    const bucket = this.#bucket
    const clock = this.#clock
    for (let waitMs = bucket.take(clock.now()); waitMs > 0; waitMs = bucket.take(clock.now())) {
      await sleep(clock, waitMs, signal)
      signal.throwIfAborted()
    }
  }
}

export class Slots {
  readonly #limit: ReturnType<typeof pLimit>

  constructor(count: number) {
    this.#limit = pLimit(count)
  }

  /** Runs `work` when a slot is free. Throws the reason of `signal` when it aborts; work that has begun keeps its slot. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const limited = this.#limit(() => {
      // After an abort, the entry stays in the queue, but its work does not start.
      signal.throwIfAborted()
      return work()
    })
    return untilAborted(limited, signal)
  }
}
