/** Clocks under a test's control: time passes when the test advances it, or at once. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'

const EPOCH_MS = Date.parse('2026-01-01T00:00:00Z')

/** Stands still until the test advances it. */
export class TestClock implements Clock {
  /** What `random()` gives; the middle by default. */
  chance = 0.5
  #nowMs = 0
  #timers: { dueMs: number; run: () => void }[] = []

  now(): number {
    return this.#nowMs
  }

  epochMs(): number {
    return EPOCH_MS + this.#nowMs
  }

  random(): number {
    return this.chance
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + delayMs, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** The delays of all timers that are set, shortest first, counted from now. */
  get waits(): number[] {
    return this.#timers.map((timer) => timer.dueMs - this.#nowMs).sort((a, b) => a - b)
  }

  /** Lets time pass; timers fire in order, those set by timers included. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      const [next] = this.#timers.filter((timer) => timer.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)
      if (next === undefined) break
      this.#nowMs = next.dueMs
      this.#timers = this.#timers.filter((timer) => timer !== next)
      next.run()
    }
    this.#nowMs = endMs
  }
}

/** Lets every wait end at once, as if its time had passed. */
export class SkippingClock extends TestClock {
  /** The delays of all waits so far, in order. */
  readonly skipped: number[] = []

  override after(delayMs: number, run: () => void): () => void {
    this.skipped.push(delayMs)
    const cancel = super.after(delayMs, run)
    queueMicrotask(() => this.advance(delayMs))
    return cancel
  }
}

/** Waits for real I/O to make `condition` true, turn by turn of the event loop; throws when that takes five seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`never came true: ${condition}`)
    await nextTurn()
  }
}

/** Gives everything that is under way on this machine ample opportunity to happen, for tests that expect nothing. */
export async function settle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn()
}
