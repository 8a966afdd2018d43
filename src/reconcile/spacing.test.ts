import { describe, expect, test } from 'vitest'
import { NOW } from '../../test/builders.ts'
import { Spacing } from './spacing.ts'

describe('after a run, a key rests', () => {
  test.each([
    { objects: 1, restMs: 0 },
    { objects: 199, restMs: 0 },
    { objects: 1000, restMs: 100 },
    { objects: 100_000, restMs: 1000 },
  ])('for $restMs ms, if the run concerned $objects objects', ({ objects, restMs }) => {
    const spacing = new Spacing()
    spacing.ran('a', objects, NOW)

    expect([spacing.waitMs('a', NOW), spacing.waitMs('a', NOW + restMs), spacing.waitMs('b', NOW)]).toEqual([
      restMs,
      0,
      0,
    ])
  })

  test('no more after a run for few objects, or after the clock was set back', () => {
    const spacing = new Spacing()
    spacing.ran('a', 10_000, NOW)
    spacing.ran('b', 10_000, NOW)
    spacing.ran('b', 1, NOW)

    expect([spacing.waitMs('a', NOW - 1), spacing.waitMs('b', NOW)]).toEqual([0, 0])
  })
})
