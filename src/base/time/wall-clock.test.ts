import { expect, test } from 'vitest'
import { TestClock } from './clock.fake.ts'
import { watchWallClock } from './wall-clock.ts'

const HOUR_MS = 3_600_000

function start() {
  const clock = new TestClock()
  const state = { offMs: 0 }
  const wall = watchWallClock(() => clock.epochMs() + state.offMs, clock)
  /** Sets the wall clock forward, or back. */
  const jump = (ms: number) => {
    state.offMs += ms
  }
  return { clock, wall, jump, epochMs: () => clock.epochMs() + state.offMs }
}

test('time that passes is no jump, nor is a slow correction of the clock', () => {
  const { clock, wall, jump } = start()
  for (let minute = 0; minute < 600; minute++) {
    clock.advance(60_000)
    jump(30)
  }

  expect(wall.jumps()).toEqual([])
})

test('a jump is noticed at once, with its size and the time after it', () => {
  const { clock, wall, jump, epochMs } = start()
  clock.advance(1234)
  jump(HOUR_MS)
  const to = epochMs()

  expect(wall.now()).toBe(to)
  clock.advance(HOUR_MS)
  expect(wall.jumps()).toEqual([{ to, byMs: HOUR_MS }])
})

test('a jump is noticed soon while nothing reads the clock', () => {
  const { clock, wall, jump, epochMs } = start()
  jump(HOUR_MS)
  const to = epochMs()
  clock.advance(HOUR_MS)

  const [found] = wall.jumps()
  expect(found?.byMs).toBe(HOUR_MS)
  expect(found?.to).toBeLessThanOrEqual(to + 5_000)
})

test('a clock that is set back ends the memory of its jumps', () => {
  const { wall, jump } = start()
  jump(HOUR_MS)
  expect(wall.jumps()).toHaveLength(1)
  jump(-HOUR_MS)

  expect(wall.jumps()).toEqual([])
})

test('the last 16 jumps are remembered', () => {
  const { wall, jump } = start()
  for (let count = 0; count < 20; count++) {
    jump(HOUR_MS + count)
    wall.now()
  }

  expect(wall.jumps().map(({ byMs }) => byMs - HOUR_MS)).toEqual(Array.from({ length: 16 }, (_, at) => at + 4))
})

test('a clock that is stopped sets no timer', () => {
  const { clock, wall } = start()
  wall.stop()

  expect(clock.waits).toEqual([])
})
