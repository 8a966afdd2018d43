import { expect, test } from 'vitest'
import { planRetry, type RetryInput } from './retry.ts'

const policy = {
  maxRetries: 3,
  initialBackoffMs: 1_000,
  maxBackoffMs: 30_000,
  backoffMultiplier: 2,
  timeoutMs: 10_000,
}
const some: RetryInput = {
  policy,
  failures: 1,
  isTransient: true,
  isAwaited: false,
  refreshIntervalMs: 300_000,
  retryAfterMs: undefined,
  spread: 0,
}

test.each<{ name: string; input: Partial<RetryInput>; want: number }>([
  { name: 'after at least half of the first back-off', input: {}, want: 500 },
  { name: 'before the end of the first back-off', input: { spread: 0.98 }, want: 990 },
  { name: 'later after each failure', input: { failures: 3 }, want: 2_000 },
  {
    name: 'not later than the maximum back-off',
    input: { failures: 18, policy: { ...policy, maxRetries: 20 } },
    want: 15_000,
  },
  { name: 'after the pause that the system requested', input: { retryAfterMs: 20_000 }, want: 20_000 },
])('a retry of the policy follows $name', ({ input, want }) => {
  expect(planRetry({ ...some, ...input })).toEqual({ delayMs: want, isSilent: true })
})

const late: RetryInput = { ...some, policy: { ...policy, maxRetries: 0 } }

test.each<{ name: string; input: Partial<RetryInput>; want: number }>([
  { name: 'soon', input: {}, want: 1_000 },
  { name: 'later after each further failure', input: { failures: 4 }, want: 8_000 },
  { name: 'counted from the end of the retries', input: { policy, failures: 4 }, want: 1_000 },
  {
    name: 'immediately, if the error does not disappear by itself',
    input: { policy, isTransient: false },
    want: 1_000,
  },
  { name: 'within the refresh interval, if there is an earlier answer', input: { failures: 40 }, want: 300_000 },
  { name: 'within seconds, if there is no earlier answer', input: { failures: 40, isAwaited: true }, want: 3_000 },
  {
    name: 'within the refresh interval, if there is no earlier answer',
    input: { failures: 40, isAwaited: true, refreshIntervalMs: 1_000 },
    want: 1_000,
  },
  {
    name: 'after the pause that the system requested',
    input: { isAwaited: true, retryAfterMs: 20_000 },
    want: 20_000,
  },
  {
    name: 'after a pause that is longer than the maximum back-off',
    input: { policy, retryAfterMs: 31_000 },
    want: 31_000,
  },
  { name: 'after a second, if the system requested none', input: { isAwaited: true, retryAfterMs: 0 }, want: 1_000 },
  {
    name: 'later after each failure, if the system requested none',
    input: { failures: 4, retryAfterMs: 0 },
    want: 8_000,
  },
  {
    name: 'within the refresh interval, even if the system requested a longer pause',
    input: { retryAfterMs: 86_400_000 },
    want: 300_000,
  },
])('after a reported failure, the next query follows $name', ({ input, want }) => {
  expect(planRetry({ ...late, ...input })).toEqual({ delayMs: want, isSilent: false })
})
