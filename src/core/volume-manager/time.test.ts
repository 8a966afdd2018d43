import { expect, test } from 'vitest'
import { fromTime, latestTime } from './time.ts'

test.each([
  { text: '1970-01-01T00:00:01Z', want: 1000 },
  { text: undefined, want: undefined },
  { text: '', want: undefined },
  { text: 'soon', want: undefined },
])('$text is parsed as $want', ({ text, want }) => {
  expect(fromTime(text)).toBe(want)
})

test.each([
  { times: [], want: undefined },
  { times: ['soon'], want: undefined },
  {
    times: ['2026-01-01T00:00:01Z', '2026-01-01T00:00:03Z', 'soon', '2026-01-01T00:00:02Z'],
    want: '2026-01-01T00:00:03Z',
  },
  { times: ['2026-01-01T01:00:00+01:00', '2026-01-01T00:30:00Z'], want: '2026-01-01T00:30:00Z' },
])('the latest of $times is $want', ({ times, want }) => {
  expect(latestTime(times)).toBe(want)
})
