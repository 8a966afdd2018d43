/** Tests durations in Go's notation, and ages. */
import { expect, test } from 'vitest'
import { formatAge, parseDuration } from './duration.ts'

test.each([
  { text: '1s', want: 1000 },
  { text: '500ms', want: 500 },
  { text: '1m30s', want: 90_000 },
  { text: '1.5h', want: 5_400_000 },
  { text: '1h1m1s1ms', want: 3_661_001 },
  { text: '250us', want: 0.25 },
  { text: '250\u00b5s', want: 0.25 },
  { text: '250\u03bcs', want: 0.25 },
  { text: '.5s', want: 500 },
  { text: '5.s', want: 5000 },
  { text: '+1s', want: 1000 },
  { text: '0', want: 0 },
  { text: '+0', want: 0 },
  { text: '.s', want: undefined },
  { text: '1.2.3s', want: undefined },
  { text: '0s', want: 0 },
  { text: '', want: undefined },
  { text: '5', want: undefined },
  { text: '5 s', want: undefined },
  { text: '-1s', want: undefined },
  { text: '1d', want: undefined },
  { text: 's', want: undefined },
])('$text: $want', ({ text, want }) => {
  expect(parseDuration(text)).toBe(want)
})

test.each([
  [0, '0 s'],
  [-5_000, '0 s'],
  [119_000, '119 s'],
  [120_000, '2 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 days'],
  [Number.NaN, '?'],
])('%s ms are %s', (ms, want) => {
  expect(formatAge(ms)).toBe(want)
})
