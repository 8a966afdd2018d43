/** Time under a test's control: waits are recorded, and end at once or when the test says so. */
import type { Clock } from './clock.ts'

export class TestClock implements Clock {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  chance = 0.5
  /** Every wait that was asked for, in milliseconds. */
  readonly waits: number[] = []
  readonly #held: boolean
  #sleepers: (() => void)[] = []

  /** @param held whether waits last until `wake()`, as those of a loop must, or pass at once */
  constructor(held = false) {
    this.#held = held
  }

  now(): number {
    return this.nowMs
  }

  random(): number {
    return this.chance
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    this.waits.push(delayMs)
    if (signal.aborted) return Promise.resolve()
    if (!this.#held) {
      this.nowMs += delayMs
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.#sleepers.push(resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  /** Ends every wait that is under way. */
  wake(): void {
    const sleepers = this.#sleepers
    this.#sleepers = []
    for (const wakeUp of sleepers) wakeUp()
  }
}
