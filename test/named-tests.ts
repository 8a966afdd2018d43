/** The tables of a page whose last column names tests. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'

/** Returns the rows of all tables of a page with the column "Shown by": the text of their first cell, and of that column. */
export function rowsWithTests(page: string): { first: string; shownBy: string }[] {
  return lexer(readFileSync(page, 'utf8'))
    .filter((token): token is Tokens.Table => token.type === 'table')
    .filter((table) => table.header.at(-1)?.text === 'Shown by')
    .flatMap((table) => table.rows.map((row) => ({ first: row[0]?.text ?? '', shownBy: row.at(-1)?.text ?? '' })))
}

/** A reference is a link to a test file, a colon, and the title of a test in quotes. */
const reference = /\]\(([^)]+)\): "((?:[^"\\]|\\.)*)"/g

export function namedTests(shownBy: string) {
  return [...shownBy.matchAll(reference)].map(([, link = '', title = '']) => ({
    file: join('docs', link),
    title: title.replaceAll('\\"', '"'),
  }))
}

/** Whether a file has a test, or a group of tests, with exactly this title. */
export function hasTest(file: string, title: string): boolean {
  if (!existsSync(file)) return false
  const source = readFileSync(file, 'utf8')
  return ["'", '"', '`'].some((quote) =>
    [`(${quote}`, `(\n${quote}`].some((start) =>
      source.replaceAll(/\(\n\s+/g, '(\n').includes(`${start}${title}${quote}`),
    ),
  )
}
