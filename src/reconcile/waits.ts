/** How long keys wait, where no object has the begin of the wait. In memory only: after a restart, each wait begins again. */
import { onPresentClock, type Present } from '../base/time/clock-jumps.ts'

export class Waits {
  /** When the wait of each key began, in ms since the epoch. */
  readonly #since = new Map<string, number>()

  /** Returns for how long a key has waited, in ms, without jumps of the clock. The first call begins the wait. */
  waitedMs(key: string, { now, jumps }: Present): number {
    // A clock that was set back must not extend the wait.
    const since = Math.min(this.#since.get(key) ?? now, now)
    this.#since.set(key, since)
    return Math.max(0, now - onPresentClock(since, jumps))
  }

  /** Ends the wait of a key, if it waits. */
  end(key: string): void {
    this.#since.delete(key)
  }
}
