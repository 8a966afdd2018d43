/** Tests amounts of bytes, and counts. */
import { expect, test } from 'vitest'
import { formatBytes, formatCount, formatSize, parseBytes, parseSize } from './quantity.ts'

test.each([
  { text: '0', want: 0 },
  { text: '4096', want: 4096 },
  { text: '8Mi', want: 8 * 1024 * 1024 },
  { text: '1Ti', want: 2 ** 40 },
  { text: '8M', want: undefined },
  { text: '-1', want: undefined },
  { text: '1.5Gi', want: undefined },
  { text: '', want: undefined },
  { text: '99999999Ti', want: undefined },
])('parses $text', ({ text, want }) => {
  expect(parseBytes(text)).toBe(want)
})

test.each([
  { text: '0', want: 0 },
  { text: '9007199254740991', want: Number.MAX_SAFE_INTEGER },
  { text: '9007199254740992', want: undefined },
  { text: '00000000000000001', want: undefined },
  { text: '1e3', want: undefined },
  { text: '-1', want: undefined },
  { text: '', want: undefined },
  { text: undefined, want: undefined },
])('parses the size $text', ({ text, want }) => {
  expect(parseSize(text)).toBe(want)
})

test.each([
  { bytes: 0, want: '0 B' },
  { bytes: 1023, want: '1023 B' },
  { bytes: 1024, want: '1.0 KiB' },
  { bytes: 5 * 2 ** 30, want: '5.0 GiB' },
  { bytes: 3 * 2 ** 50, want: '3.0 PiB' },
])('formats $want', ({ bytes, want }) => {
  expect(formatBytes(bytes)).toBe(want)
})

test.each([
  { isMinimum: true, want: 'at least 1.0 KiB' },
  { isMinimum: false, want: '1.0 KiB' },
  { isMinimum: undefined, want: '1.0 KiB' },
])('formats $want', ({ isMinimum, want }) => {
  expect(formatSize(1024, isMinimum)).toBe(want)
})

test.each([
  { count: 0, want: '0 objects' },
  { count: 1, want: '1 object' },
  { count: 2, want: '2 objects' },
])('formats $want', ({ count, want }) => {
  expect(formatCount(count, 'object')).toBe(want)
})
