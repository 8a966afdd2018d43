import { expect, test } from 'vitest'
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'
import { isCovered, requirementKey, termKey } from './requirement-key.ts'

const zone = (...values: string[]): NodeSelectorRequirement => ({ key: 'zone', operator: 'In', values })

test.each<{ name: string; one: NodeSelectorRequirement; other: NodeSelectorRequirement; want: boolean }>([
  { name: 'the order of the values does not matter', one: zone('b', 'a'), other: zone('a', 'b'), want: true },
  { name: 'a repeated value counts once', one: zone('a', 'a'), other: zone('a'), want: true },
  {
    name: 'absent values equal an empty list',
    one: { key: 'gpu', operator: 'Exists' },
    other: { key: 'gpu', operator: 'Exists', values: [] },
    want: true,
  },
  { name: 'another value is another requirement', one: zone('a'), other: zone('b'), want: false },
  {
    name: 'another operator is another requirement',
    one: zone('a'),
    other: { ...zone('a'), operator: 'NotIn' },
    want: false,
  },
  { name: 'another key is another requirement', one: zone('a'), other: { ...zone('a'), key: 'region' }, want: false },
])('$name', ({ one, other, want }) => {
  expect(requirementKey(one) === requirementKey(other)).toBe(want)
  expect(requirementKey(one)).toBe(requirementKey(structuredClone(one)))
})

test('terms are equal for any order of requirements, and labels differ from fields', () => {
  const [one, other] = [zone('a'), { key: 'gpu', operator: 'Exists' }]
  expect(termKey({ matchExpressions: [one, other] })).toBe(termKey({ matchExpressions: [other, one], matchFields: [] }))
  expect(termKey({ matchExpressions: [one] })).not.toBe(termKey({ matchFields: [one] }))
})

test.each<{ name: string; term: NodeSelectorTerm; want: boolean }>([
  { name: 'nothing', term: {}, want: true },
  { name: 'a label', term: { matchExpressions: [zone('a')] }, want: true },
  { name: 'a field', term: { matchFields: [zone('n1')] }, want: true },
  { name: 'a label and another label', term: { matchExpressions: [zone('a'), zone('b')] }, want: false },
  {
    name: 'a label and another field',
    term: { matchExpressions: [zone('a')], matchFields: [zone('n2')] },
    want: false,
  },
  { name: 'a label that is a field', term: { matchExpressions: [zone('n1')] }, want: false },
])('a term with $name is covered: $want', ({ term, want }) => {
  const by = { expressions: new Set([requirementKey(zone('a'))]), fields: new Set([requirementKey(zone('n1'))]) }
  expect(isCovered(term, by)).toBe(want)
})
