/** The lists of a page whose items name tests. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lexer, type Tokens } from 'marked'

/** A reference is a link to a test file, a colon, and the title of a test in quotes. It may have a line break. */
const reference = /\]\(([^)]+)\):\s+"((?:[^"\\]|\\.)*)"/g

interface NamedTest {
  file: string
  title: string
}

/** Returns all items of the lists in which an item names a test: the first line of each, and the tests that it names. */
export function itemsWithTests(page: string): { first: string; tests: NamedTest[] }[] {
  return lexer(readFileSync(page, 'utf8'))
    .filter((token): token is Tokens.List => token.type === 'list')
    .map(({ items }) =>
      items.map(({ text }) => ({ first: text.split('\n', 1)[0] ?? '', tests: namedTests(page, text) })),
    )
    .filter((items) => items.some(({ tests }) => tests.length > 0))
    .flat()
}

function namedTests(page: string, text: string): NamedTest[] {
  return [...text.matchAll(reference)].map(([, link = '', title = '']) => ({
    file: join(dirname(page), link),
    title: title.replaceAll(/\s+/g, ' ').replaceAll('\\"', '"'),
  }))
}

/** Whether a file has a test, or a group of tests, with exactly this title. */
export function hasTest({ file, title }: NamedTest): boolean {
  if (!existsSync(file)) return false
  const source = readFileSync(file, 'utf8')
  return ["'", '"', '`'].some((quote) =>
    [`(${quote}`, `(\n${quote}`].some((start) =>
      source.replaceAll(/\(\n\s+/g, '(\n').includes(`${start}${title}${quote}`),
    ),
  )
}
