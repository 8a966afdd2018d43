/** Formats ages and columns for the output of commands. */

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

/** Matches characters that would break a row, or control the terminal. Texts of other programs may have them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it replaces.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g

/** Formats rows as columns, each as wide as its longest cell. The first row is the head. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(CONTROL, ' ')))
  const widths: number[] = []
  for (const row of cells) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('')
}
