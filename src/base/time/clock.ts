/** The interface for time, timers and random numbers, so that tests control them. */

export interface Clock {
  /** Milliseconds of a monotonic clock, for durations and deadlines. */
  now(): number
  /** Milliseconds since the epoch, for dates that other programs write or read. */
  epochMs(): number
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void
  /** A number in [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => performance.now(),
  epochMs: () => Date.now(),
  after: (delayMs, run) => {
    // After a pause of the process, the time may have passed already. Node warns of a negative delay.
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
}

/** Waits `delayMs`, or until `signal` aborts. It never rejects, so the caller checks the signal. */
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

/** Settles as `work` does, or rejects with the reason of `signal` when it aborts first. The work continues. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const end = () => ended.reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([ended.promise, work])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/**
 * Runs `work` with a signal that aborts with `outer`, or with the reason `late` after `timeoutMs`. Then it rejects with the reason, whatever the
 * work does. Unlike with `AbortSignal.any`, no listener stays on a signal that lives as long as the process.
 */
export async function withTimeout<T>(
  { timeoutMs, late }: { timeoutMs: number; late: Error },
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(late), timeoutMs)
  const forward = () => ending.abort(outer.reason)
  if (outer.aborted) forward()
  outer.addEventListener('abort', forward, { once: true })
  try {
    return await untilAborted(work(ending.signal), ending.signal)
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', forward)
  }
}
