/** Time and chance as the store sees them, injected so that every wait can be tested without waiting. */

export interface Clock {
  /** Milliseconds on a clock that never goes back. */
  now(): number
  /** Calls `run` once after `delayMs`; the returned function takes it back. */
  after(delayMs: number, run: () => void): () => void
  /** A number in [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, run) => {
    // A process that stood still computes a moment that has passed, and Node warns of a negative wait.
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}

/** Waits `delayMs`, or shorter when `signal` aborts: it never rejects, so the caller looks at the signal. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(delayMs, wake)
    signal.addEventListener('abort', wake, { once: true })
    function wake(): void {
      cancel()
      signal.removeEventListener('abort', wake)
      resolve()
    }
  })
}
