import { describe, expect, test } from 'vitest'
import { settle, TestClock } from '../../base/time/clock.fake.ts'
import { WriteLimit, type WriteLimitOptions } from './write-limit.ts'

/** Requests `count` writes at once. The result lists the writes that were allowed or rejected, in order. */
function ask(limit: WriteLimit, count: number): string[] {
  const done: string[] = []
  for (let i = 0; i < count; i++) {
    limit.take().then(
      () => done.push(`${i}`),
      (error: Error) => done.push(`${i}: ${error.message}`),
    )
  }
  return done
}

function build(options?: WriteLimitOptions): { clock: TestClock; limit: WriteLimit } {
  const clock = new TestClock()
  return { clock, limit: new WriteLimit(clock, options) }
}

describe('the write limit', () => {
  test('allows a burst at once, and the rest at its rate, in order', async () => {
    const { clock, limit } = build({ writesPerSecond: 10, burst: 3 })
    const done = ask(limit, 6)
    await settle(1)
    expect(done).toEqual(['0', '1', '2'])
    expect(clock.waits).toEqual([100])
    clock.advance(99)
    await settle(1)
    expect(done).toHaveLength(3)
    clock.advance(1)
    await settle(1)
    expect(done).toHaveLength(4)
    clock.advance(200)
    await settle(1)
    expect(done).toEqual(['0', '1', '2', '3', '4', '5'])
    expect(clock.waits).toEqual([])
  })

  test('allows 100 writes at once and then 50 per second by default', async () => {
    const { clock, limit } = build()
    const done = ask(limit, 1000)
    await settle(1)
    expect(done).toHaveLength(100)
    clock.advance(10_000)
    await settle(1)
    expect(done).toHaveLength(600)
  })

  test('allows no more than the burst after a long pause', async () => {
    const { clock, limit } = build({ writesPerSecond: 10, burst: 3 })
    ask(limit, 3)
    clock.advance(3_600_000)
    const done = ask(limit, 9)
    await settle(1)
    expect(done).toHaveLength(3)
  })

  test('keeps the order of writes', async () => {
    const { clock, limit } = build({ writesPerSecond: 10, burst: 1 })
    const first = ask(limit, 3)
    clock.advance(100)
    const second = ask(limit, 1)
    await settle(1)
    expect([first, second]).toEqual([['0', '1'], []])
    clock.advance(100)
    await settle(1)
    expect([first, second]).toEqual([['0', '1', '2'], []])
    clock.advance(100)
    await settle(1)
    expect(second).toEqual(['0'])
  })

  test('rejects waiting and later writes after a stop', async () => {
    const { clock, limit } = build({ writesPerSecond: 10, burst: 1 })
    const done = ask(limit, 3)
    limit.stop()
    await settle(1)
    expect(done).toEqual(['0', '1: the store was stopped', '2: the store was stopped'])
    expect(clock.waits).toEqual([])
    await expect(limit.take()).rejects.toThrow('the store was stopped')
  })

  test.each([{ writesPerSecond: 0 }, { writesPerSecond: Number.NaN }, { burst: 0.5 }])('rejects %o', (options) => {
    expect(() => build(options)).toThrow('must be')
  })
})
