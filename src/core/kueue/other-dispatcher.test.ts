/** Tests when another dispatcher counts as the one that nominates. */
import { expect, test } from 'vitest'
import { isOverruled, type NominationMemory, rememberChange } from './other-dispatcher.ts'

const SINCE = '2026-01-02T03:00:00Z'

/** The memory of a loop that writes `w2` each time, and finds these nominations before its writes. */
function after(found: readonly (readonly string[])[], since = SINCE): NominationMemory | undefined {
  let memory: NominationMemory | undefined
  for (const nominated of found) memory = { ...rememberChange(memory, since, nominated), written: ['w2'] }
  return memory
}

test.each([
  { name: 'nothing was nominated before', found: [[]], overruled: false },
  { name: 'its own nomination stays', found: [[], ['w2'], ['w2'], ['w2'], ['w2']], overruled: false },
  { name: 'Kueue removes it again and again', found: [[], [], [], [], []], overruled: false },
  { name: 'it was changed twice', found: [[], ['w1'], ['w1', 'w2']], overruled: false },
  { name: 'it was changed three times', found: [[], ['w1'], ['w1', 'w2'], ['w1']], overruled: true },
])('$name: overruled is $overruled', ({ found, overruled }) => {
  const memory = after(found)
  expect(memory && isOverruled(memory)).toBe(overruled)
})

test('a new reservation of quota begins anew', () => {
  const memory = after([[], ['w1'], ['w1'], ['w1']])
  expect(memory && isOverruled(memory)).toBe(true)
  const next = rememberChange(memory, '2026-01-02T04:00:00Z', ['w1'])
  expect(next).toEqual({ since: '2026-01-02T04:00:00Z', written: ['w1'], changes: 0 })
})
