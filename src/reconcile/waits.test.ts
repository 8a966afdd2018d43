import { expect, test } from 'vitest'
import { Waits } from './waits.ts'

test('a wait is measured from the first call, for each key', () => {
  const waits = new Waits()

  expect([waits.waitedMs('a', { now: 1000 }), waits.waitedMs('b', { now: 1500 })]).toEqual([0, 0])
  expect([waits.waitedMs('a', { now: 2000 }), waits.waitedMs('b', { now: 2000 })]).toEqual([1000, 500])
})

test('a wait begins again after its end', () => {
  const waits = new Waits()
  waits.waitedMs('a', { now: 1000 })

  waits.end('a')

  expect([waits.waitedMs('a', { now: 5000 }), waits.waitedMs('a', { now: 6000 })]).toEqual([0, 1000])
})

test('a jump of the clock is not waited time', () => {
  const waits = new Waits()
  waits.waitedMs('a', { now: 1000 })

  expect(waits.waitedMs('a', { now: 9000, jumps: [{ to: 8500, byMs: 7000 }] })).toBe(1000)
})

test('a clock that was set back does not extend a wait', () => {
  const waits = new Waits()
  waits.waitedMs('a', { now: 10_000 })
  waits.waitedMs('a', { now: 1000 })

  expect(waits.waitedMs('a', { now: 3000 })).toBe(2000)
})
