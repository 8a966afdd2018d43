/** Formats times of objects. */

/**
 * Formats a time as Kubernetes does in objects: RFC 3339 in UTC, to the second (apimachinery, metav1.Time).
 *
 * @param ms since the epoch; throws `RangeError` outside of the range of a `Date`
 */
export function toTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
