import { expect, test } from 'vitest'
import { RepeatLimit } from './repeat-limit.ts'

const MINUTE = 60_000

/** Returns the minutes at which a cause is reported, given the minutes at which it occurs. */
function reportedAt(minutes: readonly number[]): number[] {
  const limit = new RepeatLimit()
  return minutes.filter((minute) => limit.take('namespace "shop" does not exist', minute * MINUTE))
}

test.each([
  { name: 'once', minutes: [0, 0.1, 0.5, 0.9], want: [0] },
  { name: 'again after 1, 2 and 4 minutes', minutes: [0, 0.5, 1, 1.5, 2, 3, 5, 6, 7], want: [0, 1, 3, 7] },
  {
    name: 'at most once per hour',
    minutes: Array.from({ length: 400 }, (_, minute) => minute),
    want: [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363],
  },
  { name: 'after the clock was set back', minutes: [100, 40, 40.5], want: [100, 40] },
  { name: 'as new after a long absence', minutes: [0, 1, 3, 90, 90.5, 91], want: [0, 1, 3, 90, 91] },
])('a cause is reported $name', ({ minutes, want }) => {
  expect(reportedAt(minutes)).toEqual(want)
})

test('causes are reported independently of each other', () => {
  const limit = new RepeatLimit()
  expect(['a', 'b', 'a', 'b'].map((cause) => limit.take(cause, 0))).toEqual([true, true, false, false])
})
