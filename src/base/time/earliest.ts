/** The earliest of some times, of which each may be absent. */

/** Returns the smallest of some times or waits, in any one unit; undefined if there is none. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
