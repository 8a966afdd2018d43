import { expect, test } from 'vitest'
import { hasTooManyValues, isTooDeep, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-size.ts'

const listOf = (count: number, item: unknown) => JSON.stringify(Array.from({ length: count }, () => item))

test.each([
  { name: 'a small text', text: '{"a":[1,2,{}]}', want: false },
  { name: 'the maximum number of values', text: listOf(MAX_JSON_VALUES - 1, 10), want: false },
  { name: 'one more value', text: listOf(MAX_JSON_VALUES + 1, 10), want: true },
  { name: 'empty objects', text: listOf(MAX_JSON_VALUES / 2 + 1, {}), want: true },
  { name: 'commas and brackets in a string', text: JSON.stringify({ a: ',[{'.repeat(MAX_JSON_VALUES) }), want: false },
  {
    name: 'commas after escaped quotes in a string',
    text: JSON.stringify({ a: '",'.repeat(MAX_JSON_VALUES) }),
    want: false,
  },
  {
    name: 'numbers after a string that ends with backslashes',
    text: `["\\\\",${listOf(MAX_JSON_VALUES + 1, 10)}]`,
    want: true,
  },
  { name: 'numbers in a string without an end', text: `"${listOf(MAX_JSON_VALUES + 1, 10)}`, want: false },
  { name: 'a long string', text: JSON.stringify({ a: 'x'.repeat(3_000_000) }), want: false },
])('$name', ({ text, want }) => {
  expect(hasTooManyValues(text)).toBe(want)
})

const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}1${']}'.repeat(depth / 2)}`

test.each([
  { name: 'the maximum depth', text: nested(MAX_JSON_DEPTH), want: false },
  { name: 'two more levels', text: nested(MAX_JSON_DEPTH + 2), want: true },
  { name: 'levels without an end', text: '['.repeat(MAX_JSON_DEPTH + 1), want: true },
  { name: 'many lists beside each other', text: `[${'[],'.repeat(MAX_JSON_DEPTH * 2)}[]]`, want: false },
  { name: 'brackets in a string', text: JSON.stringify({ a: '[{"'.repeat(MAX_JSON_DEPTH) }), want: false },
])('nested too deep: $name', ({ text, want }) => {
  expect(isTooDeep(text)).toBe(want)
})
