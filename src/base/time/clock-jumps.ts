/** Converts times that a clock showed before it jumped forward, so that a jump is not counted as time that has passed. */

/** A jump of the wall clock, such as after the correction of a wrong clock or a pause of the machine. */
export interface ClockJump {
  /** What the clock showed after the jump, in ms since the epoch. */
  to: number
  byMs: number
}

/** When a decision is made. */
export interface Present {
  /** Milliseconds since the epoch. */
  now: number
  /** The jumps of the clock of `now`, in the order in which they happened; none if absent. No deadline passes by a jump. */
  jumps?: readonly ClockJump[] | undefined
}

/**
 * Returns what the present clock would have shown at a time that it showed then, in ms since the epoch.
 *
 * @param jumps in the order in which they happened
 */
export function onPresentClock(time: number, jumps: readonly ClockJump[] = []): number {
  return jumps.reduce((at, { to, byMs }) => (at < to ? at + byMs : at), time)
}

/** Returns the ms that have passed since a time (RFC 3339), without jumps. */
export function msSince(time: string, { now, jumps }: Present): number {
  return now - onPresentClock(Date.parse(time), jumps)
}
