/** Tests the division of objects into parts. */
import { expect, test } from 'vitest'
import { partAt, partCount, partsOfRequest, uploadPartSize } from './byte-ranges.ts'

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

const requestsOf = (indexes: readonly number[], parallel: number) => {
  const missing = indexes.map((index) => partAt(index, 1e6, 8))
  const requests: number[][] = []
  for (let from = 0; from < missing.length; from += requests.at(-1)?.length ?? 0) {
    requests.push(partsOfRequest(missing, from, parallel).map(({ index }) => index))
  }
  return requests
}
const range = (count: number) => Array.from({ length: count }, (_, i) => i)

test.each([
  { name: 'one part each when connections wait for parts', parts: 16, parallel: 16, want: Array(16).fill(1) },
  { name: 'fewer parts toward the end', parts: 16, parallel: 2, want: [4, 3, 2, 1, 1, 1, 1, 1, 1, 1] },
  { name: 'at most 8 parts', parts: 40, parallel: 1, want: [8, 8, 8, 8, 4, 2, 1, 1] },
])('requests have $name', ({ parts, parallel, want }) => {
  const requests = requestsOf(range(parts), parallel)
  expect(requests.map(({ length }) => length)).toEqual(want)
  expect(requests.flat()).toEqual(range(parts))
})

test('a request has no part that is there already', () => {
  expect(requestsOf([0, 1, 2, 5, 6, 7, 8, 9], 1)).toEqual([[0, 1, 2], [5, 6], [7], [8], [9]])
})
