import { expect, test } from 'vitest'
import { toTime } from './timestamp.ts'

test.each([
  { ms: 0, want: '1970-01-01T00:00:00Z' },
  { ms: 1999, want: '1970-01-01T00:00:01Z' },
])('$ms ms is formatted as $want, to the second', ({ ms, want }) => {
  expect(toTime(ms)).toBe(want)
})
