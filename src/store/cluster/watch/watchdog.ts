/** Reports a watch that was silent for too long. */
import type { Clock } from '../../../base/time/clock.ts'

export interface Watchdog {
  /** Restarts the timeout. */
  fed(): void
  stop(): void
}

/** Calls `onSilence` after `silenceMs` without a call of `fed`. A call of `fed` only stores the time; one timer runs at a time. */
export function startWatchdog(clock: Clock, silenceMs: number, onSilence: () => void): Watchdog {
  let fedAt = clock.now()
  let cancel = clock.after(silenceMs, look)
  function look(): void {
    const restMs = fedAt + silenceMs - clock.now()
    if (restMs <= 0) onSilence()
    else cancel = clock.after(restMs, look)
  }
  return {
    fed() {
      fedAt = clock.now()
    },
    stop: () => cancel(),
  }
}
