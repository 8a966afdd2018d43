/** Watches the wall clock for jumps: it is compared with the monotonic clock. */
import type { Clock } from './clock.ts'
import type { ClockJump } from './clock-jumps.ts'

export interface WallClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** The forward jumps since the start of the process, or since the clock was last set back. The oldest of many are forgotten. */
  jumps(): readonly ClockJump[]
  stop(): void
}

/** A smaller difference is a correction that NTP makes while both clocks run. */
const MIN_JUMP_MS = 1_000
/** Often enough that a jump has almost its own time, and that slow corrections do not add up. */
const COMPARE_MS = 5_000
const MAX_JUMPS = 16

/** Starts to compare `now`, the wall clock in ms since the epoch, with the monotonic clock. */
export function watchWallClock(now: () => number, clock: Clock): WallClock {
  let jumps: readonly ClockJump[] = []
  let aheadMs = now() - clock.now()

  function compare(): number {
    const wallMs = now()
    const byMs = wallMs - clock.now() - aheadMs
    aheadMs += byMs
    // Times before and after a clock was set back cannot be told apart.
    if (byMs <= -MIN_JUMP_MS) jumps = []
    if (byMs >= MIN_JUMP_MS) jumps = [...jumps, { to: wallMs, byMs }].slice(-MAX_JUMPS)
    return wallMs
  }

  let cancel: () => void
  const again = () => {
    compare()
    cancel = clock.after(COMPARE_MS, again)
  }
  again()

  return {
    now: compare,
    jumps() {
      compare()
      return jumps
    },
    stop: () => cancel(),
  }
}
