import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Node, NodeSelectorTerm } from '../../../api/node.ts'
import { defined } from '../../../base/json.ts'
import { allowsNode } from '../../volume-manager/nodes/feasibility.ts'
import { addPreferences, narrowTerms, pinnedNode } from './affinity.ts'

const has = (...keys: string[]): NodeSelectorTerm => ({
  matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })),
})
const named = (name: string): NodeSelectorTerm => ({
  matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
})
const byField = (key: string, operator: string, values?: string[]): NodeSelectorTerm => ({
  matchFields: [defined({ key, operator, values })],
})
const NOTHING: NodeSelectorTerm = {}

describe('narrowing', () => {
  test.each<[string, NodeSelectorTerm[] | undefined, NodeSelectorTerm[], NodeSelectorTerm[]]>([
    ['no terms are replaced by those of the data', undefined, [has('data')], [has('data')]],
    ['a term gets the requirements of the data', [has('gpu')], [has('data')], [has('gpu', 'data')]],
    [
      'every term gets the requirements of the data',
      [has('a'), has('b')],
      [has('data')],
      [has('a', 'data'), has('b', 'data')],
    ],
    [
      'two terms and two terms of the data become all four pairs',
      [has('a'), has('b')],
      [has('x'), has('y')],
      [has('a', 'x'), has('a', 'y'), has('b', 'x'), has('b', 'y')],
    ],
    ['a term with the requirements of the data stays', [has('data', 'gpu')], [has('data')], [has('data', 'gpu')]],
    ['a term with the requirements of one of two data terms stays', [has('x')], [has('x'), has('y')], [has('x')]],
    ['a term by name keeps the name', [named('n1')], [has('data')], [{ ...named('n1'), ...has('data') }]],
    ['a term that matches no node stays', [NOTHING, has('a')], [has('data')], [NOTHING, has('a', 'data')]],
    ['only such terms stay', [NOTHING], [has('data')], [NOTHING]],
    ['data on no node leaves no node of a term', [has('a')], [NOTHING], [NOTHING]],
    ['data on no node leaves no node', undefined, [NOTHING], [NOTHING]],
    ['a term gets only missing requirements', [has('a', 'b')], [has('b', 'c')], [has('a', 'b', 'c')]],
    [
      'field requirements are added to field requirements, without an empty list of labels',
      [named('n1')],
      [named('n2')],
      [{ matchFields: [...(named('n1').matchFields ?? []), ...(named('n2').matchFields ?? [])] }],
    ],
    [
      'the order of values does not matter',
      [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b', 'a'] }] }],
      [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }],
      [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b', 'a'] }] }],
    ],
  ])('%s', (_name, terms, wanted, want) => {
    expect(narrowTerms(terms, wanted)).toEqual(want)
  })

  test('keeps unknown fields of a term', () => {
    const term = { ...has('a'), matchWeather: ['sunny'] } as NodeSelectorTerm
    expect(narrowTerms([term], [has('data')])).toEqual([{ ...has('a', 'data'), matchWeather: ['sunny'] }])
  })
})

const key = fc.constantFrom('a', 'b', 'c')
const value = fc.constantFrom('1', '2', '30')
const requirement = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: fc.array(value, { minLength: 1, maxLength: 2 }) }),
  fc.record({ key, operator: fc.constantFrom('Gt', 'Lt'), values: value.map((one) => [one]) }),
)
const field = fc.record({
  key: fc.constant('metadata.name'),
  operator: fc.constantFrom('In', 'NotIn'),
  values: fc.constantFrom('n1', 'n2').map((name) => [name]),
})
const term: fc.Arbitrary<NodeSelectorTerm> = fc.record(
  { matchExpressions: fc.array(requirement, { maxLength: 2 }), matchFields: fc.array(field, { maxLength: 1 }) },
  { requiredKeys: [] },
)
const terms = fc.array(term, { minLength: 1, maxLength: 3 })
const node: fc.Arbitrary<Pick<Node, 'metadata'>> = fc.record({
  metadata: fc.record({ name: fc.constantFrom('n1', 'n2', 'n3'), labels: fc.dictionary(key, value) }),
})

const fulfils = (nodeSelectorTerms: readonly NodeSelectorTerm[] | undefined, on: Pick<Node, 'metadata'>) =>
  allowsNode(
    nodeSelectorTerms && {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...nodeSelectorTerms] },
    },
    on,
  )

describe('for any terms', () => {
  test('a node matches the result exactly when it matches both', () => {
    fc.assert(
      fc.property(fc.option(terms, { nil: undefined }), terms, node, (own, wanted, on) => {
        expect(fulfils(narrowTerms(own, wanted), on)).toBe(fulfils(own, on) && fulfils(wanted, on))
      }),
      { numRuns: 2_000 },
    )
  })

  test('a second narrowing by the same terms changes nothing', () => {
    fc.assert(
      fc.property(fc.option(terms, { nil: undefined }), terms, terms, (own, one, other) => {
        const once = narrowTerms(narrowTerms(own, one), other)
        expect(narrowTerms(narrowTerms(once, one), other)).toEqual(once)
      }),
    )
  })

  test('the requirements of a term stay first: a gated pod can be narrowed later', () => {
    fc.assert(
      fc.property(term, term, (own, wanted) => {
        for (const next of narrowTerms([own], [wanted])) {
          const { matchExpressions = [] } = own
          const { matchExpressions: written = matchExpressions } = next
          expect(written.slice(0, matchExpressions.length)).toEqual(matchExpressions)
        }
      }),
    )
  })
})

describe('preferences', () => {
  const prefer = (weight: number, preference: NodeSelectorTerm) => ({ weight, preference })

  test.each([
    ['a new preference is added', [], [prefer(5, has('data'))], [prefer(5, has('data'))]],
    [
      'an existing preference keeps its weight',
      [prefer(1, has('data'))],
      [prefer(5, has('data'))],
      [prefer(1, has('data'))],
    ],
    ['a preference that matches no node is left out', [], [prefer(5, NOTHING)], []],
    ['the first of two equal ones is added', [], [prefer(5, has('a')), prefer(7, has('a'))], [prefer(5, has('a'))]],
  ])('%s', (_name, own, added, want) => {
    expect(addPreferences(own, added)).toEqual(want)
  })
})

test.each<[string, NodeSelectorTerm[] | undefined, string | undefined]>([
  ['of a DaemonSet is the node in its affinity', [{ ...named('n1'), ...has('a') }], 'n1'],
  ['is undefined if there is a choice', [named('n1'), named('n2')], undefined],
  ['is undefined without terms', undefined, undefined],
  ['is undefined if a term has no name', [named('n1'), has('a')], undefined],
  ['is undefined if a term excludes a name', [byField('metadata.name', 'NotIn', ['n1'])], undefined],
  ['is undefined if another field has that value', [byField('metadata.uid', 'In', ['n1'])], undefined],
  ['is undefined if a term lists two names', [byField('metadata.name', 'In', ['n1', 'n2'])], undefined],
  ['is undefined if a term lists no name', [byField('metadata.name', 'In')], undefined],
])('the node of a pod %s', (_name, own, want) => {
  expect(pinnedNode(own)).toBe(want)
})
