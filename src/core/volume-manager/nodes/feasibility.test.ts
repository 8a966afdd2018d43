import { describe, expect, test } from 'vitest'
import { NOW, nodesWith } from '../../../../test/builders.ts'
import { at, makeNode } from '../../../../test/volume-builders.ts'
import type { Node, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, Toleration } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { affinityProblems } from '../rules/volume-rules.ts'
import {
  allowsNode,
  fitsNode,
  hasDiskPressure,
  isClosedTo,
  type NodeHealth,
  platformRequirements,
  readNodeHealth,
  runsMovers,
  toleratesNode,
  unreadyFor,
} from './feasibility.ts'

const TIME = '2026-01-01T00:00:00Z'
const nodeWith = (...conditions: object[]) => ({ metadata: {}, status: { conditions } }) as Node
const NO_STATUS = { metadata: {} } as Node

test.each<{ name: string; node: Node; want: NodeHealth }>([
  { name: 'without a status', node: NO_STATUS, want: { isReady: true } },
  { name: 'without the condition', node: nodeWith({ type: 'DiskPressure', status: 'True' }), want: { isReady: true } },
  { name: 'without conditions', node: { metadata: {}, status: {} } as Node, want: { isReady: true } },
  {
    name: 'with Ready=True after another condition',
    node: nodeWith({ type: 'DiskPressure', status: 'False' }, { type: 'Ready', status: 'True' }),
    want: { isReady: true },
  },
  { name: 'with Ready=True', node: nodeWith({ type: 'Ready', status: 'True' }), want: { isReady: true } },
  {
    name: 'with Ready=False',
    node: nodeWith({ type: 'Ready', status: 'False', lastTransitionTime: TIME }),
    want: { isReady: false, since: Date.parse(TIME) },
  },
  {
    name: 'with Ready=Unknown and no time',
    node: nodeWith({ type: 'Ready', status: 'Unknown' }),
    want: { isReady: false },
  },
])('the health of a node $name', ({ node, want }) => {
  expect(readNodeHealth(node)).toEqual(want)
})

test.each([
  { name: 'True', node: nodeWith({ type: 'DiskPressure', status: 'True' }), want: true },
  {
    name: 'True after another condition',
    node: nodeWith({ type: 'Ready', status: 'False' }, { type: 'DiskPressure', status: 'True' }),
    want: true,
  },
  { name: 'without conditions', node: { metadata: {}, status: {} } as Node, want: false },
  { name: 'False', node: nodeWith({ type: 'DiskPressure', status: 'False' }), want: false },
  { name: 'absent', node: nodeWith({ type: 'Ready', status: 'True' }), want: false },
  { name: 'without a status', node: NO_STATUS, want: false },
])('a node with DiskPressure $name has disk pressure: $want', ({ node, want }) => {
  expect(hasDiskPressure(node)).toBe(want)
})

test.each([
  ['a node that is ready', makeNode('n1'), undefined],
  ['a node that is not ready', makeNode('n1', { unreadySince: at(-5) }), NOW + 5000],
  ['a node that does not tell since when', makeNode('n1', { unreadySince: 'never' }), NOW + 17_000],
])('when %s was not ready for ten seconds', (_, node, want) => {
  expect(unreadyFor(node, 10, NOW + 7000)).toBe(want)
})

test.each([
  ['Linux on a listed architecture', { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64' }, true],
  ['Linux on another architecture', { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 's390x' }, false],
  ['Windows', { 'kubernetes.io/os': 'windows', 'kubernetes.io/arch': 'amd64' }, false],
  ['no labels', undefined, false],
])('a node with %s: decision and scheduler agree on whether it runs movers', (_name, labels, want) => {
  const node = { metadata: { name: 'n1', ...(labels && { labels }) } }
  const architectures = ['amd64', 'arm64']
  const nodeSelectorTerms = [{ matchExpressions: platformRequirements(architectures) }]
  expect(runsMovers(node, architectures)).toBe(want)
  expect(allowsNode({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }, node)).toBe(want)
})

const gpu = { key: 'gpu', value: 'a100', effect: 'NoSchedule' }
const tainted = (...taints: { key: string; value?: string; effect: string }[]): Pick<Node, 'spec'> => ({
  spec: { taints },
})

describe('a mover can be scheduled', () => {
  test.each<{ name: string; node: Pick<Node, 'spec'>; tolerations?: Toleration[]; want: boolean }>([
    { name: 'to a node without taints', node: {}, want: true },
    { name: 'not to a tainted node', node: tainted(gpu), want: false },
    { name: 'not to a cordoned node', node: { spec: { unschedulable: true } }, want: false },
    { name: 'not to a node with NoExecute', node: tainted({ key: 'a', effect: 'NoExecute' }), want: false },
    { name: 'to a node with PreferNoSchedule', node: tainted({ key: 'a', effect: 'PreferNoSchedule' }), want: true },
    { name: 'with an equal toleration', node: tainted(gpu), tolerations: [{ key: 'gpu', value: 'a100' }], want: true },
    { name: 'not with another value', node: tainted(gpu), tolerations: [{ key: 'gpu', value: 'h100' }], want: false },
    {
      name: 'not with another effect',
      node: tainted(gpu),
      tolerations: [{ ...gpu, effect: 'NoExecute' }],
      want: false,
    },
    { name: 'with Exists', node: tainted(gpu), tolerations: [{ key: 'gpu', operator: 'Exists' }], want: true },
    { name: 'with Exists without a key', node: tainted(gpu), tolerations: [{ operator: 'Exists' }], want: true },
    {
      name: 'not with Equal without a key',
      node: tainted({ key: 'a', effect: 'NoSchedule' }),
      tolerations: [{}],
      want: false,
    },
    {
      name: 'not with an unknown operator',
      node: tainted(gpu),
      tolerations: [{ key: 'gpu', operator: 'Lt' }],
      want: false,
    },
    {
      name: 'to a node with an equal taint without a value',
      node: tainted({ key: 'a', effect: 'NoSchedule' }),
      tolerations: [{ key: 'a' }],
      want: true,
    },
    {
      name: 'not if one of two taints is not tolerated',
      node: tainted(gpu, { key: 'b', effect: 'NoSchedule' }),
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      want: false,
    },
  ])('$name', ({ node, tolerations, want }) => {
    expect(toleratesNode(tolerations, node)).toBe(want)
  })
})

describe('a node is closed', () => {
  test.each<{ name: string; node: Pick<Node, 'spec'>; want: boolean }>([
    { name: 'by a taint of an administrator', node: tainted(gpu), want: true },
    { name: 'when it is cordoned', node: { spec: { unschedulable: true } }, want: true },
    {
      name: 'not when it is not ready',
      node: tainted({ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }),
      want: false,
    },
    { name: 'not without taints', node: {}, want: false },
  ])('$name', ({ node, want }) => {
    expect(isClosedTo(undefined, node)).toBe(want)
  })
})

const node = {
  metadata: {
    name: 'n1',
    labels: { zone: 'a', gpus: '4', cores: '64', offset: '-5', signed: '+5', hex: '0x1', padded: ' 1' },
  },
}
const allows = (...nodeSelectorTerms: NodeSelectorTerm[]) =>
  allowsNode({ requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }, node)

describe('one requirement', () => {
  test.each<[key: string, operator: string, values: string[] | undefined, want: boolean]>([
    ['zone', 'In', ['a', 'b'], true],
    ['zone', 'In', ['b'], false],
    ['rack', 'In', ['b'], false],
    ['zone', 'NotIn', ['a'], false],
    ['zone', 'NotIn', ['b'], true],
    ['rack', 'NotIn', ['a'], true],
    ['zone', 'Exists', undefined, true],
    ['rack', 'Exists', undefined, false],
    ['zone', 'DoesNotExist', undefined, false],
    ['rack', 'DoesNotExist', undefined, true],
    ['gpus', 'Gt', ['3'], true],
    ['gpus', 'Gt', ['4'], false],
    ['gpus', 'Lt', ['5'], true],
    ['gpus', 'Lt', ['4'], false],
    ['zone', 'Gt', ['1'], false],
    ['zone', 'Lt', ['1'], false],
    ['rack', 'Lt', ['1'], false],
    ['cores', 'Gt', ['63'], true],
    ['offset', 'Lt', ['0'], true],
    ['signed', 'Gt', ['4'], true],
    ['hex', 'Lt', ['99'], false],
    ['padded', 'Lt', ['99'], false],
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
    {
      name: 'a field of another name matches no node',
      terms: [{ matchFields: [{ ...named('n1'), key: 'spec.name' }] }],
      want: false,
    },
    { name: 'an empty term matches no node', terms: [{}], want: false },
    { name: 'an empty list matches no node', terms: [], want: false },
  ])('$name', ({ terms, want }) => {
    expect(allows(...terms)).toBe(want)
  })

  test('without required terms every node matches', () => {
    expect([allowsNode(undefined, node), allowsNode({}, node)]).toEqual([true, true])
  })
})

describe('the API server rejects', () => {
  const required = (...nodeSelectorTerms: NodeSelectorTerm[]): NodeAffinity => ({
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  })
  const expression = (operator: string, ...values: string[]) =>
    required({ matchExpressions: [{ key: 'zone', operator, ...(values.length > 0 && { values }) }] })
  const field = (key: string, operator: string, ...values: string[]) =>
    required({ matchFields: [{ key, operator, values }] })
  const preferred = (weight: number, preference: NodeSelectorTerm = {}): NodeAffinity => ({
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight, preference }],
  })
  const TERMS = 'requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution[0]'
  const wrong = (message: string) => [{ path: `${TERMS}[0].matchExpressions[0]`, message }]
  const wrongField = [
    { path: `${TERMS}[0].matchFields[0]`, message: 'must be metadata.name In or NotIn the name of one node' },
  ]

  test.each<{ name: string; affinity: NodeAffinity | undefined; want: { path: string; message: string }[] }>([
    { name: 'no absent affinity', affinity: undefined, want: [] },
    { name: 'no empty affinity', affinity: {}, want: [] },
    { name: 'no terms', affinity: required(), want: [{ path: TERMS, message: 'must have a term' }] },
    { name: 'no empty term', affinity: required({}), want: [] },
    {
      name: 'an unknown operator',
      affinity: expression('Is', 'a'),
      want: wrong('must have an operator of In, NotIn, Exists, DoesNotExist, Gt, Lt'),
    },
    { name: 'In without values', affinity: expression('In'), want: wrong('must have values for In') },
    { name: 'NotIn without values', affinity: expression('NotIn'), want: wrong('must have values for NotIn') },
    { name: 'no In with values', affinity: expression('In', 'a', 'b'), want: [] },
    { name: 'Exists with a value', affinity: expression('Exists', 'a'), want: wrong('must have no values for Exists') },
    {
      name: 'DoesNotExist with a value',
      affinity: expression('DoesNotExist', 'a'),
      want: wrong('must have no values for DoesNotExist'),
    },
    {
      name: 'the key of no label',
      affinity: required({ matchExpressions: [{ key: 'my zone', operator: 'Exists' }] }),
      want: wrong('must have the key of a label'),
    },
    {
      name: 'an empty key',
      affinity: required({ matchExpressions: [{ key: '', operator: 'Exists' }] }),
      want: wrong('must have the key of a label'),
    },
    {
      name: 'In with the value of no label',
      affinity: expression('In', 'a', 'b c'),
      want: wrong('must have values of labels for In'),
    },
    {
      name: 'NotIn with the value of no label',
      affinity: expression('NotIn', '-a'),
      want: wrong('must have values of labels for NotIn'),
    },
    { name: 'no In with an empty value', affinity: expression('In', ''), want: [] },
    { name: 'a field with the name of no node', affinity: field('metadata.name', 'In', 'Node 1'), want: wrongField },
    { name: 'no Exists without values', affinity: expression('Exists'), want: [] },
    { name: 'no Gt with an integer', affinity: expression('Gt', '5'), want: [] },
    { name: 'Gt without a value', affinity: expression('Gt'), want: wrong('must have one integer as value for Gt') },
    { name: 'Lt with text', affinity: expression('Lt', 'a'), want: wrong('must have one integer as value for Lt') },
    {
      name: 'Lt with two integers',
      affinity: expression('Lt', '1', '2'),
      want: wrong('must have one integer as value for Lt'),
    },
    { name: 'no field metadata.name', affinity: field('metadata.name', 'In', 'n1'), want: [] },
    { name: 'no field metadata.name with NotIn', affinity: field('metadata.name', 'NotIn', 'n1'), want: [] },
    { name: 'another field', affinity: field('spec.name', 'In', 'n1'), want: wrongField },
    { name: 'a field with another operator', affinity: field('metadata.name', 'Exists', 'n1'), want: wrongField },
    { name: 'a field with two values', affinity: field('metadata.name', 'In', 'n1', 'n2'), want: wrongField },
    {
      name: 'a field without values',
      affinity: required({ matchFields: [{ key: 'metadata.name', operator: 'In' }] }),
      want: wrongField,
    },
    {
      name: 'each requirement of each term by its path',
      affinity: required({}, { matchExpressions: [inZone('a'), { key: 'rack', operator: 'In' }] }),
      want: [{ path: `${TERMS}[1].matchExpressions[1]`, message: 'must have values for In' }],
    },
    {
      name: 'a weight of 0',
      affinity: preferred(0),
      want: [{ path: `${PREFERRED}.weight`, message: 'must be 1 to 100' }],
    },
    { name: 'no weight of 1', affinity: preferred(1), want: [] },
    { name: 'no weight of 100', affinity: preferred(100), want: [] },
    {
      name: 'no preference for the value of no label',
      affinity: preferred(1, { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b c'] }] }),
      want: [],
    },
    {
      name: 'a weight of 101, and a preference that is invalid',
      affinity: preferred(101, { matchExpressions: [{ key: 'zone', operator: 'In' }] }),
      want: [
        { path: `${PREFERRED}.weight`, message: 'must be 1 to 100' },
        { path: `${PREFERRED}.preference.matchExpressions[0]`, message: 'must have values for In' },
      ],
    },
  ])('$name', ({ affinity, want }) => {
    expect(affinityProblems(affinity)).toEqual(want)
  })
})

const GPU = makeNode('n1', { labels: { gpu: 'a100' } })
const TAINTED: Node = { ...GPU, spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }

test.each<[string, Partial<PodSpec>, Node, boolean]>([
  ['without constraints', {}, GPU, true],
  ['that selects its label', { nodeSelector: { gpu: 'a100' } }, GPU, true],
  ['that selects another value', { nodeSelector: { gpu: 'h100' } }, GPU, false],
  ['whose affinity matches', { affinity: { nodeAffinity: nodesWith('gpu') } }, GPU, true],
  ['whose affinity does not match', { affinity: { nodeAffinity: nodesWith('tpu') } }, GPU, false],
  ['that does not tolerate its taint', {}, TAINTED, false],
  ['that tolerates its taint', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, TAINTED, true],
  ['if it is not ready', {}, makeNode('n1', { unreadySince: '2026-01-01T00:00:00Z' }), false],
])('a pod %s', (_name, spec, on, want) => {
  expect(fitsNode({ containers: [{ name: 'main' }], ...spec }, on)).toBe(want)
})
