import { expect, test } from 'vitest'
import { makeClaim, NOW } from '../../../test/builders.ts'
import { counts, LEAVE_MS } from './honored.ts'

test('a claim that nobody deletes has a say', () => {
  expect(counts(makeClaim(), NOW)).toBe(true)
})

test.each([
  { name: 'was deleted just now', deletedMs: 0, has: true },
  { name: 'was deleted nearly a leave ago', deletedMs: -LEAVE_MS + 1, has: true },
  { name: 'was deleted a leave ago', deletedMs: -LEAVE_MS, has: false },
  { name: 'is deleted in the near future of a clock that is behind', deletedMs: LEAVE_MS, has: true },
  { name: 'is deleted in a future that no clock can mean', deletedMs: LEAVE_MS + 1, has: false },
])('a claim that $name: $has', ({ deletedMs, has }) => {
  const claim = makeClaim({}, { deletionTimestamp: new Date(NOW + deletedMs).toISOString() })

  expect(counts(claim, NOW)).toBe(has)
})
