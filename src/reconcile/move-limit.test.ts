import { describe, expect, test } from 'vitest'
import { MoveLimit } from './move-limit.ts'

/** A limit of one move per second and two at once, with a clock of its own. Both first moves are taken. */
function openLimit() {
  const clock = { now: 0 }
  const limit = new MoveLimit({ perSecond: 1, burst: 2 }, () => clock.now)
  limit.take('used/1')
  limit.take('used/2')
  return { clock, limit, take: (...keys: string[]) => keys.map((key) => limit.take(key)) }
}

describe('a limit of moves', () => {
  test('tells each waiting move its time, in the order of their requests', () => {
    const { clock, take } = openLimit()
    expect(take('a/1', 'a/2', 'a/3')).toEqual([1000, 2000, 3000])
    expect(take('a/3', 'a/2')).toEqual([3000, 2000])
    clock.now = 1000
    expect(take('a/3', 'a/2', 'a/1', 'a/2')).toEqual([2000, 1000, 0, 1000])
  })

  test('gives namespaces turns, so that many moves of one delay another by one move', () => {
    const { clock, take } = openLimit()
    take('a/1', 'a/2', 'a/3', 'a/4')
    expect(take('b/1', 'b/2')).toEqual([2000, 4000])
    clock.now = 1000
    expect(take('a/2', 'b/1', 'a/1')).toEqual([2000, 1000, 0])
    clock.now = 2000
    expect(take('a/2', 'a/3', 'b/1', 'a/2')).toEqual([1000, 3000, 0, 1000])
  })

  test('counts the objects of the cluster as one namespace', () => {
    const { take } = openLimit()
    take('a/1', 'a/2')
    expect(take('cluster-1', 'cluster-2', 'b/1')).toEqual([2000, 4000, 3000])
  })

  test('gives the place of a withdrawn move to the next one', () => {
    const { limit, take } = openLimit()
    take('a/1', 'b/1', 'a/2')
    limit.withdraw('a/1')
    limit.withdraw('b/1')
    limit.withdraw('unknown/1')
    expect(take('a/2', 'c/1')).toEqual([1000, 2000])
  })

  test('lets a move ask again after a minute, since those before it may be withdrawn', () => {
    const { limit, take } = openLimit()
    const keys = Array.from({ length: 100 }, (_, i) => `a/${i}`)
    expect(take(...keys).at(-1)).toBe(60_000)
    for (const key of keys.slice(0, -1)) limit.withdraw(key)
    expect(take('a/99')).toEqual([1000])
  })

  test('uses what was saved when the first moves do not come back', () => {
    const { clock, take } = openLimit()
    take('a/1', 'a/2')
    clock.now = 2000
    expect(take('a/2')).toEqual([0])
  })

  test('forgets moves that do not come back, so that no namespace waits forever', () => {
    const { clock, take } = openLimit()
    take(...Array.from({ length: 50 }, (_, i) => `a/${i}`), ...Array.from({ length: 50 }, (_, i) => `n${i}/1`))
    clock.now = 60_000
    expect(take('a/50', 'b/1').every((ms) => ms > 0)).toBe(true)
    clock.now = 120_000
    expect(take('a/50', 'b/1')).toEqual([0, 0])
  })
})
