import { expect, test } from 'vitest'
import { hasTooManyValues, MAX_JSON_VALUES } from './json-size.ts'

const listOf = (count: number, item: unknown) => JSON.stringify(Array.from({ length: count }, () => item))

test.each([
  { name: 'a small text', text: '{"a":[1,2,{}]}', want: false },
  { name: 'as many numbers as are allowed', text: listOf(MAX_JSON_VALUES - 1, 10), want: false },
  { name: 'one number more', text: listOf(MAX_JSON_VALUES + 1, 10), want: true },
  { name: 'empty objects', text: listOf(MAX_JSON_VALUES / 2 + 1, {}), want: true },
  { name: 'a long string', text: JSON.stringify({ a: 'x'.repeat(3_000_000) }), want: false },
])('$name', ({ text, want }) => {
  expect(hasTooManyValues(text)).toBe(want)
})
