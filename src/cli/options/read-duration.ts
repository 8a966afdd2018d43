/** Reads durations of options, such as `90s`, `2m` or `1m30s`. */
import { UsageError } from '../command.ts'

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 }

/** Returns the duration of an option in milliseconds. Throws `UsageError` for another form. */
export function readDuration(option: string, text: string): number {
  if (!/^(\d{1,5}[smh])+$/.test(text)) {
    throw new UsageError(`--${option} takes a duration such as 90s or 2m, not ${text}`)
  }
  return [...text.matchAll(/(\d+)([smh])/g)].reduce((sum, [, n, unit = 's']) => sum + Number(n) * (UNITS[unit] ?? 0), 0)
}
