/** Tests the contract between a mover and its controller. */
import { expect, test } from 'vitest'
import { exitStatusOf, FAILURES } from './contract.ts'

test.each([
  { outcome: 'completed', want: 0 },
  { outcome: 'failed', retry: true, want: 1 },
  { outcome: 'failed', retry: false, want: 3 },
  { outcome: 'canceled', want: 4 },
] as const)('$outcome (retry: $retry) ends with $want', ({ want, ...ending }) => {
  expect(exitStatusOf(ending)).toBe(want)
})

test('every failure has a boolean for retry', () => {
  expect(Object.values(FAILURES).every(({ retry }) => typeof retry === 'boolean')).toBe(true)
})
