import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, nodesWith } from '../../../../test/builders.ts'
import { at, makeNode, makeReplica, makeVolumeInput } from '../../../../test/volume-builders.ts'
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { countEveryNode } from './volume-plan.ts'

const unready = (name: string) => makeNode(name, { unreadySince: at(-9) })
const labelled = (name: string) => makeNode(name, { labels: { gpu: '' } })
const tainted = (key: string): Node => ({ ...makeNode('n1'), spec: { taints: [{ key, effect: 'NoSchedule' }] } })
const windows = makeNode('n1', { labels: { 'kubernetes.io/os': 'windows' } })

function count(
  nodes: Node[],
  replicas: Partial<ReplicaStatus>[] = [],
  config: Partial<VolumeConfig> = {},
  volumes = 1,
) {
  const manager = makeVolumeManager(Array.from({ length: volumes }, (_, i) => ({ id: `v${i}`, onEveryNode: true })))
  return countEveryNode(makeVolumeInput({ manager, nodes }), makeVolume(config), replicas.map(makeReplica))
}

test.each<{
  name: string
  nodes: Node[]
  replicas?: Partial<ReplicaStatus>[]
  config?: Partial<VolumeConfig>
  want: number
}>([
  { name: 'every node', nodes: [makeNode('n1'), makeNode('n2')], want: 2 },
  {
    name: 'only nodes that the affinity allows',
    nodes: [labelled('n1'), labelled('n2'), makeNode('n3')],
    config: { nodeAffinity: nodesWith('gpu') },
    want: 2,
  },
  { name: 'no node that is not ready', nodes: [makeNode('n1'), unready('n2')], want: 1 },
  {
    name: 'a node with a replica that is not ready for a moment',
    nodes: [makeNode('n2'), unready('n1')],
    replicas: [{}],
    want: 2,
  },
  {
    name: 'no node that is lost',
    nodes: [makeNode('n2'), unready('n1')],
    replicas: [{ state: 'Unreachable' }],
    want: 1,
  },
  { name: 'no node with a taint of an administrator', nodes: [tainted('team'), makeNode('n2')], want: 1 },
  {
    name: 'a node with a taint that is tolerated',
    nodes: [tainted('team'), makeNode('n2')],
    config: { tolerations: [{ operator: 'Exists' }] },
    want: 2,
  },
  {
    name: 'a node with a taint of the node controller',
    nodes: [tainted('node.kubernetes.io/memory-pressure'), makeNode('n2')],
    want: 2,
  },
  { name: 'a cordoned node with a replica', nodes: [tainted('team'), makeNode('n2')], replicas: [{}], want: 2 },
  { name: 'no node with another operating system', nodes: [windows, makeNode('n2')], want: 1 },
  {
    name: 'no node with a replica that the affinity allows no more',
    nodes: [makeNode('n1'), labelled('n2')],
    replicas: [{}],
    config: { nodeAffinity: nodesWith('gpu') },
    want: 1,
  },
  { name: 'one replica at least', nodes: [], want: 1 },
])('counts $name', ({ nodes, replicas, config, want }) => {
  expect(count(nodes, replicas, config)).toEqual({ replicas: want, beyond: 0 })
})

test('the volumes of a VolumeManager share the limit', () => {
  const nodes = Array.from({ length: 1010 }, (_, i) => makeNode(`n${i}`))
  expect(count(nodes)).toEqual({ replicas: 1000, beyond: 10 })
  expect(count(nodes, [], {}, 3)).toEqual({ replicas: 333, beyond: 677 })
})
