import { describe, expect, test } from 'vitest'
import { makeBinding, makePod } from '../../test/builders.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../api/lodestone.ts'
import { bindingDecisionId, podDecisionId } from './decision-id.ts'
import type { HoldAnnotation, LocalityAnnotation } from './resource-binding/annotations.ts'

const LOCALITY: LocalityAnnotation = {
  state: 'Narrowed',
  message: 'm',
  claims: ['default/sales'],
  required: ['member1'],
}
const HOLD: HoldAnnotation = { message: 'm', reason: 'Unresolved', since: '2026-01-01T00:00:00.000Z' }

const narrowed = (changes: Partial<LocalityAnnotation> = {}, more: Record<string, string> = {}) =>
  makeBinding({}, { annotations: { ...more, [LOCALITY_ANNOTATION]: JSON.stringify({ ...LOCALITY, ...changes }) } })
const onHold = (changes: Partial<HoldAnnotation> = {}) =>
  makeBinding({}, { annotations: { [HOLD_ANNOTATION]: JSON.stringify({ ...HOLD, ...changes }) } })

describe('the id of the decision on a binding', () => {
  test('is the same in every version of Lodestone', () => {
    expect(
      [narrowed(), onHold(), onHold({ released: true }), makeBinding()].map((one) => bindingDecisionId(one)),
    ).toEqual(['81657aef83', 'aec39ab78c', '63abfbadae', 'bdc0e0a0dc'])
  })

  test.each([
    { what: 'the message of a narrowing', one: narrowed(), other: narrowed({ message: 'later' }) },
    { what: 'when a wait began', one: narrowed(), other: narrowed({ since: HOLD.since }) },
    { what: 'the base', one: narrowed(), other: narrowed({}, { [BASE_AFFINITY_ANNOTATION]: '{}' }) },
    { what: 'the message of a hold', one: onHold(), other: onHold({ message: 'later' }) },
    {
      what: 'the reason of a released hold',
      one: onHold({ released: true }),
      other: onHold({ released: true, reason: 'Unsatisfiable' }),
    },
    { what: 'the uid', one: makeBinding(), other: makeBinding({}, { uid: 'u1', resourceVersion: '7' }) },
  ])('does not depend on $what', ({ one, other }) => {
    expect(bindingDecisionId(one)).toBe(bindingDecisionId(other))
  })

  test.each([
    { what: 'the required clusters', one: narrowed(), other: narrowed({ required: ['member1', 'member2'] }) },
    {
      what: 'their digest',
      one: narrowed({ requiredDigest: 'a'.repeat(16) }),
      other: narrowed({ requiredDigest: 'b'.repeat(16) }),
    },
    {
      what: 'the preferred clusters',
      one: narrowed({ preferred: [['a'], ['b']] }),
      other: narrowed({ preferred: [['a', 'b']] }),
    },
    { what: 'the claims', one: narrowed(), other: narrowed({ claims: ['default/sales', 'default/orders'] }) },
    { what: 'the state', one: narrowed(), other: narrowed({ state: 'Kept' }) },
    { what: 'the round', one: narrowed(), other: narrowed({ round: 1 }) },
    { what: 'the begin of a hold', one: onHold(), other: onHold({ since: '2026-01-01T00:00:01.000Z' }) },
    { what: 'the reason of a hold', one: onHold(), other: onHold({ reason: 'ClaimMissing' }) },
    { what: 'a release', one: onHold(), other: onHold({ released: true }) },
    { what: 'whether there is a decision', one: narrowed(), other: makeBinding() },
    { what: 'the name', one: makeBinding(), other: makeBinding({}, { name: 'other' }) },
    { what: 'the namespace', one: makeBinding(), other: makeBinding({}, { namespace: 'other' }) },
    { what: 'the kind', one: makeBinding(), other: { ...makeBinding(), kind: 'ClusterResourceBinding' } },
  ])('depends on $what', ({ one, other }) => {
    expect(bindingDecisionId(one)).not.toBe(bindingDecisionId(other))
  })
})

describe('the id of the decision on a pod', () => {
  const request = { name: 'mnist' }
  const generated = { generateName: 'trainer-' }

  test('is known before the API server generates its name', () => {
    const { name: _name, namespace: _namespace, ...metadata } = makePod(request, {}, generated).metadata
    const created = podDecisionId({ ...makePod(request), metadata }, 'default')

    expect(created).toBe(podDecisionId(makePod(request, {}, { ...generated, name: 'trainer-x2k9p' })))
  })

  test('depends on its request', () => {
    expect(podDecisionId(makePod(request))).not.toBe(podDecisionId(makePod({ name: 'other' })))
  })

  test('is absent without a request', () => {
    expect(podDecisionId(makePod(request, {}, { annotations: {} }))).toBeUndefined()
  })
})
