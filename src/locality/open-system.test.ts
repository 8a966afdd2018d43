/** Tests the retries of health checks: their number and delays. */
import { expect, test } from 'vitest'
import { SkippingClock, TestClock } from '../base/time/clock.fake.ts'
import { LocalityError, type LocalityErrorCode } from './locality.ts'
import { withRetries } from './open-system.ts'

const never = new AbortController().signal
const policy = { maxRetries: 4, initialBackoffMs: 100, maxBackoffMs: 500, backoffMultiplier: 2, timeoutMs: 1_000 }

/** Attempts that fail in this order, and then succeed. */
function failing(...errors: (LocalityErrorCode | { code: LocalityErrorCode; retryAfterMs: number })[]) {
  const attempts: number[] = []
  const attempt = async () => {
    attempts.push(attempts.length)
    const error = errors[attempts.length - 1]
    if (error === undefined) return 'healthy'
    const { code, ...options } = typeof error === 'string' ? { code: error } : error
    throw new LocalityError(code, 'no', options)
  }
  return { attempts, attempt }
}

test('delays grow up to the limit, and the last error is thrown', async () => {
  const clock = new SkippingClock()
  const { attempt, attempts } = failing(...Array.from({ length: 9 }, () => 'unavailable' as const))
  await expect(withRetries(policy, clock, never, attempt)).rejects.toMatchObject({ code: 'unavailable' })
  expect(clock.skipped).toEqual([75, 150, 300, 375])
  expect(attempts).toHaveLength(5)
})

test('Retry-After is honored, unless it is longer than the longest back-off', async () => {
  const clock = new SkippingClock()
  const { attempt } = failing({ code: 'throttled', retryAfterMs: 450 }, { code: 'throttled', retryAfterMs: 501 })
  await expect(withRetries(policy, clock, never, attempt)).rejects.toMatchObject({ retryAfterMs: 501 })
  expect(clock.skipped).toEqual([450])
})

test('a timeout and a lost connection are retried', async () => {
  const { attempt } = failing('timeout', 'unreachable')
  expect(await withRetries(policy, new SkippingClock(), never, attempt)).toBe('healthy')
})

test.each<LocalityErrorCode>(['rejected', 'unauthorized', 'invalidResponse'])('%s is not retried', async (code) => {
  const { attempt, attempts } = failing(code)
  await expect(withRetries(policy, new SkippingClock(), never, attempt)).rejects.toMatchObject({ code })
  expect(attempts).toHaveLength(1)
})

test('an abort during a delay ends the retries with its reason', async () => {
  const clock = new TestClock()
  const aborter = new AbortController()
  const { attempt, attempts } = failing('unavailable', 'unavailable')
  const end = withRetries(policy, clock, aborter.signal, attempt)
  const ended = expect(end).rejects.toThrow('stopped')
  await expect.poll(() => clock.waits.length).toBe(1)
  aborter.abort(new Error('stopped'))
  await ended
  expect(attempts).toHaveLength(1)
})
