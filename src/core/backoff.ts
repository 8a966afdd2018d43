/** Computes how long to wait after failures: exponential back-off, and its jitter. */

export interface BackoffBounds {
  /** The bound after the first failure, in ms. */
  firstMs: number
  /** The bound of every delay, in ms. */
  lastMs: number
  /** Factor from one bound to the next. Default 2. */
  multiplier?: number
}

/** A larger exponent changes nothing, and a power that is infinite gives no number when `firstMs` is 0. */
const MAX_EXPONENT = 100

/** The bound of the delay after `failures` failures in a row, in ms; `failures` is 1 after the first one. */
export function backoffMs({ firstMs, lastMs, multiplier = 2 }: BackoffBounds, failures: number): number {
  return Math.min(lastMs, firstMs * multiplier ** Math.min(failures - 1, MAX_EXPONENT))
}

/** Any part of the bound: spreads many clients best. `random` is in [0, 1). */
export function fullJitter(boundMs: number, random: number): number {
  return boundMs * random
}

/** Between half of the bound and all of it: a retry never follows at once. `random` is in [0, 1). */
export function equalJitter(boundMs: number, random: number): number {
  return boundMs * (0.5 + random / 2)
}

/** From 80 % to 120 % of an interval, so that many clients do not act in step. `random` is in [0, 1). */
export function spreadInterval(intervalMs: number, random: number): number {
  return intervalMs * (0.8 + 0.4 * random)
}
