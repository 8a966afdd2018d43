import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Backoff } from './backoff-timer.ts'
import { TestClock } from './clock.fake.ts'

describe('a backoff', () => {
  test('doubles its bound from 0.8 s and stays at 30 s', () => {
    const clock = new TestClock()
    clock.chance = 0.999999
    const backoff = new Backoff(clock)
    const delays = Array.from({ length: 8 }, () => backoff.nextDelayMs())
    expect(delays).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  })

  test('returns a random part of its bound, so that clients spread out', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.integer({ min: 0, max: 3000 }),
        (chance, failures) => {
          const clock = new TestClock()
          clock.chance = chance
          const backoff = new Backoff(clock)
          for (let failure = 0; failure < failures; failure++) backoff.nextDelayMs()
          expect(backoff.nextDelayMs()).toBe(Math.round(chance * Math.min(30_000, 800 * 2 ** Math.min(failures, 20))))
        },
      ),
      { numRuns: 50 },
    )
  })

  test('starts over after a long connection, and continues after a short one', () => {
    const backoff = new Backoff(new TestClock())
    backoff.nextDelayMs()
    backoff.lived(9999)
    expect(backoff.nextDelayMs()).toBe(800)
    backoff.lived(10_000)
    expect(backoff.nextDelayMs()).toBe(400)
  })
})
