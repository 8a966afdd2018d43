import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { at, makeNode, makeReplica, PATH } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { nodesWithoutRoom, replicaSize } from './disk.ts'

describe('the size of the data', () => {
  test.each<{
    name: string
    others?: Partial<ReplicaStatus>[]
    config?: Partial<VolumeConfig>
    shard?: string
    want: number | undefined
  }>([
    { name: 'is that of a complete replica', others: [{ bytes: 7 }], want: 7 },
    { name: 'is what a mover listed', others: [{ state: 'Failed', bytes: 7, totalBytes: 9 }], want: 9 },
    { name: 'is not what an incomplete replica has', others: [{ state: 'Downloading', bytes: 7 }], want: 5 * 2 ** 30 },
    { name: 'is the capacity when nothing is known', want: 5 * 2 ** 30 },
    {
      name: 'is the capacity while only other data is known',
      others: [{ bytes: 7, revision: 'old' }],
      want: 5 * 2 ** 30,
    },
    { name: 'is unknown without a capacity', config: { capacity: '' }, want: undefined },
    { name: 'of a part is not the capacity', shard: 'a', others: [{ bytes: 7 }], want: undefined },
    {
      name: 'of a part is that of the same part',
      shard: 'a',
      others: [{ bytes: 7 }, { bytes: 8, shard: 'a' }],
      want: 8,
    },
  ])('$name', ({ others = [], config = {}, shard, want }) => {
    const replica = makeReplica({ state: 'Queued', ...(shard !== undefined && { shard }) })
    expect(replicaSize(replica, makeVolume({ capacity: '5Gi', ...config }), others.map(makeReplica))).toBe(want)
  })
})

function nodeWith(name: string, freeBytes?: number): Node {
  const node = makeNode(name)
  if (freeBytes === undefined) return node
  const report = { root: '/var/datasets', freeBytes, totalBytes: 1e12, time: at(0) }
  const annotations = { [`disk.lodestone.dev/${fnv1a(report.root)}`]: JSON.stringify(report) }
  return { ...node, metadata: { ...node.metadata, annotations } }
}

test('the data does not fit into less than its size and the reserve, if known', () => {
  const reserve = 2 ** 30
  const nodes = [nodeWith('n1', reserve + 99), nodeWith('n2', reserve + 100), nodeWith('n3')]
  expect(nodesWithoutRoom(nodes, { path: PATH, bytes: 100 }, VOLUME_SETTINGS)).toEqual(['n1'])
  expect(nodesWithoutRoom(nodes, { path: PATH, bytes: undefined }, VOLUME_SETTINGS)).toEqual([])
  expect(nodesWithoutRoom(nodes, { path: '/other/a', bytes: 100 }, VOLUME_SETTINGS)).toEqual([])
})
