/** docs/features.md: each promise names at least one test, and each named test exists. */
import { describe, expect, test } from 'vitest'
import { hasTest, namedTests, rowsWithTests } from './named-tests.ts'

const promises = rowsWithTests('docs/features.md')

test('the page has promises', () => {
  expect(promises.length).toBeGreaterThan(40)
})

describe.each(promises)('$first', ({ shownBy }) => {
  test('names tests that exist', () => {
    const tests = namedTests(shownBy)
    expect(tests).not.toEqual([])
    expect(tests.filter(({ file, title }) => !hasTest(file, title))).toEqual([])
  })
})
