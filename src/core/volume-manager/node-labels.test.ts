import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../test/builders.ts'
import { makeNode, makeReplica, makeVolumeInput } from '../../../test/volume-builders.ts'
import type { ReplicaStatus } from '../../api/volume-manager.ts'
import { planNodeLabels } from './node-labels.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { nodeLabelOf } from './spec/names.ts'

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
  { name: 'keeps a label, whatever its value', labels: { [LABEL]: 'x' }, want: undefined },
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
  { name: 'gets none for data on no node', replica: { path: undefined as never }, want: undefined },
])('a node $name', ({ replica = {}, labels = {}, type, want }) => {
  expect(labelsAfter(replica, labels, type)).toEqual(want ? [{ metadata: { uid: 'uid-n1', labels: want } }] : [])
})

test('a node that does not exist gets no patch', () => {
  expect(labelsAfter({ node: 'n9' }, {})).toEqual([])
})
