import fc from 'fast-check'
import { expect, test } from 'vitest'
import { computeDelta, MAX_CHANGES } from './delta.ts'

type Rows = Map<string, { id: string; value: number }>

const rowsOf = (values: readonly (readonly [number, number])[]): Rows =>
  new Map(values.map(([n, value]) => [`r${n}`, { id: `r${n}`, value }]))

test('a reader that applies the delta has the rows after the change', () => {
  const rows = fc.array(fc.tuple(fc.nat(30), fc.nat(2)), { maxLength: 40 }).map(rowsOf)
  fc.assert(
    fc.property(rows, rows, (before, after) => {
      const delta = computeDelta(before, after)
      const applied = new Map<string, object>(before)
      for (const id of delta?.removed ?? []) applied.delete(id)
      for (const row of delta?.upserted ?? []) applied.set(row.id, row)
      expect(Object.fromEntries(applied)).toEqual(Object.fromEntries(after))
      expect(delta?.total ?? before.size).toBe(after.size)
    }),
  )
})

test('equal rows have no delta', () => {
  expect(computeDelta(rowsOf([[1, 1]]), rowsOf([[1, 1]]))).toBeUndefined()
})

test('a large change is not listed: the reader reads the list again', () => {
  const many = Array.from({ length: MAX_CHANGES + 1 }, (_, i) => [i, 0] as const)
  expect(computeDelta(new Map(), rowsOf(many))).toEqual({ total: MAX_CHANGES + 1, reset: true })
  expect(computeDelta(new Map(), rowsOf(many.slice(1)))?.upserted).toHaveLength(MAX_CHANGES)
})
