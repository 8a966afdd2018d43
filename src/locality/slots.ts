/** Limits how many calls run at the same time; a call that waits ends with its signal. */
import pLimit from 'p-limit'
import { untilAborted } from './http/abort.ts'

export class Slots {
  readonly #limit: ReturnType<typeof pLimit>

  constructor(count: number) {
    this.#limit = pLimit(count)
  }

  /** Runs `work` as soon as a slot is free. Throws the reason of `signal` once it aborts; work that has begun keeps its slot. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const limited = this.#limit(() => {
      // Its place in the queue remains after the abort; the work does not.
      signal.throwIfAborted()
      return work()
    })
    return untilAborted(limited, signal)
  }
}
