import { describe, expect, test } from 'vitest'
import { nodesWith } from '../../../../test/builders.ts'
import { makeMover, PATH } from '../../../../test/volume-builders.ts'
import { MOVER_SLOT_LABEL, VOLUME_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import {
  apartFrom,
  directoryOfMover,
  isUnschedulable,
  type MoverPlacement,
  moverAffinity,
  nodeOfMover,
  slotOfMover,
} from './affinity.ts'

const termsOf = (placement: MoverPlacement) =>
  moverAffinity(placement, 'key', 3, ['arm64']).nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    ?.nodeSelectorTerms
const platform = [
  { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
  { key: 'kubernetes.io/arch', operator: 'In', values: ['arm64'] },
]
const without = (key: string) => ({ key, operator: 'DoesNotExist' })
const notOn = (name: string) => ({ key: 'metadata.name', operator: 'NotIn', values: [name] })
const [dataTerm] = nodesWith('data').requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
const [, gpuTerm] = nodesWith('', 'gpu').requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []

describe('a mover may run', () => {
  test.each<{ name: string; placement: MoverPlacement; want: unknown }>([
    {
      name: 'on its node only',
      placement: { on: 'n1' },
      want: [{ matchExpressions: platform, matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
    {
      name: 'not on an excluded node, when the affinity only prefers nodes',
      placement: {
        affinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
        withoutLabels: [],
        notOn: ['n1'],
      },
      want: [{ matchExpressions: platform, matchFields: [notOn('n1')] }],
    },
    {
      name: 'on every node of its platform',
      placement: { affinity: undefined, withoutLabels: [], notOn: [] },
      want: [{ matchExpressions: platform }],
    },
    {
      name: 'on the nodes of the affinity',
      placement: { affinity: nodesWith('data'), withoutLabels: [], notOn: [] },
      want: [{ matchExpressions: [...(dataTerm?.matchExpressions ?? []), ...platform] }],
    },
    {
      name: 'not on nodes with a label, or by these names',
      placement: { affinity: undefined, withoutLabels: ['l', 'm'], notOn: ['n1', 'n2'] },
      want: [{ matchExpressions: [...platform, without('l'), without('m')], matchFields: [notOn('n1'), notOn('n2')] }],
    },
    {
      name: 'not on excluded nodes in each term of the affinity',
      placement: { affinity: nodesWith('data', 'gpu'), withoutLabels: ['l'], notOn: [] },
      want: [dataTerm, gpuTerm].map((term) => ({
        matchExpressions: [...(term?.matchExpressions ?? []), ...platform, without('l')],
      })),
    },
  ])('$name', ({ placement, want }) => {
    expect(termsOf(placement)).toStrictEqual(want)
  })

  test('on no node with a mover of its volume, or with a mover of its slot', () => {
    const topologyKey = 'kubernetes.io/hostname'

    expect(moverAffinity({ on: 'n1' }, 'key', 3, ['arm64']).podAntiAffinity).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { [VOLUME_LABEL]: 'key' } } },
        { topologyKey, labelSelector: { matchLabels: { [MOVER_SLOT_LABEL]: '3' } } },
      ],
    })
  })
})

test('the slot of a mover counts only in the namespaces of movers: no Pod can block it', () => {
  const inNamespace = (namespace: string) => ({ ...makeMover(), metadata: { ...makeMover().metadata, namespace } })
  const { spec } = apartFrom([inNamespace('team-b'), inNamespace('team-a')], inNamespace('team-c'))
  const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution

  expect(terms?.map(({ namespaces }) => namespaces)).toEqual([undefined, ['team-a', 'team-b', 'team-c']])
  expect(terms?.some((term) => 'namespaceSelector' in term)).toBe(false)
})

const PREFERRING = {
  affinity: { preferredDuringSchedulingIgnoredDuringExecution: [] },
  withoutLabels: [],
  notOn: [],
}
const fieldTerm = (key: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchFields: [{ key, operator: 'In', values: ['a'] }] }],
  },
})
const withAffinity = (placement: MoverPlacement): Pod => {
  const pod = makeMover()
  return { ...pod, spec: { ...pod.spec, affinity: moverAffinity(placement, 'key', 0, ['arm64']) } }
}

test.each<{ name: string; pod: Pod; want: string | undefined }>([
  { name: 'runs', pod: makeMover({}, {}, 'n1'), want: 'n1' },
  { name: 'is pinned', pod: withAffinity({ on: 'n2' }), want: 'n2' },
  {
    name: 'is on any node of a zone, by another field',
    pod: withAffinity({ affinity: fieldTerm('spec.zone'), withoutLabels: [], notOn: [] }),
    want: undefined,
  },
  { name: 'prefers nodes', pod: withAffinity(PREFERRING), want: undefined },
  { name: 'is on any node', pod: { ...makeMover(), spec: { containers: [] } }, want: undefined },
  { name: 'has another affinity', pod: { ...makeMover(), spec: { containers: [], affinity: {} } }, want: undefined },
  {
    name: 'avoids nodes',
    pod: withAffinity({ affinity: undefined, withoutLabels: [], notOn: ['n3'] }),
    want: undefined,
  },
])('the node of a mover that $name is $want', ({ pod, want }) => {
  expect(nodeOfMover(pod)).toBe(want)
})

test.each([
  { label: '0', want: 0 },
  { label: '12', want: 12 },
  { label: 'a', want: undefined },
  { label: undefined, want: undefined },
])('the slot of a mover with the label $label is $want', ({ label, want }) => {
  const pod = makeMover()
  const labels = label === undefined ? {} : { [MOVER_SLOT_LABEL]: label }

  expect(slotOfMover({ ...pod, metadata: { labels } })).toBe(want)
})

test('a mover without labels has no slot', () => {
  expect(slotOfMover({ ...makeMover(), metadata: {} })).toBeUndefined()
})

test('the directory of a mover is its only host path', () => {
  const pod = makeMover()

  expect(directoryOfMover(pod)).toBe(PATH)
  expect(directoryOfMover({ ...pod, spec: { containers: [] } })).toBeUndefined()
  expect(directoryOfMover({ ...pod, spec: { containers: [], volumes: [{ name: 'tmp' }] } })).toBeUndefined()
  expect(
    directoryOfMover({ ...pod, spec: { containers: [], volumes: [{ name: 'tmp' }, ...(pod.spec.volumes ?? [])] } }),
  ).toBe(PATH)
})

test.each<{ name: string; status: Pod['status']; want: boolean }>([
  {
    name: 'PodScheduled=False',
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'PodScheduled', status: 'False' },
      ],
    },
    want: true,
  },
  {
    name: 'PodScheduled=True',
    status: {
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'PodScheduled', status: 'True' },
      ],
    },
    want: false,
  },
  { name: 'no conditions', status: {}, want: false },
])('a mover with $name is unschedulable: $want', ({ status, want }) => {
  expect(isUnschedulable(makeMover({}, status))).toBe(want)
})

test('a mover without a status is not unschedulable', () => {
  const { status: _, ...pod } = makeMover()

  expect(isUnschedulable(pod)).toBe(false)
})
