import { expect, test } from 'vitest'
import { createInterner } from './intern.ts'

test('equal values are shared, and different values are not', () => {
  const interner = createInterner()
  const first = interner.json({ clusterNames: ['a', 'b'] })
  expect(interner.json({ clusterNames: ['a', 'b'] })).toBe(first)
  expect(interner.json({ clusterNames: ['b', 'a'] })).not.toBe(first)
  expect(interner.json(undefined)).toBeUndefined()
  expect(interner.json(null)).toBeNull()
  expect(interner.json(7)).toBe(7)
  expect(interner.json('text')).toBe('text')
  expect(interner.string('text')).toBe('text')
})

test('a value that is used again and again stays, and unused values are dropped', () => {
  const interner = createInterner(10)
  const hot = interner.json({ cluster: 'member-1' })
  const cold = interner.json({ cluster: 'member-2' })
  for (let number = 0; number < 1000; number++) {
    interner.json({ number })
    expect(interner.json({ cluster: 'member-1' })).toBe(hot)
  }
  expect(interner.json({ cluster: 'member-2' })).not.toBe(cold)
})
