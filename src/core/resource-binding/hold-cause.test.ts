import { describe, expect, test } from 'vitest'
import { located, nowhere as nowhereClaim, unknown } from '../../../test/builders.ts'
import { describeUnlocated, holdMessage, nowhere, unresolved, unsatisfiable, whereIs } from './hold-cause.ts'

describe('an unresolved claim', () => {
  const cause = { reason: 'Unresolved', message: 'default/sales: no DataSource yet', hold: true }
  test.each([
    { name: 'that holds', claims: [unknown()], want: [{ ...cause, timeoutSeconds: undefined }] },
    {
      name: 'that holds with a timeout',
      claims: [unknown({ holdTimeoutSeconds: 30 })],
      want: [{ ...cause, timeoutSeconds: 30 }],
    },
    { name: 'that does not hold is no cause', claims: [unknown({ onUnresolved: 'Ignore' })], want: [] },
    { name: 'that is preferred is no cause', claims: [unknown({ enforcement: 'Preferred' })], want: [] },
    { name: 'is neither located nor nowhere', claims: [located(['m1']), nowhereClaim()], want: [] },
  ])('$name', ({ claims, want }) => {
    expect(unresolved(claims)).toEqual(want)
  })
})

describe('a claim for data that does not exist', () => {
  const cause = {
    reason: 'Unsatisfiable',
    message: 'default/sales: DataSource sales is Unavailable',
    timeoutSeconds: undefined,
  }
  test.each([
    { name: 'holds', claims: [nowhereClaim()], want: [{ ...cause, hold: true }] },
    {
      name: 'does not hold if it allows to continue',
      claims: [nowhereClaim({ onUnsatisfiable: 'Ignore' })],
      want: [{ ...cause, hold: false }],
    },
    { name: 'is no cause if it is Preferred', claims: [nowhereClaim({ enforcement: 'Preferred' })], want: [] },
    { name: 'is neither located nor unknown', claims: [located(['m1']), unknown()], want: [] },
  ])('$name', ({ claims, want }) => {
    expect(nowhere(claims)).toEqual(want)
  })
})

describe('claims that no cluster satisfies', () => {
  const a = located(['m1', 'm2', 'm3', 'm4'], { claim: 'default/a', holdTimeoutSeconds: 60 })
  const b = located(['m5'], { claim: 'default/b', holdTimeoutSeconds: 20 })

  test('are all in the message, with three clusters at most and the shortest timeout', () => {
    expect(unsatisfiable([a, b], 'no cluster holds all of the data')).toEqual({
      reason: 'Unsatisfiable',
      message: 'default/a (m1, m2, m3 and 1 more) and default/b (m5): no cluster holds all of the data',
      hold: true,
      timeoutSeconds: 20,
    })
  })

  test('are in the message with all of their clusters if there are three', () => {
    expect(unsatisfiable([located(['m1', 'm2', 'm3'])], 'why').message).toBe('default/sales (m1, m2, m3): why')
  })

  test('hold if one of the required claims holds', () => {
    const ignoring = { ...b, onUnsatisfiable: 'Ignore' as const }
    expect(unsatisfiable([a, ignoring], 'why')).toMatchObject({ hold: true, timeoutSeconds: 60 })
    expect(unsatisfiable([ignoring], 'why')).toMatchObject({ hold: false, timeoutSeconds: undefined })
  })

  test('include only required and located ones', () => {
    const preferred = { ...a, enforcement: 'Preferred' as const }
    expect(unsatisfiable([preferred, unknown(), b], 'why').message).toBe('default/b (m5): why')
  })

  test('have a message of at most 1,024 characters', () => {
    expect(unsatisfiable([b], 'x'.repeat(5000)).message).toHaveLength(1024)
  })
})

describe('messages', () => {
  test.each([
    { claim: located(['m1', 'm2']), want: 'default/sales is in m1, m2' },
    { claim: located(['m1', 'm2', 'm3', 'm4', 'm5']), want: 'default/sales is in m1, m2, m3, m4, m5' },
    { claim: located(['m1', 'm2', 'm3', 'm4', 'm5', 'm6']), want: 'default/sales is in m1, m2, m3, m4, m5 and 1 more' },
    { claim: unknown(), want: 'default/sales is unknown: no DataSource yet' },
    { claim: nowhereClaim(), want: 'default/sales is nowhere: DataSource sales is Unavailable' },
  ])('describe the location of a claim: $want', ({ claim, want }) => {
    expect(whereIs(claim)).toBe(want)
  })

  test('list the claims that are not located', () => {
    expect(describeUnlocated([located(['m1']), unknown({ claim: 'default/a' }), nowhereClaim()])).toBe(
      'default/a: no DataSource yet; default/sales: DataSource sales is Unavailable',
    )
  })

  test('have at most 1,024 characters', () => {
    expect(holdMessage(['a', 'b'])).toBe('a; b')
    expect(holdMessage(['x'.repeat(2000)])).toHaveLength(1024)
  })
})
