import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../test/builders.ts'
import { makeNode, makeReplica, makeVolumeInput } from '../../../test/volume-builders.ts'
import { nodes as nodeType } from '../../api/node.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { planNodeLabels } from './plan.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { nodeLabelOf } from './rules/names.ts'

const manager = makeVolumeManager()
const LABEL = nodeLabelOf(manager, 'vol1', 'r')
const PART = nodeLabelOf(manager, 'vol1', 'r', 'a')
const OTHERS = nodeLabelOf(makeVolumeManager([], { name: 'other' }), 'vol1', 'r')

function labelsAfter(replica: Partial<ReplicaStatus>, labels: Record<string, string>, sourceType = 'S3') {
  const set = { replicas: [makeReplica(replica)], deletions: [], nextIndex: 1 }
  const plan = { id: 'vol1', config: makeVolume({ sourceType }), set } as unknown as VolumePlan
  const nodes = [makeNode('n1', { labels })]
  return planNodeLabels(makeVolumeInput({ manager, nodes }), [plan]).map(
    (write) => write.kind === 'patch' && write.patch,
  )
}

test.each<{
  name: string
  replica?: Partial<ReplicaStatus>
  labels?: Record<string, string>
  type?: string
  want: object | undefined
}>([
  { name: 'gets the label with its data', want: { [LABEL]: 'true' } },
  {
    name: 'gets the labels of the volume and the part',
    replica: { shard: 'a' },
    want: { [LABEL]: 'true', [PART]: 'true' },
  },
  { name: 'keeps a label with any value', labels: { [LABEL]: 'x' }, want: undefined },
  { name: 'loses the label of data that is gone', labels: { [LABEL]: 'true', [PART]: 'true' }, want: { [PART]: null } },
  { name: 'keeps other labels', labels: { [LABEL]: '', [OTHERS]: '', disk: 'ssd' }, want: undefined },
  { name: 'has no label during the download', replica: { state: 'Downloading', bytes: 5 }, want: undefined },
  {
    name: 'gets the label with the first bytes of a stream',
    replica: { state: 'Downloading', bytes: 5 },
    type: 'Stream',
    want: { [LABEL]: 'true' },
  },
  {
    name: 'keeps the label while it is not ready',
    replica: { state: 'Unreachable' },
    labels: { [LABEL]: '' },
    want: undefined,
  },
  {
    name: 'loses the label of evicted data',
    replica: { state: 'Evicted' },
    labels: { [LABEL]: '' },
    want: { [LABEL]: null },
  },
  { name: 'gets no label for data without a directory', replica: { path: undefined as never }, want: undefined },
])('a node $name', ({ replica = {}, labels = {}, type, want }) => {
  expect(labelsAfter(replica, labels, type)).toEqual(want ? [{ metadata: { uid: 'uid-n1', labels: want } }] : [])
})

test('each node gets one patch, in the order of names, with the labels of all volumes', () => {
  const planOf = (id: string, ...nodes: (string | undefined)[]) => {
    const replicas = nodes.map((node, index) => makeReplica({ index, node: node as never }))
    return { id, config: makeVolume({ id }), set: { replicas, deletions: [], nextIndex: 5 } } as unknown as VolumePlan
  }
  const stray = makeNode('n0', { labels: { [LABEL]: 'true' } })
  const nodes = [makeNode('n2'), { ...makeNode('n1'), metadata: { name: 'n1' } }, stray]
  const of = (name: string) => ({ type: nodeType, name })

  expect(
    planNodeLabels(makeVolumeInput({ manager, nodes }), [planOf('vol1', 'n2', undefined, 'n1'), planOf('vol2', 'n2')]),
  ).toStrictEqual([
    { kind: 'patch', of: of('n0'), patch: { metadata: { uid: 'uid-n0', labels: { [LABEL]: null } } } },
    { kind: 'patch', of: of('n1'), patch: { metadata: { labels: { [LABEL]: 'true' } } } },
    {
      kind: 'patch',
      of: of('n2'),
      patch: { metadata: { uid: 'uid-n2', labels: { [LABEL]: 'true', [nodeLabelOf(manager, 'vol2', 'r')]: 'true' } } },
    },
  ])
})

test('a node without labels gets those of its data', () => {
  const { labels: _, ...metadata } = makeNode('n1').metadata
  const plan = { id: 'vol1', config: makeVolume(), set: { replicas: [makeReplica()], deletions: [], nextIndex: 1 } }
  const input = makeVolumeInput({ manager, nodes: [{ ...makeNode('n1'), metadata }] })

  expect(planNodeLabels(input, [plan as unknown as VolumePlan])).toMatchObject([
    { patch: { metadata: { labels: { [LABEL]: 'true' } } } },
  ])
})

test('data of a volume that left the spec keeps its label until its deletion', () => {
  const plan = { id: 'vol1', config: undefined, set: { replicas: [makeReplica()], deletions: [], nextIndex: 1 } }
  const input = makeVolumeInput({ manager, nodes: [makeNode('n1', { labels: { [LABEL]: 'true' } })] })

  expect(planNodeLabels(input, [plan as unknown as VolumePlan])).toEqual([])
})

test('a node that does not exist gets no patch', () => {
  expect(labelsAfter({ node: 'n9' }, {})).toEqual([])
})
