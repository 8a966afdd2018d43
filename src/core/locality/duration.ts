/** Parses durations in Go's notation: `500ms`, `10s`, `1m30s`. */

const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000001,
}

/** Returns a duration in milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (!/^(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns))+$/.test(text)) return undefined
  let ms = 0
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)([a-zµ]+)/g)) ms += Number(number) * (UNITS[unit] ?? 0)
  return ms
}
