import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs, equalJitter, fullJitter, spreadInterval } from './backoff.ts'

test.each([
  { name: 'doubles up to the last bound', bounds: { firstMs: 5, lastMs: 30 }, want: [5, 10, 20, 30, 30] },
  { name: 'grows by its multiplier', bounds: { firstMs: 1, lastMs: 50, multiplier: 10 }, want: [1, 10, 50, 50, 50] },
  { name: 'never exceeds the last bound', bounds: { firstMs: 60, lastMs: 10 }, want: [10, 10, 10, 10, 10] },
  { name: 'stays at 0', bounds: { firstMs: 0, lastMs: 10 }, want: [0, 0, 0, 0, 0] },
])('the delay $name', ({ bounds, want }) => {
  expect(want.map((_, index) => backoffMs(bounds, index + 1))).toEqual(want)
})

test('the delay is a number after any number of failures', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 100 }), fc.nat(), (firstMs, lastMs, multiplier, more) => {
      const delayMs = backoffMs({ firstMs, lastMs, multiplier }, more + 1)
      expect(delayMs).toBeGreaterThanOrEqual(0)
      expect(delayMs).toBeLessThanOrEqual(lastMs)
    }),
  )
})

test.each([
  { random: 0, wantFull: 0, wantEqual: 50, wantSpread: 80 },
  { random: 0.5, wantFull: 50, wantEqual: 75, wantSpread: 100 },
  { random: 0.75, wantFull: 75, wantEqual: 87.5, wantSpread: 110 },
])('jitter at $random', ({ random, wantFull, wantEqual, wantSpread }) => {
  expect(fullJitter(100, random)).toBe(wantFull)
  expect(equalJitter(100, random)).toBe(wantEqual)
  expect(spreadInterval(100, random)).toBeCloseTo(wantSpread)
})
