/** When a mover that failed is followed by another one. */

const FIRST_MS = 10_000
/** What only somebody else can mend is looked at less eagerly, but is looked at. */
const FIRST_HOPELESS_MS = 60_000
const LAST_MS = 600_000

/** The wait in ms after the `failures`-th failure in a row. */
export function retryDelayMs(failures: number, retry: boolean): number {
  return Math.min((retry ? FIRST_MS : FIRST_HOPELESS_MS) * 2 ** (failures - 1), LAST_MS)
}
