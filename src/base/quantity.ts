/** Parses and formats amounts of bytes, such as `8Mi`, and formats counts. */

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** Matches `8Mi` or `4096`. */
export const BYTES = /^(\d+)(Ki|Mi|Gi|Ti|Pi)?$/

/** Parses an amount; undefined for any other text. */
export function parseBytes(text: string): number | undefined {
  const [, number, unit = ''] = BYTES.exec(text) ?? []
  const bytes = Number(number) * (UNITS[unit] ?? Number.NaN)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Parses the size of an object in bytes; undefined for any other text, and for a number that a program cannot count. */
export function parseSize(text = ''): number | undefined {
  const size = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(size) ? size : undefined
}

/** Formats the size of data, e.g. `at least 4.0 KiB`. */
export function formatSize(bytes: number, isMinimum = false): string {
  return `${isMinimum ? 'at least ' : ''}${formatBytes(bytes)}`
}

/** Formats an amount, e.g. `4.0 KiB`. */
export function formatBytes(bytes: number): string {
  const [unit = '', size = 1] = Object.entries(UNITS).findLast(([, unitSize]) => bytes >= unitSize) ?? []
  return unit === '' ? `${bytes} B` : `${(bytes / size).toFixed(1)} ${unit}B`
}

/** Formats a count with its noun: `1 object`, `2 objects`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
