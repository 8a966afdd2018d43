/** Tests the division of objects into parts. */
import { expect, test } from 'vitest'
import { partAt, partCount, uploadPartSize } from './parts.ts'

test.each([
  { size: 1, want: [[0, 1]] },
  { size: 8, want: [[0, 8]] },
  {
    size: 9,
    want: [
      [0, 8],
      [8, 9],
    ],
  },
  {
    size: 24,
    want: [
      [0, 8],
      [8, 16],
      [16, 24],
    ],
  },
])('$size bytes in parts of 8', ({ size, want }) => {
  const parts = Array.from({ length: partCount(size, 8) }, (_, i) => partAt(i, size, 8))
  expect(parts.map(({ start, end }) => [start, end])).toEqual(want)
})

test.each([
  { size: 100, want: 8 },
  { size: 80_000, want: 8 },
  { size: 80_001, want: 9 },
])('an upload of $size bytes has at most 10,000 parts', ({ size, want }) => {
  expect(uploadPartSize(size, 8)).toBe(want)
  expect(partCount(size, want)).toBeLessThanOrEqual(10_000)
})
