import { expect, test } from 'vitest'
import { firstCharacters } from './first-characters.ts'

test.each([
  { text: 'abc', max: 3, want: 'abc' },
  { text: 'abc', max: 2, want: 'ab' },
  { text: 'a\u{1F40B}', max: 3, want: 'a\u{1F40B}' },
  { text: 'a\u{1F40B}', max: 2, want: 'a' },
  { text: 'a\u{1F40B}b', max: 3, want: 'a\u{1F40B}' },
  { text: 'abc', max: 0, want: '' },
])('the first $max characters of $text are $want', ({ text, max, want }) => {
  expect(firstCharacters(text, max)).toBe(want)
})
