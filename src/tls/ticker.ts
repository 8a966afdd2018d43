/** Runs a check again and again, one at a time, without keeping the process alive. */

export interface Ticker {
  /** Runs the check after those that are under way; resolves when it is done. */
  run(): Promise<void>
  stop(): void
}

// A moment that is reached a rounding error too early must not make the loop spin.
const MIN_DELAY_MS = 1000

/**
 * Starts a ticker. `check` must not reject; it gives the delay to the next check in ms, at most `intervalMs`. Delays are short
 * on purpose: a timer stands still while a machine sleeps, and so a long one would miss a renewal by as much.
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
