/** Time and chance as data systems are asked with them, injected so that every wait can be tested without waiting. */
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since 1970: servers give dates, and signatures carry them. */
  now(): number
  /** Waits, or shorter when `signal` aborts: it never rejects, so the caller looks at the signal. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>
  /** A number in [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (delayMs, signal) => wait(delayMs, undefined, { signal }).catch(() => undefined),
  random: () => Math.random(),
}
