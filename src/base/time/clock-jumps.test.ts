import { expect, test } from 'vitest'
import { onPresentClock } from './clock-jumps.ts'

const first = { to: 5_000, byMs: 3_000 }
const second = { to: 10_000, byMs: 1_000 }

test.each([
  { name: 'no jump', time: 1_000, jumps: [], want: 1_000 },
  { name: 'a time before a jump', time: 1_000, jumps: [first], want: 4_000 },
  { name: 'the last moment before a jump', time: 2_000, jumps: [first], want: 5_000 },
  { name: 'the first moment after a jump', time: 5_000, jumps: [first], want: 5_000 },
  { name: 'a time after a jump', time: 6_000, jumps: [first], want: 6_000 },
  { name: 'a time before two jumps', time: 1_000, jumps: [first, second], want: 5_000 },
  { name: 'a time between two jumps', time: 6_000, jumps: [first, second], want: 7_000 },
  { name: 'a time of another clock that did not jump', time: 3_000, jumps: [first], want: 6_000 },
])('$name: $time is $want on the present clock', ({ time, jumps, want }) => {
  expect(onPresentClock(time, jumps)).toBe(want)
})
