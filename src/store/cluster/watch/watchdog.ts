/** Reports a watch that was silent for too long. */
import type { Clock } from '../../../time/clock.ts'

export interface Watchdog {
  /** There was a sign of life. */
  fed(): void
  stop(): void
}

/** Calls `bark` once nothing was fed for `silenceMs`. One timer at a time; feeding costs a number, not a timer. */
export function startWatchdog(clock: Clock, silenceMs: number, bark: () => void): Watchdog {
  let fedAt = clock.now()
  let cancel = clock.after(silenceMs, look)
  function look(): void {
    const restMs = fedAt + silenceMs - clock.now()
    if (restMs <= 0) bark()
    else cancel = clock.after(restMs, look)
  }
  return {
    fed() {
      fedAt = clock.now()
    },
    stop: () => cancel(),
  }
}
