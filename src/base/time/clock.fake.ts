/** Clocks for tests: one that a test advances, and one that skips every wait. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from './clock.ts'

const EPOCH_MS = Date.parse('2026-01-01T00:00:00Z')

/** A clock that stands still until the test advances it. */
export class TestClock implements Clock {
  /** The result of `random()`. */
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

  /** The remaining delays of all timers, shortest first. */
  get waits(): number[] {
    return this.#timers.map((timer) => timer.dueMs - this.#nowMs).sort((a, b) => a - b)
  }

  /** Advances the time. Timers fire in order, including timers that other timers set. */
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

/** A clock that ends every wait immediately, as if its time had passed. */
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

/** A clock that is faster than that of the system, for waits beside real I/O. */
export class FastClock implements Clock {
  readonly #times: number

  constructor(times: number) {
    this.#times = times
  }

  now(): number {
    return systemClock.now() * this.#times
  }

  epochMs(): number {
    return systemClock.epochMs()
  }

  random(): number {
    return systemClock.random()
  }

  after(delayMs: number, run: () => void): () => void {
    return systemClock.after(delayMs / this.#times, run)
  }
}

/** Waits until real I/O makes `condition` true. Throws after 45 seconds, which a busy machine needs too. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 45_000
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`never came true: ${condition}`)
    await nextTurn()
  }
}

/** Runs many iterations of the event loop, for tests that expect no event. */
export async function settle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn()
}
