import { expect, test } from 'vitest'
import { type RetryInput, retryDelayMs } from './retry.ts'

test.each<{ name: string; input: Partial<RetryInput>; want: number }>([
  { name: 'soon after the first failure', input: {}, want: 1000 },
  { name: 'later after each further one', input: { failures: 4 }, want: 8000 },
  { name: 'no later than a refresh, where an answer stands', input: { failures: 40 }, want: 300_000 },
  { name: 'within seconds, where nothing is known', input: { failures: 40, isLocated: false }, want: 3000 },
  {
    name: 'no later than a refresh, also there',
    input: { failures: 40, isLocated: false, refreshIntervalMs: 1000 },
    want: 1000,
  },
  { name: 'when the system itself said, also there', input: { isLocated: false, retryAfterMs: 20_000 }, want: 20_000 },
  { name: 'no later than a refresh, whatever it said', input: { retryAfterMs: 86_400_000 }, want: 300_000 },
])('a system that gave no answer is asked again $name', ({ input, want }) => {
  const some = { failures: 1, isLocated: true, refreshIntervalMs: 300_000, retryAfterMs: undefined }
  expect(retryDelayMs({ ...some, ...input })).toBe(want)
})
