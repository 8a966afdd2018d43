import { describe, expect, test } from 'vitest'
import type { Condition } from '../api/meta.ts'
import { condition, isTrue, withConditions } from './conditions.ts'

const NOW = Date.parse('2026-01-02T03:04:05Z')
const before: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'A',
  message: 'a',
  lastTransitionTime: '2025-01-01T00:00:00Z',
}

test('a condition is True or False', () => {
  expect(condition('Ready', true, 'A', 'a')).toEqual({ type: 'Ready', status: 'True', reason: 'A', message: 'a' })
  expect(condition('Ready', false, 'A', 'a').status).toBe('False')
})

test.each([
  { name: 'with status True', conditions: [before], want: true },
  { name: 'with status False', conditions: [{ ...before, status: 'False' as const }], want: false },
  { name: 'of another type', conditions: [{ ...before, type: 'Stale' }], want: false },
  { name: 'that is absent', conditions: undefined, want: false },
])('a condition $name is true: $want', ({ conditions, want }) => {
  expect(isTrue(conditions, 'Ready')).toBe(want)
})

describe('new conditions', () => {
  test('keep the transition time while the status stays', () => {
    const state = condition('Ready', true, 'B', 'b')
    expect(withConditions([before], [state], 7, NOW)).toEqual([
      { ...state, lastTransitionTime: before.lastTransitionTime, observedGeneration: 7 },
    ])
  })

  test('have a new transition time if the status changes', () => {
    const [changed] = withConditions([before], [condition('Ready', false, 'B', 'b')], undefined, NOW)
    expect(changed).toEqual({ ...condition('Ready', false, 'B', 'b'), lastTransitionTime: new Date(NOW).toISOString() })
  })

  test('keep those of other types, sorted by type', () => {
    const added = withConditions([before], [condition('Bound', true, 'C', 'c')], undefined, NOW)
    expect(added.map(({ type }) => type)).toEqual(['Bound', 'Ready'])
    expect(added[1]).toBe(before)
  })

  test('remove a temporary type that does not hold any more', () => {
    const stalled = condition('Stalled', true, 'C', 'c')
    const held = withConditions([before], [stalled], undefined, NOW, ['Stalled'])
    expect(held.map(({ type }) => type)).toEqual(['Ready', 'Stalled'])
    expect(withConditions(held, [], undefined, NOW, ['Stalled'])).toEqual([before])
  })
})
