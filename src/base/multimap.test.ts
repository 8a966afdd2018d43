import { expect, test } from 'vitest'
import { addTo } from './multimap.ts'

test('a key keeps its values in the order in which they came', () => {
  const map = new Map<string, number[]>()
  for (const [key, value] of [['a', 1] as const, ['b', 2] as const, ['a', 3] as const]) addTo(map, key, value)
  expect([...map]).toEqual([
    ['a', [1, 3]],
    ['b', [2]],
  ])
})
