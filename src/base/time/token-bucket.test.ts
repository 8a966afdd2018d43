import { describe, expect, test } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

describe('a token bucket', () => {
  test('allows a burst, then its rate, and never more than a burst after a pause', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 }, 1000)
    const takeAt = (...times: number[]) => times.map((time) => bucket.take(time))
    expect(takeAt(1000, 1000, 1000)).toEqual([0, 0, 100])
    expect(takeAt(1050, 1100, 1100)).toEqual([50, 0, 100])
    expect(takeAt(99_000, 99_000, 99_000)).toEqual([0, 0, 100])
  })

  test('neither gains nor loses tokens if the clock is set back', () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, 10_000)
    expect([bucket.take(10_000), bucket.take(5000), bucket.take(6000)]).toEqual([0, 1000, 0])
  })

  test.each([
    { rate: { perSecond: 0, burst: 1 }, message: 'perSecond: must be above 0, is 0' },
    { rate: { perSecond: 1, burst: 0.5 }, message: 'burst: must be at least 1, is 0.5' },
  ])('$message', ({ rate, message }) => {
    expect(() => new TokenBucket(rate, 0)).toThrow(message)
  })
})
