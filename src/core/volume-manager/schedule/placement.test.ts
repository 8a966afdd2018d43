import { describe, expect, test } from 'vitest'
import { makePod, makeVolume, nodesWith } from '../../../../test/builders.ts'
import {
  asTask,
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  observeVolume,
  PATH,
} from '../../../../test/volume-builders.ts'
import type { Node } from '../../../api/node.ts'
import type { Pod } from '../../../api/pod.ts'
import type { DeletionStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import type { MoverPod } from '../observe.ts'
import type { VolumePlan } from '../replica/volume-plan.ts'
import { placeMover, searchState, slotAmong } from './placement.ts'
import { openNodeSlots } from './slots.ts'

const LABEL = 'vck.intelai.org/4b1d-0123456789abc'
const queued = makeReplica({ index: 9, state: 'Queued', node: undefined as never })
const UNSCHEDULABLE: Pod['status'] = { conditions: [{ type: 'PodScheduled', status: 'False' }] }

function planOf({
  replicas = [] as ReplicaStatus[],
  deletions = [] as DeletionStatus[],
  isMounted = false,
  nodeAffinity = nodesWith('data'),
  movers = [] as readonly MoverPod[],
} = {}): VolumePlan {
  return {
    id: 'vol1',
    config: makeVolume({ nodeAffinity }),
    moverConfig: undefined,
    before: undefined,
    set: { replicas, deletions, nextIndex: 10 },
    wanted: {
      revision: 'r',
      path: isMounted ? undefined : PATH,
      counts: new Map([[undefined, 1]]),
      allows: () => true,
      admits: () => true,
      isLost: () => false,
      mustStay: () => false,
      labelsOf: ({ shard }) => (shard === undefined ? [LABEL] : [LABEL, `${LABEL}-${shard}`]),
    },
    problems: [],
    shortage: undefined,
    movers,
    orphans: [],
    stopping: [],
  }
}

const podsOf = (movers: Pod[]) => observeVolume(makeVolumeInput({ movers })).pods

test.each<{ name: string; movers: Pod[]; want: string }>([
  { name: 'without movers', movers: [], want: 'idle' },
  { name: 'with a mover that has its node', movers: [makeMover({}, {}, 'n1')], want: 'idle' },
  { name: 'with a mover that has ended', movers: [makeMover({}, { phase: 'Failed' })], want: 'idle' },
  { name: 'with a mover to another directory', movers: [makeMover({ path: '/other' })], want: 'idle' },
  { name: 'with a mover of another volume', movers: [asTask({ id: 'vol2' }, makeMover())], want: 'idle' },
  { name: 'with a mover of another role', movers: [asTask({ role: 'deletion' }, makeMover())], want: 'idle' },
  { name: 'with a pod that is not a mover', movers: [makePod([])], want: 'idle' },
  {
    name: 'with a mover that waits beside one for which there is no node',
    movers: [makeMover(), makeMover({ index: 1 }, UNSCHEDULABLE)],
    want: 'unschedulable',
  },
  { name: 'with a mover that waits for the scheduler', movers: [makeMover()], want: 'searching' },
  { name: 'with a mover for which there is no node', movers: [makeMover({}, UNSCHEDULABLE)], want: 'unschedulable' },
])('the search for a node $name is $want', ({ movers, want }) => {
  expect(searchState(planOf({ movers: podsOf(movers) }))).toBe(want)
})

describe('the mover of a replica', () => {
  test.each<{ name: string; replica?: ReplicaStatus; plan?: VolumePlan; movers?: Pod[]; want: object | undefined }>([
    { name: 'is pinned to the node of its data', replica: makeReplica(), want: { on: 'n1' } },
    {
      name: 'waits while the data on its node is being deleted',
      replica: makeReplica(),
      plan: planOf({ deletions: [makeDeletion()] }),
      want: undefined,
    },
    {
      name: 'does not wait for the deletion of other data on its node',
      replica: makeReplica(),
      plan: planOf({ deletions: [makeDeletion({ path: '/other' })] }),
      want: { on: 'n1' },
    },
    {
      name: 'of data that is mounted may run on every allowed node',
      plan: planOf({ isMounted: true, replicas: [makeReplica({ node: 'n2' })] }),
      want: { affinity: nodesWith('data'), withoutLabels: [], notOn: [] },
    },
    {
      name: 'avoids nodes with the label of the whole volume',
      replica: { ...queued, shard: 'a' },
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: [] },
    },
    {
      name: 'avoids by name nodes with data and without the label, and nodes that are being cleaned up',
      plan: planOf({
        replicas: [
          makeReplica({ node: 'n3' }),
          makeReplica({ node: 'labelled' }),
          makeReplica({ node: 'n4', path: '/other' }),
        ],
        deletions: [makeDeletion({ node: 'n2' })],
      }),
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: ['n2', 'n3'] },
    },
    {
      name: 'avoids by name a node with one label of two',
      plan: planOf({ replicas: [makeReplica({ node: 'labelled', shard: 'a' })] }),
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: ['labelled'] },
    },
    {
      name: 'avoids by name a node that the cache does not have',
      plan: planOf({ replicas: [makeReplica({ node: 'n9' })] }),
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: ['n9'] },
    },
    {
      name: 'avoids no node because of a replica without a node or the deletion of other data',
      plan: planOf({ replicas: [queued], deletions: [makeDeletion({ path: '/other' })] }),
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: [] },
    },
    {
      name: 'avoids the nodes of other movers of the volume',
      movers: [makeMover({ index: 1 }, {}, 'n2'), makeMover({ index: 2 }, { phase: 'Succeeded' }, 'n1')],
      want: { affinity: nodesWith('data'), withoutLabels: [LABEL], notOn: ['n1', 'n2'] },
    },
    {
      name: 'avoids a node on which it failed while another one is free',
      plan: planOf({ nodeAffinity: {} }),
      replica: { ...queued, nodeFailures: [{ node: 'n1', reason: 'StartError', failures: 1, retryTime: at(-600) }] },
      want: { affinity: {}, withoutLabels: [LABEL], notOn: ['n1'] },
    },
    {
      name: 'tries the node again on which it failed when no other one is free',
      plan: planOf({ nodeAffinity: {}, replicas: ['n3', 'labelled'].map((node) => makeReplica({ node })) }),
      replica: { ...queued, nodeFailures: [{ node: 'n1', reason: 'StartError', failures: 1, retryTime: at(600) }] },
      want: { affinity: {}, withoutLabels: [LABEL], notOn: ['n3'] },
    },
  ])('$name', ({ replica = queued, plan = planOf(), movers = [], want }) => {
    const nodes = [makeNode('n1'), makeNode('n3'), makeNode('labelled', { labels: { [LABEL]: 'true' } })]

    const withMovers = { ...plan, movers: podsOf(movers) }
    expect(placeMover(replica, withMovers, makeVolumeInput({ nodes }), openNodeSlots([], 4))).toEqual(want)
  })
})

describe('a node whose disk is too small', () => {
  const nodeWith = (name: string, freeBytes?: number): Node => {
    const node = makeNode(name)
    const report = { root: '/var/datasets', freeBytes, totalBytes: 1e12, time: at(0) }
    const annotations =
      freeBytes === undefined ? {} : { [`disk.lodestone.dev/${fnv1a(report.root)}`]: JSON.stringify(report) }
    return { ...node, metadata: { ...node.metadata, annotations } }
  }
  // `movers.keepFree` is 1Gi.
  const small = 2 ** 30 + 99
  const large = 2 ** 30 + 100
  const replica = { ...queued, totalBytes: 100 }

  test.each<{ name: string; nodes: Node[]; slots?: Pod[]; notOn: string[] }>([
    { name: 'is avoided', nodes: [nodeWith('n1', small), nodeWith('n2', large)], notOn: ['n1'] },
    { name: 'is avoided for one that did not report', nodes: [nodeWith('n1', small), nodeWith('n2')], notOn: ['n1'] },
    {
      name: 'is tried when every other one is too small',
      nodes: [nodeWith('n1', small), nodeWith('n2', 0)],
      notOn: [],
    },
    {
      name: 'is avoided while a larger one has no free slot',
      nodes: [nodeWith('n1', small), nodeWith('n2', large)],
      slots: [makeMover({ path: '/other' }, { phase: 'Running' }, 'n2')],
      notOn: ['n1'],
    },
  ])('$name', ({ nodes, slots = [], notOn }) => {
    const plan = planOf({ nodeAffinity: {}, replicas: [replica] })
    const placement = placeMover(replica, plan, makeVolumeInput({ nodes }), openNodeSlots(slots, 1))
    expect(placement).toMatchObject({ notOn })
  })
})

describe('a disk that data filled together with another download', () => {
  const failure = { node: 'n3', reason: 'NoSpace', failures: 1, bytes: 50, retryTime: at(0) }
  const replica = { ...queued, nodeFailures: [failure], since: at(0), failures: 1 }
  const other = (verb: string, ...mover: Parameters<typeof makeMover>): Pod => {
    const { metadata, ...pod } = makeMover(...mover)
    return { ...pod, metadata: { ...metadata, labels: { ...metadata.labels, 'lodestone.dev/mover': verb } } }
  }
  const download = other('download', { path: '/var/datasets/other' }, { phase: 'Running' }, 'n1')
  const unplaced = { path: '/var/datasets/other' }
  const nodes = ['n1', 'n2', 'n3'].map((name) => makeNode(name))

  test.each<{ name: string; replica?: Partial<ReplicaStatus>; active?: Pod[]; minutes?: number; notOn: string[] }>([
    { name: 'is avoided while another download is there', notOn: ['n1', 'n3'] },
    { name: 'is free without another download', active: [], notOn: ['n3'] },
    {
      name: 'is any one while another mover has no node',
      active: [other('download', unplaced)],
      notOn: ['n1', 'n2', 'n3'],
    },
    {
      name: 'is free beside a mover without a node',
      active: [other('download', unplaced, UNSCHEDULABLE)],
      notOn: ['n3'],
    },
    {
      name: 'is free beside a mover that deletes',
      active: [other('delete', { path: '/var/datasets/other' }, { phase: 'Running' }, 'n1')],
      notOn: ['n3'],
    },
    {
      name: 'is free beside a download to another disk',
      active: [other('download', { path: '/mnt/other' }, { phase: 'Running' }, 'n1')],
      notOn: ['n3'],
    },
    {
      name: 'is free for data that did not fit from the start',
      replica: { nodeFailures: [{ ...failure, bytes: 0 }] },
      notOn: ['n3'],
    },
    {
      name: 'is free for data that failed for another reason',
      replica: { nodeFailures: [{ ...failure, reason: 'Unreachable' }] },
      notOn: ['n3'],
    },
    { name: 'is avoided for an hour after the first failure', minutes: 59, notOn: ['n1', 'n3'] },
    { name: 'is free after an hour', minutes: 60, notOn: ['n3'] },
    {
      name: 'is avoided for four hours after the third failure',
      replica: { failures: 3 },
      minutes: 239,
      notOn: ['n1', 'n3'],
    },
    { name: 'is free after four hours', replica: { failures: 9 }, minutes: 240, notOn: ['n3'] },
  ])('$name', ({ replica: more, active = [download], minutes = 0, notOn }) => {
    const one = { ...replica, ...more }
    const plan = planOf({ nodeAffinity: {}, replicas: [one] })
    const input = makeVolumeInput({ nodes, now: Date.parse(at(0)) + minutes * 60_000 })
    expect(placeMover(one, plan, input, openNodeSlots([], 4), active)).toMatchObject({ notOn })
  })
})

describe('a slot', () => {
  const anywhere = { notOn: ['n4'] }
  const { path: _, ...onNoPath } = makeReplica()
  const nodes = [
    ...['n1', 'n2', 'n3', 'n4'].map((name) => makeNode(name, { labels: { data: '' } })),
    { ...makeNode('tainted', { labels: { data: '' } }), spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } },
    makeNode('unready', { labels: { data: '' }, unreadySince: '2026-01-01T00:00:00Z' }),
    makeNode('other'),
  ]

  test.each([
    { name: 'is taken among the free nodes', perNode: 1, want: 0 },
    { name: 'is not available when all nodes are full', perNode: 0, want: undefined },
  ])('$name', ({ perNode, want }) => {
    expect(slotAmong(anywhere, planOf(), makeVolumeInput({ nodes }), openNodeSlots([], perNode))).toBe(want)
  })

  test.each([
    { name: 'with other data', plan: planOf({ replicas: [makeReplica({ node: 'n1', path: '/other' })] }) },
    { name: 'with the same data, if it is mounted', plan: planOf({ isMounted: true, replicas: [onNoPath] }) },
  ])('is taken on a node $name', ({ plan }) => {
    const input = makeVolumeInput({ nodes: nodes.slice(0, 1) })

    expect(slotAmong(anywhere, plan, input, openNodeSlots([], 1))).toBe(0)
  })

  test('is taken only for nodes that are allowed, ready, and without the data', () => {
    const slots = openNodeSlots([], 1)
    const plan = planOf({ replicas: [makeReplica({ node: 'n1' })], deletions: [makeDeletion({ node: 'n2' })] })
    const take = () => slotAmong(anywhere, plan, makeVolumeInput({ nodes }), slots)

    expect([take(), take()]).toEqual([0, undefined])
  })
})
