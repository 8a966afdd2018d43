/** Repeats a check, one at a time, without keeping the process alive. */

export interface Ticker {
  /** Runs the check after running ones. Resolves when it is done. */
  run(): Promise<void>
  stop(): void
}

// Keeps the loop from spinning when a timer fires a rounding error too early.
const MIN_DELAY_MS = 1000

/**
 * Starts a ticker. `check` must not reject. It returns the delay before the next check in ms, which is cut to `intervalMs`. Delays are
 * short, because a timer does not run while a machine sleeps: a long one would delay a renewal by that time.
 */
export function startTicker(check: () => Promise<number>, intervalMs: number): Ticker {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let last: Promise<void> = Promise.resolve()

  async function runOnce(): Promise<void> {
    if (stopped) return
    arm(await check())
  }
  function run(): Promise<void> {
    last = last.then(runOnce)
    return last
  }
  function arm(delayMs: number): void {
    clearTimeout(timer)
    if (stopped) return
    timer = setTimeout(() => void run(), Math.min(intervalMs, Math.max(MIN_DELAY_MS, delayMs)))
    timer.unref()
  }
  function stop(): void {
    stopped = true
    clearTimeout(timer)
  }

  arm(intervalMs)
  return { run, stop }
}
