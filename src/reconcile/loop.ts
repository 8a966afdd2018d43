/** Runs a reconcile function at the start, after every trigger and at an interval: one run at a time, with back-off after failures. */
import { backoffMs } from '../base/time/backoff.ts'

export interface LoopOptions {
  /** Reads, plans and applies. If it throws, the error is reported and the run is repeated. */
  reconcile: () => Promise<void>
  /** The interval of runs without a trigger, in ms. They detect changes for which no trigger occurred. */
  intervalMs: number
  onError: (error: unknown, retryInMs: number) => void
}

export interface Loop {
  /** Requests a run as soon as possible. All calls during a run cause one more run. */
  trigger(): void
  /** Stops the loop; resolves when the current run has ended. */
  stop(): Promise<void>
}

const BACKOFF = { firstMs: 200, lastMs: 30_000 }

/** Starts the first run at once. */
export function startLoop({ reconcile, intervalMs, onError }: LoopOptions): Loop {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  let failures = 0

  function schedule(delayMs: number): void {
    clearTimeout(timer)
    if (!stopped) timer = setTimeout(run, delayMs)
  }

  function run(): void {
    running = reconcile()
      .then(() => {
        failures = 0
        return intervalMs
      })
      .catch((error: unknown) => {
        const retryInMs = backoffMs(BACKOFF, ++failures)
        onError(error, retryInMs)
        return retryInMs
      })
      .then((delayMs) => {
        running = undefined
        schedule(again && failures === 0 ? 0 : delayMs)
        again = false
      })
  }

  run()
  return {
    trigger() {
      if (running) again = true
      else schedule(0)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
