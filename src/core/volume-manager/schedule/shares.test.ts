import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW } from '../../../../test/builders.ts'
import { asTask, at, makeDeletion, makeMover, makeReplica } from '../../../../test/volume-builders.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { firstManagers, grantSlots, moverAllowance, type SharesInput } from './shares.ts'
import { shareKey } from './turns.ts'

const { node: _, ...unpinned } = makeReplica({ state: 'Queued' })
/** A download that waits since then, on its node or anywhere. */
const queued = (since: number, node?: string): ReplicaStatus => ({
  ...unpinned,
  since: at(since),
  ...(node && { node }),
})
const check = (node: string) =>
  makeReplica({ node, maintenance: { kind: 'Check', state: 'Queued', attempt: 1, since: at(0) } })

/** A VolumeManager `namespace/name` that waits. */
function waits(key: string, volume: Partial<VolumeStatus>, priority = 0): VolumeManager {
  const [namespace = '', name = ''] = key.split('/')
  const status = { volumes: [{ id: 'vol1', nodeAffinity: {}, ...volume }] }
  const manager = makeVolumeManager([], { status })
  return { ...manager, metadata: { namespace, name }, spec: { volumeConfigs: [{ ...makeVolume(), priority }] } }
}

/** A mover of a namespace that runs on a node. */
const runs = (namespace: string, node = 'n9', slot = 0): Pod => {
  const pod = asTask({ manager: `${namespace}/running` }, makeMover({}, { phase: 'Running' }, node))
  const labels = { ...pod.metadata.labels, 'lodestone.dev/mover-slot': String(slot) }
  return { ...pod, metadata: { ...pod.metadata, labels } }
}

const input = (waiting: VolumeManager[], more: Partial<SharesInput> = {}): SharesInput => ({
  waiting,
  active: [],
  served: new Map(),
  settings: { maxInAll: 3, maxPerNode: 2 },
  now: NOW,
  ...more,
})

const grantedIn = (shares: SharesInput) => grantSlots(shares, () => true).granted.map(({ manager }) => manager)

describe('a free slot', () => {
  test.each<{ name: string; waiting: VolumeManager[]; more?: Partial<SharesInput>; want: string[] }>([
    {
      name: 'goes to each namespace in turn, whatever priority one of them writes',
      waiting: [
        waits('a/1', { replicas: [queued(0)] }, 1e9),
        waits('a/2', { replicas: [queued(0)] }, 1e9),
        waits('a/3', { replicas: [queued(0)] }, 1e9),
        waits('b/1', { replicas: [queued(9)] }, -1e9),
      ],
      want: ['a/1', 'b/1', 'a/2'],
    },
    {
      name: 'goes to the namespace with the fewest movers, also if another one waits longer',
      waiting: [waits('a/1', { replicas: [queued(0)] }), waits('b/1', { replicas: [queued(9)] })],
      more: { active: [runs('a'), runs('a')] },
      want: ['b/1'],
    },
    {
      name: 'goes to the namespace with the fewest movers, also if another one deletes data',
      waiting: [
        waits('a/1', { deletions: [makeDeletion({ state: 'Queued' })] }),
        waits('b/1', { replicas: [queued(9)] }),
      ],
      more: { active: [runs('a'), runs('a')] },
      want: ['b/1'],
    },
    {
      name: 'goes to the namespace that waits longest among those with as many movers',
      waiting: [waits('a/1', { replicas: [queued(5)] }), waits('b/1', { replicas: [queued(3)] })],
      more: { settings: { maxInAll: 1, maxPerNode: 2 } },
      want: ['b/1'],
    },
    {
      name: 'counts the wait of a namespace since its last mover was started',
      waiting: [waits('a/1', { replicas: [queued(0)] }), waits('b/1', { replicas: [queued(9)] })],
      more: { settings: { maxInAll: 1, maxPerNode: 2 }, served: new Map([[shareKey('a'), NOW + 10_000]]) },
      want: ['b/1'],
    },
    {
      name: 'goes to the first name among equal namespaces',
      waiting: [waits('b/1', { replicas: [queued(0)] }), waits('a/1', { replicas: [queued(0)] })],
      more: { settings: { maxInAll: 1, maxPerNode: 2 } },
      want: ['a/1'],
    },
    {
      name: 'of a node goes to the namespace with the fewest movers there, not in the cluster',
      waiting: [waits('a/1', { replicas: [queued(0, 'n1')] }), waits('b/1', { replicas: [queued(9, 'n1')] })],
      more: { active: [runs('a', 'n1'), runs('b', 'n2'), runs('b', 'n3')], settings: { maxInAll: 9, maxPerNode: 2 } },
      want: ['b/1'],
    },
    {
      name: 'of a node counts the wait of a namespace since its last mover on the node',
      waiting: [waits('a/1', { replicas: [queued(0, 'n1')] }), waits('b/1', { replicas: [queued(9, 'n1')] })],
      more: {
        settings: { maxInAll: 9, maxPerNode: 1 },
        served: new Map([
          [shareKey('a', 'n1'), NOW + 10_000],
          [shareKey('b'), NOW + 20_000],
        ]),
      },
      want: ['b/1'],
    },
    {
      name: 'does not go to more movers of a node than it may have',
      waiting: [waits('a/1', { replicas: [queued(0, 'n1'), queued(1, 'n1'), queued(2, 'n1')] })],
      want: ['a/1', 'a/1'],
    },
    {
      name: 'goes to a check of a namespace without movers before the third download of another one',
      waiting: [
        waits('a/1', { replicas: [queued(0, 'n1'), queued(0, 'n2'), queued(0, 'n3')] }),
        waits('b/1', { replicas: [check('n1')] }),
      ],
      want: ['a/1', 'b/1', 'a/1'],
    },
    {
      name: 'does not go to more checks than a quarter of all slots',
      waiting: [waits('a/1', { replicas: [check('n1'), check('n2')] }), waits('b/1', { replicas: [check('n3')] })],
      want: ['a/1'],
    },
    {
      name: 'does not go to a mover whose previous Pod exists, and keeps no slot for it',
      waiting: [waits('a/1', { replicas: [queued(0)] }), waits('b/1', { replicas: [queued(9)] })],
      more: { isBlocked: ({ namespace }) => namespace === 'a' },
      want: ['b/1'],
    },
    {
      name: 'does not go to a preempted mover before the end of its back-off',
      waiting: [
        waits('a/1', { replicas: [{ ...queued(-9), reason: 'Preempted', retryTime: at(1) }] }),
        waits('b/1', { replicas: [{ ...queued(9), reason: 'Preempted', retryTime: at(0) }] }),
      ],
      want: ['b/1'],
    },
  ])('$name', ({ waiting, more = {}, want }) => {
    expect(grantedIn(input(waiting, more))).toEqual(want)
    expect(grantedIn(input([...waiting].reverse(), more))).toEqual(want)
  })

  test('is counted for the namespace of the VolumeManager, if all share a namespace', () => {
    const inOne = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, namespace: 'movers' } })
    const waiting = [waits('a/1', { replicas: [queued(0)] }), waits('b/1', { replicas: [queued(9)] })]

    expect(grantedIn(input(waiting, { active: [runs('a'), runs('a')].map(inOne) }))).toEqual(['b/1'])
  })
})

test('a VolumeManager may start as many movers on each node as it has slots there', () => {
  const waiting = [
    waits('a/1', { replicas: [queued(0, 'n1'), queued(0, 'n1'), queued(0, 'n2')] }),
    waits('b/1', { replicas: [queued(0, 'n1')] }),
  ]
  const settings = { maxInAll: 9, maxPerNode: 2 }

  expect(moverAllowance('a/1', input(waiting, { settings }))).toEqual({
    slots: 2,
    active: [],
    onNodes: new Map([
      ['n1', 1],
      ['n2', 1],
    ]),
  })
})

test('after the end of a mover, VolumeManagers of each namespace are planned first', () => {
  const many = Array.from({ length: 9 }, (_, i) => waits(`a/${i}`, { replicas: [queued(0)] }, 9))
  const stuck = waits('b/1', { replicas: [{ ...queued(0), reason: 'NoNode' }] })
  const waiting = [...many, stuck, waits('c/1', { replicas: [queued(9)] })]

  expect(firstManagers(input(waiting), 3)).toEqual(['a/0', 'c/1', 'a/1'])
  expect(firstManagers(input([stuck, ...many.slice(0, 1)]), 3)).toEqual(['a/0', 'b/1'])
})
