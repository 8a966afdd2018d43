import { expect, test } from 'vitest'
import { findJsonComment } from './json-comment.ts'

test.each([
  { text: '{\n  // why\n  "a": 1\n}', want: { line: 2, column: 3 } },
  { text: '{ "a": 1, // why\n "b": 2 }', want: { line: 1, column: 11 } },
  { text: '// why\n{ "a": 1 }', want: { line: 1, column: 1 } },
  { text: '[1,\n\n/* why */ 2]', want: { line: 3, column: 1 } },
  { text: '{"url": "https://example.org"}', want: undefined },
  { text: '{"text": "a // b \\" // c"}', want: undefined },
  { text: "{text: 'a // b'}", want: undefined },
  { text: '{url: https://example.org}', want: undefined },
  { text: '{ "a": 1, # see // and /*\n "b": 2 }', want: undefined },
  { text: 'text: a // b', want: undefined },
  { text: '', want: undefined },
])('$text: $want', ({ text, want }) => {
  expect(findJsonComment(text)).toEqual(want)
})
