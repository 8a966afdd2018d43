import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, nodesWith } from '../../../../test/builders.ts'
import {
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  PATH,
} from '../../../../test/volume-builders.ts'
import type { ReplicaStatus, UploadStatus } from '../../../api/volume-status.ts'
import type { VolumePlan } from '../replica/volume-plan.ts'
import { summarize, type VolumeSummary } from './summary.ts'

const config = makeVolume()
const manager = makeVolumeManager()
const DEPLOYED = { id: 'vol1', message: 'success', nodeAffinity: {}, revision: 'r' }

function planOf({
  count = 1,
  replicas = [] as ReplicaStatus[],
  ...more
}: Partial<VolumePlan> & { count?: number; replicas?: ReplicaStatus[] } = {}): VolumePlan {
  return {
    id: 'vol1',
    config,
    moverConfig: config,
    before: undefined,
    set: { replicas, deletions: [], nextIndex: 3 },
    wanted: {
      revision: 'r',
      path: PATH,
      counts: new Map([[undefined, count]]),
      allows: () => true,
      admits: () => true,
      isLost: () => false,
      labelsOf: () => [],
      mustStay: () => false,
    },
    problems: [],
    shortage: undefined,
    movers: [],
    orphans: [],
    stopping: [],
    ...more,
  }
}

function everyNodePlan(everyNode: { replicas: number; beyond: number }): VolumePlan {
  const plan = planOf({ count: everyNode.replicas, replicas: [makeReplica(), downloading] })
  return { ...plan, wanted: { ...(plan.wanted as NonNullable<typeof plan.wanted>), everyNode } }
}

const failing = (failures: number, more: Partial<ReplicaStatus> = {}) =>
  makeReplica({ state: 'Failed', attempt: 4, failures, reason: 'NoSpace', message: 'full', ...more })
const downloading = makeReplica({ state: 'Downloading', bytes: 5 })

interface Case {
  name: string
  plan: VolumePlan
  state: VolumeSummary['state']
  isComplete?: boolean
  message?: RegExp | string | undefined
  reason?: string
}

describe('a volume', () => {
  test.each<Case>([
    {
      name: 'with all replicas',
      plan: planOf({ replicas: [makeReplica()] }),
      state: 'usable',
      isComplete: true,
      message: 'success',
    },
    {
      name: 'whose first replica downloads',
      plan: planOf({ replicas: [downloading] }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'that was usable and has one of two replicas left',
      plan: planOf({ count: 2, replicas: [makeReplica(), downloading], before: DEPLOYED }),
      state: 'usable',
      message: 'success',
    },
    {
      name: 'that was never usable and has one of two replicas',
      plan: planOf({ count: 2, replicas: [makeReplica(), downloading] }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'that was usable and lost its last replica',
      plan: planOf({ replicas: [downloading], before: DEPLOYED }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'that was usable with another source',
      plan: planOf({ count: 2, replicas: [makeReplica()], before: { ...DEPLOYED, revision: 'old' } }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'with data of another source',
      plan: planOf({ replicas: [makeReplica({ revision: 'old' })] }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'with a copy on every node that was never usable and has one of two replicas',
      plan: everyNodePlan({ replicas: 2, beyond: 0 }),
      state: 'usable',
      message: 'success',
    },
    {
      name: 'with a copy on as many nodes as are allowed, but not on all',
      plan: everyNodePlan({ replicas: 1, beyond: 7 }),
      state: 'usable',
      message: 'success',
    },
    { name: 'that failed twice', plan: planOf({ replicas: [failing(2)] }), state: 'pending', message: undefined },
    {
      name: 'that failed three times',
      plan: planOf({ replicas: [failing(3)] }),
      state: 'failed',
      message: `error during data download using pod [name: ${makeMover({ attempt: 4 }).metadata.name}]: NoSpace: full`,
    },
    {
      name: 'whose next attempt waits after three failures',
      plan: planOf({ replicas: [failing(3, { state: 'Queued' })] }),
      state: 'failed',
      message: /-3\]: NoSpace: full$/,
    },
    {
      name: 'that failed three times without a reason',
      plan: planOf({ replicas: [makeReplica({ state: 'Failed', failures: 3 })] }),
      state: 'failed',
      message: /-1\]: failed 3 times$/,
    },
    {
      name: 'that failed three times without a message',
      plan: planOf({ replicas: [makeReplica({ state: 'Failed', failures: 3, reason: 'NoSpace' })] }),
      state: 'failed',
      message: /-1\]: NoSpace: $/,
    },
    {
      name: 'that has data after earlier failures',
      plan: planOf({ count: 2, replicas: [makeReplica({ failures: 3, isPermanent: true }), downloading] }),
      state: 'pending',
      message: undefined,
    },
    {
      name: 'that failed once permanently',
      plan: planOf({ replicas: [failing(1, { isPermanent: true })] }),
      state: 'failed',
      message: /NoSpace: full$/,
    },
    {
      name: 'that stays usable while a replica fails',
      plan: planOf({ count: 2, replicas: [makeReplica(), failing(9)], before: DEPLOYED }),
      state: 'usable',
      message: 'success',
    },
    {
      name: 'with too few nodes',
      plan: planOf({ shortage: 'replicas [3] …' }),
      state: 'failed',
      message: 'replicas [3] …',
    },
    {
      name: 'with an invalid spec',
      plan: planOf({ wanted: undefined as never, problems: ['a', 'b'], before: DEPLOYED, replicas: [makeReplica()] }),
      state: 'failed',
      message: 'a; b',
    },
    {
      name: 'that is deleted',
      plan: planOf({ config: undefined as never, wanted: undefined as never }),
      state: 'deleted',
      message: 'deleted',
    },
    {
      name: 'whose data is in use',
      plan: planOf({
        config: undefined as never,
        wanted: undefined as never,
        set: {
          replicas: [],
          deletions: [makeDeletion({ reason: 'InUse', message: 'in use by default/p' }), makeDeletion({ node: 'n2' })],
          nextIndex: 3,
        },
      }),
      state: 'deleting',
      message: 'deleting: n1: in use by default/p (and 1 more)',
      reason: 'InUse',
    },
    {
      name: 'whose deletion failed',
      plan: planOf({
        wanted: undefined as never,
        set: {
          replicas: [],
          deletions: [makeDeletion({ state: 'Failed', reason: 'Unexpected', message: 'no' })],
          nextIndex: 3,
        },
      }),
      state: 'deleting',
      message: 'deleting: n1: Unexpected: no',
      reason: 'Unexpected',
    },
    {
      name: 'whose changes are written back',
      plan: planOf({
        wanted: undefined as never,
        replicas: [makeReplica({ upload: { state: 'Failed', attempt: 1, reason: 'AccessDenied', message: 'no' } })],
      }),
      state: 'deleting',
      message: 'deleting: n1: changes are written back: AccessDenied: no',
    },
    {
      name: 'whose changes are being written back, with data on other nodes',
      plan: planOf({
        wanted: undefined as never,
        replicas: [
          makeReplica({ inUse: true }),
          makeReplica({ node: 'n2', upload: { state: 'Uploading', attempt: 1 } }),
        ],
      }),
      state: 'deleting',
      message: 'deleting: n2: changes are written back',
    },
    {
      name: 'whose changes are not written back yet',
      plan: planOf({ wanted: undefined as never, replicas: [makeReplica({ inUse: true })] }),
      state: 'deleting',
      message: 'deleting: n1: in use; its changes are written back after that',
    },
    {
      name: 'whose data waits for its deletion',
      plan: planOf({
        wanted: undefined as never,
        set: { replicas: [], deletions: [makeDeletion()], nextIndex: 3 },
      }),
      state: 'deleting',
      message: 'deleting: n1: Waiting',
    },
    {
      name: 'whose deletion has a mover that is being stopped',
      plan: planOf({
        wanted: undefined as never,
        orphans: [makeMover()],
        set: { replicas: [], deletions: [makeDeletion()], nextIndex: 3 },
      }),
      state: 'deleting',
      message: 'deleting: n1: Waiting',
    },
    {
      name: 'with data in use beside data that is deleted',
      plan: planOf({
        wanted: undefined as never,
        set: { replicas: [makeReplica({ inUse: true })], deletions: [makeDeletion({ node: 'n2' })], nextIndex: 3 },
      }),
      state: 'deleting',
      message: 'deleting: n1: in use; its changes are written back after that',
    },
    {
      name: 'with a mover that cannot end any more',
      plan: planOf({ wanted: undefined as never, orphans: [makeMover()] }),
      state: 'deleted',
      message: 'deleted',
    },
    {
      name: 'whose changes wait for its node',
      plan: planOf({ wanted: undefined as never, replicas: [makeReplica({ state: 'Unreachable' })] }),
      state: 'deleting',
      message: 'deleting: n1: the node is not ready; its changes are written back after that',
    },
    {
      name: 'with a mover that is being stopped',
      plan: planOf({ wanted: undefined as never, stopping: [makeMover()] }),
      state: 'deleting',
      message: 'deleting: movers are being stopped',
    },
  ])('$name is $state', ({ plan, state, isComplete = false, message, reason }) => {
    const summary = summarize(makeVolumeInput({ manager }), plan)

    expect([summary.state, summary.isComplete, summary.reason]).toEqual([state, isComplete, reason])
    expect(summary.status.message).toEqual(message instanceof RegExp ? expect.stringMatching(message) : message)
  })

  test('that is Local counts the nodes on which its directory was checked', () => {
    const local = makeVolume({ sourceType: 'Local', replicas: 2, nodeAffinity: nodesWith('data') })
    const nodes = ['n1', 'n2', 'n3'].map((name) => makeNode(name, { labels: { data: '' } }))
    const checked = [makeReplica(), makeReplica({ index: 1, node: 'n2' }), makeReplica({ index: 2, state: 'Failed' })]
    const states = [checked, checked.slice(1)].map(
      (replicas) => summarize(makeVolumeInput({ nodes }), planOf({ config: local, count: 3, replicas })).state,
    )

    expect(states).toEqual(['usable', 'pending'])
  })

  test('publishes its source, its parts, and the size of the largest replica', () => {
    const options = { ...config.options, distributionStrategy: '{"a": 1, "b": 1}' }
    const replicas = [
      makeReplica({ shard: 'a', bytes: 3 }),
      makeReplica({ index: 1, shard: 'b', bytes: 7, node: 'n2' }),
      makeReplica({ index: 2, shard: 'b', state: 'Downloading', bytes: 9, node: 'n3' }),
      makeReplica({ index: 3, shard: 'b', node: 'n4' }),
    ]
    const plan = planOf({ config: makeVolume({ options }), replicas })
    const wanted = plan.wanted && {
      ...plan.wanted,
      counts: new Map([
        ['a', 1],
        ['b', 1],
      ]),
    }

    const { status } = summarize(makeVolumeInput(), { ...plan, wanted })

    expect(status).toMatchObject({
      message: 'success',
      revision: 'r',
      readyReplicas: 3,
      bytes: 7,
      nextIndex: 3,
      volumeSource: { hostPath: { path: expect.stringMatching(/\/data$/) } },
      shards: [
        { name: 'a', readyReplicas: 1 },
        { name: 'b', readyReplicas: 2 },
      ],
    })
  })

  test('has its replicas and deletions in its status', () => {
    const replicas = [makeReplica({ state: 'Queued', node: undefined as never })]
    const deletions = [makeDeletion()]
    const set = { replicas, deletions, nextIndex: 3 }
    const { status } = summarize(makeVolumeInput(), planOf({ set }))

    expect(status).toStrictEqual({
      id: 'vol1',
      volumeSource: expect.anything(),
      nodeAffinity: expect.anything(),
      revision: 'r',
      readyReplicas: 0,
      ...set,
    })
  })

  test('has a remark when a requested check does not begin yet', () => {
    const input = (value: string) =>
      makeVolumeInput({ manager: makeVolumeManager([], { annotations: { 'lodestone.dev/check': value } }) })
    const remarksAfter = (seconds: number) =>
      summarize(input('2'), planOf({ replicas: [makeReplica({ requestedCheckTime: at(-seconds) })] })).remarks

    expect([remarksAfter(599), remarksAfter(600)]).toEqual([
      [`the requested check begins at ${at(1)}: 10 minutes after the last requested one`],
      [],
    ])
  })

  test('has only its id and its message when it is deleted', () => {
    const { status } = summarize(makeVolumeInput(), planOf({ wanted: undefined as never }))

    expect(status).toStrictEqual({ id: 'vol1', message: 'deleted', nodeAffinity: {}, nextIndex: 3 })
  })

  test('is complete only with all replicas of each part', () => {
    const counts = new Map([
      ['a', 1],
      ['b', 2],
    ])
    const parts = (...shards: string[]) =>
      shards.map((shard, index) => makeReplica({ shard, index, node: `n${index + 1}` }))
    const stateOf = (replicas: ReplicaStatus[], before?: VolumePlan['before']) => {
      const plan = planOf({ replicas, before })
      const { state, isComplete } = summarize(makeVolumeInput(), {
        ...plan,
        wanted: plan.wanted && { ...plan.wanted, counts },
      })
      return [state, isComplete]
    }

    expect([
      stateOf(parts('a', 'b', 'b')),
      stateOf(parts('a', 'b')),
      stateOf(parts('a', 'b'), DEPLOYED),
      stateOf(parts('b', 'b'), DEPLOYED),
    ]).toEqual([
      ['usable', true],
      ['pending', false],
      ['usable', false],
      ['pending', false],
    ])
  })

  test('keeps its volume source while its spec is invalid', () => {
    const before = { ...DEPLOYED, volumeSource: { hostPath: { path: '/data' } }, nodeAffinity: nodesWith('data') }

    const { status } = summarize(makeVolumeInput(), planOf({ wanted: undefined as never, problems: ['a'], before }))

    expect(status).toEqual({ ...before, message: 'a', nextIndex: 3 })
  })

  test('publishes no volume source when its spec was never valid', () => {
    const { status } = summarize(makeVolumeInput(), planOf({ wanted: undefined as never, problems: ['a'] }))

    expect(status).toStrictEqual({ id: 'vol1', message: 'a', nodeAffinity: {}, nextIndex: 3 })
  })
})

test('a long message is cut', () => {
  const { status } = summarize(makeVolumeInput(), planOf({ wanted: undefined as never, problems: ['x'.repeat(5000)] }))

  expect(status.message).toHaveLength(2048)
})

test.each<{ upload: Partial<UploadStatus>; want: string | undefined }>([
  { upload: { state: 'Failed', failures: 2, reason: 'Unreachable', message: 'no' }, want: undefined },
  { upload: { state: 'Failed', failures: 3, reason: 'Unreachable', message: 'no' }, want: 'Unreachable: no' },
  { upload: { state: 'Uploading', failures: 3 }, want: 'failed 3 times' },
  {
    upload: { state: 'Failed', failures: 1, isPermanent: true, reason: 'WriteConflict', message: 's3://a' },
    want: 'WriteConflict: s3://a',
  },
  // The state does not change back and forth with each attempt.
  {
    upload: { state: 'Uploading', failures: 1, isPermanent: true, lastFailure: 'WriteConflict: s3://a' },
    want: 'WriteConflict: s3://a',
  },
  { upload: { state: 'Queued' }, want: undefined },
])('a write-back with $upload keeps failing: $want', ({ upload, want }) => {
  const replica = makeReplica({ upload: { state: 'Failed', attempt: 1, ...upload } })
  const { writeBack } = summarize(makeVolumeInput(), planOf({ replicas: [replica] }))

  expect(writeBack).toBe(want && `${replica.node}: changes are not written back: ${want}`)
})
