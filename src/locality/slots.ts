/** Limits the number of concurrent calls. A waiting call ends when its signal aborts. */
import pLimit from 'p-limit'
import { untilAborted } from './http/abort.ts'

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
