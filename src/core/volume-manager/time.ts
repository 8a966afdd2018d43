/** Parses the times of a status. */
import { type ClockJump, onPresentClock } from '../../base/time/clock-jumps.ts'

/**
 * Parses a time into ms since the epoch; undefined when it is missing or invalid.
 *
 * @param jumps of the clock with which the time is compared; needed if the passed time decides
 */
export function fromTime(text: string | undefined, jumps?: readonly ClockJump[]): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : onPresentClock(ms, jumps)
}

/** The latest of some times, unchanged; undefined when none is valid. */
export function latestTime(times: readonly string[]): string | undefined {
  let latest: string | undefined
  let latestMs = Number.NEGATIVE_INFINITY
  for (const time of times) {
    const ms = fromTime(time) ?? Number.NEGATIVE_INFINITY
    if (ms > latestMs) [latest, latestMs] = [time, ms]
  }
  return latest
}
