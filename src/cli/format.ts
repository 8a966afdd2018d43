/** Formats columns and lines for the output of commands. */
import { printable } from '../base/printable.ts'

/** Makes the lines of a text safe to print in a terminal. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** Formats rows as columns, each as wide as its longest cell. The first row is the head. */
export function formatColumns(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => ({ text: printable(cell), width: columnWidth(printable(cell)) })))
  const widths: number[] = []
  for (const row of cells) for (const [i, { width }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width)
  return cells
    .map((row) => row.map(({ text, width }, i) => text + ' '.repeat((widths[i] ?? 0) - width)).join('   '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

/** Characters that fill two columns of a terminal: East Asian scripts, their full-width forms, and emoji (Unicode TR 11). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Characters that are drawn over the one before them, or not at all. */
const NARROW = /\p{Mn}|\p{Me}|\p{Cf}/u
const ASCII = /^[ -~]*$/

/** The number of columns that a text fills in a terminal. */
function columnWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const character of text) width += WIDE.test(character) ? 2 : NARROW.test(character) ? 0 : 1
  return width
}
