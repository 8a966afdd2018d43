/** docs/features.md: each promise names at least one test, and each named test exists. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lexer, type Tokens } from 'marked'
import { describe, expect, test } from 'vitest'

const page = 'docs/features.md'
const promises = lexer(readFileSync(page, 'utf8'))
  .filter((token): token is Tokens.Table => token.type === 'table')
  .filter((table) => table.header[1]?.text === 'Shown by')
  .flatMap((table) =>
    table.rows.map(([promise, shownBy]) => ({ promise: promise?.text ?? '', shownBy: shownBy?.text ?? '' })),
  )

/** A reference is a link to a test file, a colon, and the title of a test in quotes. */
const reference = /\]\(([^)]+)\): "((?:[^"\\]|\\.)*)"/g

function namedTests(shownBy: string) {
  return [...shownBy.matchAll(reference)].map(([, link = '', title = '']) => ({
    file: join('docs', link),
    title: title.replaceAll('\\"', '"'),
  }))
}

/** Whether a file has a test, or a group of tests, with exactly this title. */
function hasTest(file: string, title: string): boolean {
  if (!existsSync(file)) return false
  const source = readFileSync(file, 'utf8')
  return ["'", '"', '`'].some((quote) =>
    [`(${quote}`, `(\n${quote}`].some((start) =>
      source.replaceAll(/\(\n\s+/g, '(\n').includes(`${start}${title}${quote}`),
    ),
  )
}

test('the page has promises', () => {
  expect(promises.length).toBeGreaterThan(40)
})

describe.each(promises)('$promise', ({ shownBy }) => {
  test('names tests that exist', () => {
    const tests = namedTests(shownBy)
    expect(tests).not.toEqual([])
    expect(tests.filter(({ file, title }) => !hasTest(file, title))).toEqual([])
  })
})
