/** When a data system that gave no answer is asked again. */

const FIRST_MS = 1_000
/** While nothing is known, workloads may be held: whoever mends the system sees them go within seconds. */
const LAST_UNKNOWN_MS = 3_000

export interface RetryInput {
  /** How often in a row it gave none; 1 after the first time. */
  failures: number
  /** Whether there is an earlier answer, which stands meanwhile. */
  isLocated: boolean
  refreshIntervalMs: number
  /** What the system asked for itself. */
  retryAfterMs: number | undefined
}

/** The wait in ms: exponential, up to the refresh interval where an answer stands, up to seconds where none does. */
export function retryDelayMs({ failures, isLocated, refreshIntervalMs, retryAfterMs }: RetryInput): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, refreshIntervalMs)
  const last = isLocated ? refreshIntervalMs : Math.min(LAST_UNKNOWN_MS, refreshIntervalMs)
  return Math.min(FIRST_MS * 2 ** (failures - 1), last)
}
