import { describe, expect, test } from 'vitest'
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'
import { allowsNode } from './node-affinity.ts'

const node = { metadata: { name: 'n1', labels: { zone: 'a', gpus: '4' } } }
const allows = (...nodeSelectorTerms: NodeSelectorTerm[]) =>
  allowsNode({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }, node)

describe('one requirement', () => {
  test.each<[key: string, operator: string, values: string[] | undefined, want: boolean]>([
    ['zone', 'In', ['a', 'b'], true],
    ['zone', 'In', ['b'], false],
    ['rack', 'In', ['b'], false],
    ['zone', 'NotIn', ['a'], false],
    ['rack', 'NotIn', ['a'], true],
    ['zone', 'Exists', undefined, true],
    ['rack', 'Exists', undefined, false],
    ['zone', 'DoesNotExist', undefined, false],
    ['rack', 'DoesNotExist', undefined, true],
    ['gpus', 'Gt', ['3'], true],
    ['gpus', 'Gt', ['4'], false],
    ['gpus', 'Lt', ['5'], true],
    ['zone', 'Gt', ['1'], false],
    ['toString', 'Exists', undefined, false],
    ['zone', 'Is', ['a'], false],
  ])('%s %s %s', (key, operator, values, want) => {
    const requirement: NodeSelectorRequirement = { key, operator, ...(values && { values }) }
    expect(allows({ matchExpressions: [requirement] })).toBe(want)
  })
})

const inZone = (zone: string) => ({ key: 'zone', operator: 'In', values: [zone] })
const named = (name: string) => ({ key: 'metadata.name', operator: 'In', values: [name] })

describe('terms', () => {
  test.each<{ name: string; terms: NodeSelectorTerm[]; want: boolean }>([
    {
      name: 'one matching term is enough',
      terms: [{ matchExpressions: [inZone('b')] }, { matchExpressions: [inZone('a')] }],
      want: true,
    },
    {
      name: 'all requirements of a term have to match',
      terms: [{ matchExpressions: [inZone('a'), inZone('b')] }],
      want: false,
    },
    {
      name: 'fields and labels have to match',
      terms: [{ matchExpressions: [inZone('a')], matchFields: [named('n2')] }],
      want: false,
    },
    { name: 'a field matches the name of the node', terms: [{ matchFields: [named('n1')] }], want: true },
    { name: 'an empty term matches no node', terms: [{}], want: false },
    { name: 'an empty list matches no node', terms: [], want: false },
  ])('$name', ({ terms, want }) => {
    expect(allows(...terms)).toBe(want)
  })

  test('without required terms every node matches', () => {
    expect([allowsNode(undefined, node), allowsNode({}, node)]).toEqual([true, true])
  })
})
