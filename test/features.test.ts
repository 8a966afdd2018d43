/** docs/dev/features.md: each promise names at least one test, and each named test exists. */
import { describe, expect, test } from 'vitest'
import { hasTest, itemsWithTests } from './named-tests.ts'

const promises = itemsWithTests('docs/dev/features.md')

test('the page has promises', () => {
  expect(promises.length).toBeGreaterThan(40)
})

describe.each(promises)('$first', ({ tests }) => {
  test('names tests that exist', () => {
    expect(tests).not.toEqual([])
    expect(tests.filter((one) => !hasTest(one))).toEqual([])
  })
})
