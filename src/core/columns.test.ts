import { expect, test } from 'vitest'
import { namesColumn, sizeColumn } from './columns.ts'

test.each([
  { bytes: 0, want: '0' },
  { bytes: 1023, want: '1023' },
  { bytes: 1024, want: '1.0Ki' },
  { bytes: 5368709120, want: '5.0Gi' },
  { bytes: 5368709120, isMinimum: true, want: '>=5.0Gi' },
])('$bytes bytes are $want', ({ bytes, isMinimum, want }) => {
  expect(sizeColumn(bytes, isMinimum)).toBe(want)
})

test('names are separated by commas, and cut after eight', () => {
  const names = Array.from({ length: 9 }, (_, i) => `m${i}`)
  expect([[], ['member1', 'member2'], names.slice(0, 8), names].map(namesColumn)).toEqual([
    '',
    'member1,member2',
    'm0,m1,m2,m3,m4,m5,m6,m7',
    'm0,m1,m2,m3,m4,m5,m6,m7,…',
  ])
})
