import { expect, test } from 'vitest'
import { decodeEscapes, keyPath, queryText, withoutTrailingSlashes } from './url-encoding.ts'

test.each([
  { key: 'a/b c/d', want: 'a/b%20c/d' },
  { key: "é+&?#%'()*!", want: '%C3%A9%2B%26%3F%23%25%27%28%29%2A%21' },
  { key: 'a//b/', want: 'a//b/' },
])('writes the key $key as $want', ({ key, want }) => {
  expect(keyPath(key)).toBe(want)
})

test('writes the parameters of a query in their order', () => {
  expect(queryText([])).toBe('')
  expect(queryText(Object.entries({ uploads: '', prefix: 'a b&c' }))).toBe('uploads=&prefix=a%20b%26c')
})

test.each([
  { text: '/data//', want: '/data' },
  { text: 'https://s3.example', want: 'https://s3.example' },
  { text: '//', want: '' },
  { text: '', want: '' },
  { text: `/data${'/'.repeat(1_000_000)}x`, want: `/data${'/'.repeat(1_000_000)}x` },
])('removes only the slashes at the end', ({ text, want }) => {
  expect(withoutTrailingSlashes(text) === want).toBe(true)
})

test.each([
  { text: 'a%20b', want: 'a b' },
  { text: '%E2%82%AC', want: '€' },
  { text: '%E2%82', want: undefined },
  { text: '100%', want: undefined },
  { text: '%zz', want: undefined },
])('decodes $text to $want', ({ text, want }) => {
  expect(decodeEscapes(text)).toBe(want)
})
