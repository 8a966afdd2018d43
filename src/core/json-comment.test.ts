import { expect, test } from 'vitest'
import { findJsonComment } from './json-comment.ts'

test.each([
  { text: '{\n  // why\n  "a": 1\n}', want: 2 },
  { text: '{ "a": 1, // why\n "b": 2 }', want: 1 },
  { text: '// why\n{ "a": 1 }', want: 1 },
  { text: '[1,\n\n/* why */ 2]', want: 3 },
  { text: '{"url": "https://example.org"}', want: undefined },
  { text: '{"text": "a // b \\" // c"}', want: undefined },
  { text: "{text: 'a // b'}", want: undefined },
  { text: '{url: https://example.org}', want: undefined },
  { text: '{ "a": 1, # see // and /*\n "b": 2 }', want: undefined },
  { text: 'text: a // b', want: undefined },
  { text: '', want: undefined },
])('$text: $want', ({ text, want }) => {
  expect(findJsonComment(text)).toBe(want)
})
