import { describe, expect, test } from 'vitest'
import { nodesWith } from '../../../../test/builders.ts'
import { makeMover, PATH } from '../../../../test/volume-builders.ts'
import { MOVER_SLOT_LABEL, VOLUME_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import {
  directoryOfMover,
  isUnschedulable,
  type MoverPlacement,
  moverAffinity,
  nodeOfMover,
  slotOfMover,
} from './affinity.ts'

const termsOf = (placement: MoverPlacement) =>
  moverAffinity(placement, 'key', 3).nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
const without = (key: string) => ({ key, operator: 'DoesNotExist' })
const notOn = (name: string) => ({ key: 'metadata.name', operator: 'NotIn', values: [name] })
const [dataTerm] = nodesWith('data').requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
const [, gpuTerm] = nodesWith('', 'gpu').requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []

describe('a mover may run', () => {
  test.each<{ name: string; placement: MoverPlacement; want: unknown }>([
    {
      name: 'on its node only',
      placement: { on: 'n1' },
      want: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
    { name: 'on every node', placement: { affinity: undefined, withoutLabels: [], notOn: [] }, want: undefined },
    {
      name: 'on the nodes of the affinity',
      placement: { affinity: nodesWith('data'), withoutLabels: [], notOn: [] },
      want: [dataTerm],
    },
    {
      name: 'not on nodes with a label, or by these names',
      placement: { affinity: undefined, withoutLabels: ['l'], notOn: ['n1', 'n2'] },
      want: [{ matchExpressions: [without('l')], matchFields: [notOn('n1'), notOn('n2')] }],
    },
    {
      name: 'not there in each term of the affinity',
      placement: { affinity: nodesWith('data', 'gpu'), withoutLabels: ['l'], notOn: [] },
      want: [dataTerm, gpuTerm].map((term) => ({
        matchExpressions: [...(term?.matchExpressions ?? []), without('l')],
      })),
    },
  ])('$name', ({ placement, want }) => {
    expect(termsOf(placement)).toEqual(want)
  })

  test('beside no mover of its volume, and beside no mover of its slot in any namespace', () => {
    const topologyKey = 'kubernetes.io/hostname'

    expect(moverAffinity({ on: 'n1' }, 'key', 3).podAntiAffinity).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { [VOLUME_LABEL]: 'key' } } },
        { topologyKey, labelSelector: { matchLabels: { [MOVER_SLOT_LABEL]: '3' } }, namespaceSelector: {} },
      ],
    })
  })
})

const withAffinity = (placement: MoverPlacement): Pod => {
  const pod = makeMover()
  return { ...pod, spec: { ...pod.spec, affinity: moverAffinity(placement, 'key', 0) } }
}

test.each<{ name: string; pod: Pod; want: string | undefined }>([
  { name: 'runs', pod: makeMover({}, {}, 'n1'), want: 'n1' },
  { name: 'is pinned', pod: withAffinity({ on: 'n2' }), want: 'n2' },
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

test('the directory of a mover is its only host path', () => {
  const pod = makeMover()

  expect(directoryOfMover(pod)).toBe(PATH)
  expect(directoryOfMover({ ...pod, spec: { containers: [] } })).toBeUndefined()
})

test.each([
  { status: 'False', want: true },
  { status: 'True', want: false },
])('a mover with PodScheduled=$status is unschedulable: $want', ({ status, want }) => {
  expect(isUnschedulable(makeMover({}, { conditions: [{ type: 'PodScheduled', status }] }))).toBe(want)
})
