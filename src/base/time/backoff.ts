/** Computes delays after failures: exponential back-off with jitter. */

export interface BackoffBounds {
  /** The upper bound after the first failure, in ms. */
  firstMs: number
  /** The largest upper bound, in ms. */
  lastMs: number
  /** The factor from one bound to the next. Default: 2. */
  multiplier?: number
}

/** Limits the exponent: an infinite power times a `firstMs` of 0 is NaN. A larger exponent would not change the result. */
const MAX_EXPONENT = 100

/** Returns the upper bound of the delay after `failures` failures in a row, in ms; `failures` is 1 after the first failure. */
export function backoffMs({ firstMs, lastMs, multiplier = 2 }: BackoffBounds, failures: number): number {
  return Math.min(lastMs, firstMs * multiplier ** Math.min(failures - 1, MAX_EXPONENT))
}

/** Returns a delay from 0 to the bound: it spreads many clients best. `random` is in [0, 1). */
export function fullJitter(boundMs: number, random: number): number {
  return boundMs * random
}

/** Returns a delay from half of the bound to the bound, so that a retry never follows immediately. `random` is in [0, 1). */
export function equalJitter(boundMs: number, random: number): number {
  return boundMs * (0.5 + random / 2)
}

/** Returns 80 % to 120 % of an interval, so that many clients do not act at the same time. `random` is in [0, 1). */
export function spreadInterval(intervalMs: number, random: number): number {
  return intervalMs * (0.8 + 0.4 * random)
}
