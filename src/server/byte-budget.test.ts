import { describe, expect, test } from 'vitest'
import { openByteBudget } from './byte-budget.ts'

let clock = 0
const open = (limit: number) => {
  const given: string[] = []
  const budget = openByteBudget(limit, () => clock)
  return { budget, given, hold: (name: string) => budget.open(() => given.push(name)) }
}

describe('above the budget', () => {
  test('the largest of equally old holdings is dropped', () => {
    const { budget, given, hold } = open(100)
    const [small, large] = [hold('small'), hold('large')]
    small.grow(20)
    large.grow(70)

    expect(hold('new').grow(15)).toBe(true)

    expect(given).toEqual(['large'])
    expect(budget.used()).toBe(35)
  })

  test('many small slow senders are dropped before a large quick one', () => {
    const { given, hold } = open(1000)
    for (let i = 0; i < 9; i++) hold(`slow ${i}`).grow(100)
    clock += 5000
    const quick = hold('quick')

    expect([300, 300].every((bytes) => quick.grow(bytes))).toBe(true)

    expect(given).toEqual(['slow 0', 'slow 1', 'slow 2', 'slow 3', 'slow 4'])
  })

  test('the growing holding is dropped if none costs more, and no longer counts', () => {
    const { budget, given, hold } = open(100)
    const greedy = hold('greedy')

    expect(greedy.grow(101)).toBe(false)
    expect(greedy.grow(1)).toBe(false)

    expect(given).toEqual(['greedy'])
    expect(budget.used()).toBe(0)
  })
})

test('released bytes are subtracted only once', () => {
  const { budget, hold } = open(100)
  const [one, other] = [hold('one'), hold('other')]
  one.grow(40)
  other.grow(50)

  one.release()
  one.release()

  expect(budget.used()).toBe(50)
})
