import { expect, test } from 'vitest'
import { printable } from './printable.ts'

test.each([
  ['plain text', 'plain text'],
  ['größe 大 🚀', 'größe 大 🚀'],
  ['two\r\nlines\tand a tab', 'two lines and a tab'],
  ['\u001b[2Jcleared\u001b]0;title\u0007', ' [2Jcleared ]0;title '],
  ['\u009b31mred\u007f\u0000', ' 31mred '],
  ['user\u202egpj.exe\u2066\u2069', 'user gpj.exe '],
  ['a\u2028b\u2029c', 'a b c'],
])('%j becomes %j', (text, want) => {
  expect(printable(text)).toBe(want)
})

test('a text of 1 MiB takes no more than linear time', () => {
  const start = performance.now()
  expect(printable(' \n'.repeat(512 * 1024))).toHaveLength(1024 * 1024)
  // A quiet machine needs a few milliseconds; quadratic time would be hours.
  expect(performance.now() - start).toBeLessThan(20_000)
})
