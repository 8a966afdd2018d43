/** Parses durations in Go's notation: `500ms`, `10s`, `1m30s`. Formats ages for people. */

const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  // The micro sign, and the Greek letter.
  '\u00b5s': 0.001,
  '\u03bcs': 0.001,
  ns: 0.000001,
}

/** 24 days: a timer of Node fires at once if it is longer than 2^31 - 1 ms. */
export const MAX_DURATION_MS = 24 * 86_400_000

/** Go, time.ParseDuration, without a minus sign. */
const DURATION = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|\u00b5s|\u03bcs|ns))+$/

/** Returns a duration in milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (/^\+?0$/.test(text)) return 0
  if (!DURATION.test(text)) return undefined
  let ms = 0
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g))
    ms += Number(number) * (UNITS[unit] ?? 0)
  return ms
}

/** Formats milliseconds as `3 min`; NaN, of a time that is not valid, as `?`. */
export function formatAge(ms: number): string {
  if (Number.isNaN(ms)) return '?'
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}
