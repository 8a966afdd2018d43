import { expect, test } from 'vitest'
import { makeClaim, NOW } from '../../../test/builders.ts'
import { HONOR_MS, isHonored } from './honored.ts'

test('a claim that is not being deleted is honored', () => {
  expect(isHonored(makeClaim(), NOW)).toBe(true)
})

test.each([
  { name: 'was deleted just now', deletedMs: 0, has: true },
  { name: 'was deleted nearly 5 s ago', deletedMs: -HONOR_MS + 1, has: true },
  { name: 'was deleted 5 s ago', deletedMs: -HONOR_MS, has: false },
  { name: 'has a deletion time up to 5 s in the future, because our clock is behind', deletedMs: HONOR_MS, has: true },
  { name: 'has a deletion time more than 5 s in the future', deletedMs: HONOR_MS + 1, has: false },
])('a claim that $name: $has', ({ deletedMs, has }) => {
  const claim = makeClaim({}, { deletionTimestamp: new Date(NOW + deletedMs).toISOString() })

  expect(isHonored(claim, NOW)).toBe(has)
})
