/** Parses the header Retry-After. */

/**
 * Returns the delay of a header Retry-After in ms; undefined without a valid one (RFC 9110, 10.2.3).
 *
 * @param header a number of seconds, or a date
 * @param nowMs milliseconds since the epoch, to which a date is relative
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}
