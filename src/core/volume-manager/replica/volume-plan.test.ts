import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager, NOW, nodesWith } from '../../../../test/builders.ts'
import {
  asTask,
  at,
  makeDeletion,
  makeMover,
  makeNode,
  makeReplica,
  makeVolumeInput,
  observeVolume,
} from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import { DELETE_IN_USE_ANNOTATION } from '../../../api/lodestone.ts'
import type { Node } from '../../../api/node.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, UploadStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { terminationMessage } from '../../mover-contract/termination-message.ts'
import type { VolumeManagerInput } from '../input.ts'
import { directoryOf, moverName } from '../rules/names.ts'
import { revisionOf } from '../rules/source-types.ts'
import { planVolume, type VolumePlan } from './volume-plan.ts'

const LOCAL = { sourceType: 'Local', options: { path: '/mnt/local/sales' }, nodeAffinity: nodesWith('disk') }
const NFS = { sourceType: 'NFS', accessMode: 'ReadOnlyMany', options: { server: 'nfs', path: '/' } } as const
const onNoPath = ({ path: _, ...replica }: ReplicaStatus) => replica
const RESYNC = { options: { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/', resync: 'true' } }

interface Case {
  config?: Partial<VolumeConfig>
  volume?: (current: { revision: string; path: string }) => Partial<VolumeStatus>
  goal?: 'present' | 'deleted'
  isInSpec?: boolean
  annotations?: Record<string, string>
  input?: Partial<VolumeManagerInput>
  movers?: (path: string) => Pod[]
}

function planOf({
  config = {},
  volume,
  goal = 'present',
  isInSpec = true,
  annotations,
  input,
  movers,
}: Case): VolumePlan {
  const bare = makeVolumeManager([config])
  const [first] = bare.spec.volumeConfigs as [VolumeConfig]
  const path = directoryOf(bare, first)
  const status = volume && {
    volumes: [{ id: 'vol1', nodeAffinity: {}, nextIndex: 5, ...volume({ revision: revisionOf(first), path }) }],
  }
  const manager = makeVolumeManager([config], { ...(status && { status }), ...(annotations && { annotations }) })
  const gathered = { ...makeVolumeInput({ manager, movers: movers?.(path) ?? [] }), ...input }
  return planVolume(gathered, observeVolume(gathered), isInSpec ? first : undefined, goal)
}

/** A replica on n1, which does not answer since a time, beside nodes that are ready. */
function onLostNode(unreadySeconds: number, replica: Partial<ReplicaStatus>, ...others: string[]): Case {
  const lost = makeNode('n1', { unreadySince: at(unreadySeconds) })
  return {
    volume: (current) => ({ replicas: [makeReplica({ ...current, ...replica })] }),
    input: { nodes: makeVolumeInput({ nodes: [lost, ...others.map((name) => makeNode(name))] }).nodes },
  }
}

const short = ({ set }: VolumePlan) => ({
  replicas: set.replicas.map(({ index, state }) => `${index} ${state}`),
  deletions: set.deletions.map(({ node, cause, state }) => `${node} ${cause} ${state}`),
})

describe('the plan of a volume', () => {
  test.each<Case & { name: string; replicas: string[]; deletions?: string[] }>([
    { name: 'adds the replicas of a new volume', config: { replicas: 2 }, replicas: ['0 Queued', '1 Queued'] },
    {
      name: 'adds one replica for NFS, to check it',
      config: { ...NFS, replicas: 3 },
      replicas: ['0 Queued'],
    },
    { name: 'adds none when its spec is invalid', config: { options: {} }, replicas: [] },
    { name: 'adds none for local data without a node', config: LOCAL, replicas: [] },
    {
      name: 'adds one replica for each node that may have local data, to check its directory',
      config: LOCAL,
      input: {
        nodes: makeVolumeInput({ nodes: ['n1', 'n2'].map((name) => makeNode(name, { labels: { disk: '' } })) }).nodes,
      },
      replicas: ['0 Queued', '1 Queued'],
    },
    {
      name: 'deletes nothing when local data is removed from the spec',
      config: LOCAL,
      isInSpec: false,
      volume: ({ revision }) => ({ replicas: [makeReplica({ revision, path: LOCAL.options.path })] }),
      replicas: [],
    },
    {
      name: 'keeps the replica of NFS, whatever nodes are allowed',
      config: { ...NFS, nodeAffinity: nodesWith('disk') },
      volume: ({ revision }) => ({ replicas: [{ ...onNoPath(makeReplica()), revision }] }),
      replicas: ['0 Ready'],
    },
    {
      name: 'keeps its replicas when its spec becomes invalid',
      config: { labels: {} },
      volume: (current) => ({ replicas: [makeReplica(current)] }),
      replicas: ['0 Ready'],
    },
    {
      name: 'deletes all data of a volume that is removed from the spec',
      isInSpec: false,
      volume: (current) => ({ replicas: [makeReplica(current)] }),
      replicas: [],
      deletions: ['n1 Removed Waiting'],
    },
    {
      name: 'deletes all data of a completed volume',
      goal: 'deleted',
      volume: (current) => ({ replicas: [makeReplica(current)] }),
      replicas: [],
      deletions: ['n1 Removed Waiting'],
    },
    ...(['Queued', 'Failed', 'Downloading'] as const).map((state) => ({
      name: `moves a download that is ${state} from a node that does not answer`,
      ...onLostNode(-300, { state }, 'n2'),
      replicas: ['6 Queued'],
      deletions: ['n1 Moved Waiting'],
    })),
    {
      name: 'keeps a download on a node that does not answer for a shorter time',
      ...onLostNode(-299, { state: 'Queued' }, 'n2'),
      replicas: ['0 Queued'],
    },
    {
      name: 'keeps a download on a node that does not answer if no other node can take it',
      ...onLostNode(-300, { state: 'Queued' }),
      replicas: ['0 Queued'],
    },
    {
      name: 'keeps a download on a node that does not answer if each node gets a copy',
      ...onLostNode(-300, { state: 'Queued' }, 'n2'),
      config: { onEveryNode: true, replicas: undefined as never },
      replicas: ['0 Queued', '5 Queued'],
    },
    {
      name: 'keeps a replica on a node that may have the only copy of changes',
      ...onLostNode(-300, { state: 'Queued', isUnchecked: true, lastUsedTime: at(-9) }, 'n2'),
      config: RESYNC,
      replicas: ['0 Queued'],
    },
    {
      name: 'keeps data with changes until they are written back',
      config: RESYNC,
      goal: 'deleted',
      volume: (current) => ({ replicas: [makeReplica({ ...current, lastUsedTime: at(-9) })] }),
      replicas: ['0 Ready'],
    },
    {
      name: 'deletes data with changes when the volume has no resync',
      goal: 'deleted',
      volume: (current) => ({ replicas: [makeReplica({ ...current, lastUsedTime: at(-9) })] }),
      replicas: [],
      deletions: ['n1 Removed Waiting'],
    },
    {
      name: 'deletes incomplete data, which has no changes',
      config: RESYNC,
      goal: 'deleted',
      volume: (current) => ({
        replicas: [makeReplica({ ...current, state: 'Failed', retryTime: at(9), lastUsedTime: at(-9) })],
      }),
      replicas: [],
      deletions: ['n1 Removed Waiting'],
    },
    {
      name: 'deletes data with changes when the annotation allows it',
      config: RESYNC,
      goal: 'deleted',
      annotations: { [DELETE_IN_USE_ANNOTATION]: 'true' },
      volume: (current) => ({ replicas: [makeReplica({ ...current, lastUsedTime: at(-9) })] }),
      replicas: [],
      deletions: ['n1 Removed Queued'],
    },
    {
      name: 'moves data off a node that is not allowed any more',
      config: { nodeAffinity: nodesWith('disk') },
      volume: (current) => ({ replicas: [makeReplica(current), makeReplica({ ...current, index: 1, node: 'n2' })] }),
      input: { nodes: makeVolumeInput({ nodes: [makeNode('n1'), makeNode('n2', { labels: { disk: '' } })] }).nodes },
      replicas: ['1 Ready'],
      deletions: ['n1 Moved Waiting'],
    },
    {
      name: 'cleans up a node that a failed mover left',
      volume: (current) => ({ replicas: [makeReplica({ ...current, state: 'Starting', since: at(-9999) })] }),
      movers: (path) => [makeMover({ path }, { phase: 'Pending' }, 'n1')],
      replicas: ['0 Failed'],
      deletions: ['n1 Abandoned Waiting'],
    },
    {
      name: 'cleans up after a mover that it does not need',
      volume: () => ({}),
      config: { replicas: 1 },
      movers: (path) => [makeMover({ path, index: 9 }, { phase: 'Running' }, 'n3')],
      replicas: ['5 Queued'],
      deletions: ['n3 Abandoned Waiting'],
    },
    {
      name: 'cleans up after a mover in another directory of a node that has data',
      volume: (current) => ({ replicas: [makeReplica(current), makeReplica({ ...current, index: 1, node: 'n2' })] }),
      config: { replicas: 2 },
      movers: (path) => [
        makeMover({ path: path.replace(/[^-]+$/, 'a'.repeat(13)), index: 9 }, { phase: 'Running' }, 'n1'),
        makeMover({ path, index: 8 }, { phase: 'Running' }, 'n2'),
      ],
      replicas: ['0 Ready', '1 Ready'],
      deletions: ['n1 Abandoned Waiting'],
    },
    {
      name: 'does not clean up after a mover without a node',
      volume: () => ({}),
      movers: (path) => [makeMover({ path, index: 9 }, { phase: 'Pending' })],
      replicas: ['5 Queued'],
    },
    {
      name: 'does not clean up after a mover without a directory',
      volume: () => ({}),
      movers: () => [makeMover({ path: undefined as never, index: 9 }, { phase: 'Running' }, 'n3')],
      replicas: ['5 Queued'],
    },
    {
      name: 'does not clean up after a mover of another role',
      volume: () => ({}),
      movers: (path) => [asTask({ role: 'deletion' }, makeMover({ path, index: 9 }, { phase: 'Running' }, 'n3'))],
      replicas: ['5 Queued'],
    },
    {
      name: 'does not clean up after movers of other volumes',
      volume: () => ({}),
      movers: (path) => [asTask({ id: 'vol2' }, makeMover({ path, index: 9 }, { phase: 'Running' }, 'n3'))],
      replicas: ['5 Queued'],
    },
    {
      name: 'drops a deletion whose node is gone',
      volume: ({ path }) => ({ deletions: [makeDeletion({ node: 'n9', path })] }),
      replicas: ['5 Queued'],
    },
    {
      name: 'waits for the pods of a deletion on its node',
      volume: () => ({ deletions: [makeDeletion({ since: at(-60), path: '/old' })] }),
      input: { users: (path) => (path === '/old' ? [{ pod: 'default/p', node: 'n1' }] : []) },
      replicas: ['5 Queued'],
      deletions: ['n1 ScaledDown Waiting'],
    },
    {
      name: 'does not wait for the pods of other nodes',
      volume: () => ({ deletions: [makeDeletion({ since: at(-60), path: '/old' })] }),
      input: { users: () => [{ pod: 'default/p', node: 'n2' }] },
      replicas: ['5 Queued'],
      deletions: ['n1 ScaledDown Queued'],
    },
  ])('$name', ({ replicas, deletions = [], ...given }) => {
    expect(short(planOf(given))).toEqual({ replicas, deletions })
  })

  test.each<{ name: string; given: Case; want: string | undefined }>([
    { name: 'as many as nodes allow', given: { config: { replicas: 3 } }, want: undefined },
    {
      name: 'more than nodes',
      given: { config: { replicas: 4 } },
      want: 'replicas [4] greater than number of nodes [3]',
    },
    { name: 'more than nodes of NFS', given: { config: { ...NFS, replicas: 4 } }, want: undefined },
    {
      name: 'more than nodes of local data',
      given: { config: { ...LOCAL, replicas: 2 } },
      want: 'replicas [2] greater than number of nodes [0]',
    },
    {
      name: 'unset and no allowed node with local data',
      given: { config: { ...LOCAL, replicas: undefined as never } },
      want: 'replicas [1] greater than number of nodes [0]',
    },
    {
      name: 'more than allowed nodes',
      given: { config: { nodeAffinity: nodesWith('disk') } },
      want: 'replicas [1] greater than number of nodes [0]',
    },
  ])('has a message for too few nodes, with replicas $name', ({ given, want }) => {
    expect(planOf(given).shortage).toBe(want)
  })

  test.each<{ name: string; given: Case; problems: string[]; isMoved: boolean }>([
    { name: 'is valid', given: {}, problems: [], isMoved: true },
    {
      name: 'is invalid',
      given: { config: { labels: {} } },
      problems: ['labels cannot be empty'],
      isMoved: false,
    },
    {
      name: 'is invalid and no longer wanted',
      given: { config: { labels: {} }, goal: 'deleted' },
      problems: [],
      isMoved: false,
    },
  ])('has movers and no problems only when its spec is valid: $name', ({ given, problems, isMoved }) => {
    const plan = planOf(given)

    expect([plan.problems, plan.moverConfig !== undefined]).toEqual([problems, isMoved])
  })

  test('has no upload and no check in the queue while its spec is invalid', () => {
    const config = { ...RESYNC, mover: { image: 'example.org/other' } }
    const settings = { ...VOLUME_SETTINGS, checks: { intervalSeconds: 1, timeoutSeconds: 1 } }
    const work = { attempt: 1, since: at(-9) }
    const ready = { lastUsedTime: at(-20), since: at(-99) }
    const volume = (current: object) => ({
      replicas: [
        makeReplica({ ...current, ...ready, index: 0 }),
        makeReplica({
          ...current,
          ...ready,
          index: 1,
          upload: { ...work, state: 'Queued' },
          maintenance: { ...work, kind: 'Check', state: 'Queued' },
        }),
      ],
    })
    const queuedWith = (allowedMoverImages: string[]) =>
      planOf({ config, volume, input: { settings: { ...settings, allowedMoverImages } } }).set.replicas.map(
        ({ upload, maintenance }) => [upload?.state, maintenance?.state],
      )

    expect(queuedWith([])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(queuedWith(['example.org/other'])).toEqual([
      ['Queued', undefined],
      ['Queued', 'Queued'],
    ])
  })

  test('deletes data with a conflict only after the status has named it', () => {
    const upload = { state: 'Uploading', attempt: 1, since: at(-9) } as const
    const task = { manager: 'default/sales', id: 'vol1', role: 'upload', index: 0, attempt: 1 } as const
    const message = terminationMessage({
      v: 1,
      verb: 'upload',
      outcome: 'failed',
      attempt: 1,
      code: 'WriteConflict',
      retry: false,
      bytes: 1,
      files: 1,
      movedBytes: 1,
      message: 's3://lake/sales/a',
    })
    const containerStatuses = [{ name: 'mover', state: { terminated: { exitCode: 3, message } } }]
    const pod = asTask(task, makeMover({}, { phase: 'Failed', containerStatuses }, 'n1'))
    const name = moverName(makeVolumeManager([RESYNC]), task)
    const movers = () => [{ ...pod, metadata: { ...pod.metadata, name } }]
    const withReplicas = (replicas: ReplicaStatus[]) =>
      planOf({ config: RESYNC, goal: 'deleted', volume: () => ({ replicas }), movers }).set

    const first = withReplicas([makeReplica({ state: 'Ready', node: 'n1', upload, uploads: 1, lastUsedTime: at(-20) })])
    expect(first.replicas[0]?.upload).toMatchObject({ state: 'Failed', reason: 'WriteConflict' })

    const second = withReplicas(first.replicas)
    expect([second.replicas, second.deletions.length]).toEqual([[], 1])
  })

  test.each<{ name: string; given: Case; unchecked?: false; want: object }>([
    { name: 'stays', given: {}, want: { replicas: ['0 Failed'], deletions: [] } },
    {
      name: 'stays, also while the node may not take new data',
      given: { config: { ...RESYNC, nodeAffinity: nodesWith('other') } },
      want: { replicas: ['0 Failed'], deletions: [] },
    },
    {
      name: 'is deleted if the user gave its changes up',
      given: { annotations: { [DELETE_IN_USE_ANNOTATION]: 'true' } },
      want: { replicas: ['0 Failed'], deletions: ['n1 Abandoned Waiting'] },
    },
    {
      name: 'is deleted if it is not written back',
      given: { config: {} },
      want: { replicas: ['0 Failed'], deletions: ['n1 Abandoned Waiting'] },
    },
    {
      name: 'is deleted if it is new data, which no pod has changed',
      given: {},
      unchecked: false,
      want: { replicas: ['0 Failed'], deletions: ['n1 Abandoned Waiting'] },
    },
  ])('data on a replaced node that ends its mover $name', ({ given, unchecked = true, want }) => {
    const volume = (current: object) => ({
      replicas: [
        makeReplica({
          ...current,
          state: 'Downloading',
          ...(unchecked && { isUnchecked: true }),
          lastUsedTime: at(-20),
        }),
      ],
    })
    const movers = (path: string) => [makeMover({ path }, { phase: 'Failed', reason: 'Evicted' }, 'n1')]

    expect(short(planOf({ config: RESYNC, volume, movers, ...given }))).toEqual(want)
  })

  test.each<{ name: string; given: Case; replica?: Partial<ReplicaStatus>; want: object }>([
    { name: 'stays while its VolumeManager is deleted', given: { goal: 'deleted' }, want: ['0 Queued'] },
    { name: 'stays while its volume is not in the spec', given: { isInSpec: false }, want: ['0 Queued'] },
    {
      name: 'stays with another source in the spec',
      given: {},
      replica: { revision: 'old' },
      want: ['0 Queued', '5 Queued'],
    },
    {
      name: 'is deleted with its VolumeManager if no pod used it',
      given: { goal: 'deleted' },
      replica: { lastUsedTime: at(-30) },
      want: [],
    },
    {
      name: 'is deleted with its VolumeManager if its mover did not find it',
      given: { goal: 'deleted' },
      replica: { state: 'Downloading', totalBytes: 5 },
      want: [],
    },
    {
      name: 'is deleted with its VolumeManager if the user gave its changes up',
      given: { goal: 'deleted', annotations: { [DELETE_IN_USE_ANNOTATION]: 'true' } },
      want: [],
    },
  ])('data with changes on a replaced node $name', ({ given, replica, want }) => {
    const unchecked = { state: 'Queued', isUnchecked: true, lastUsedTime: at(-20), uploadedTime: at(-25) } as const
    const volume = (current: { revision: string; path: string }) => ({
      replicas: [makeReplica({ ...current, ...unchecked, uploadSource: 'its source', ...replica })],
    })

    expect(short(planOf({ config: RESYNC, volume, ...given })).replicas).toEqual(want)
  })

  test('keeps a replica that returned from a lost node until its conflict is resolved', () => {
    const failed = {
      state: 'Failed',
      attempt: 1,
      since: at(-9),
      reason: 'WriteConflict',
      message: 's3://lake/a',
    } as const
    const withUpload = (upload: UploadStatus | undefined) => {
      const volume = (current: object) => ({
        replicas: [
          makeReplica({ ...current, since: at(-60), index: 0, node: 'n1', ...(upload && { upload }) }),
          makeReplica({ ...current, index: 1, node: 'n2', lastUsedTime: at(-5), uploadedTime: at(-4) }),
        ],
      })
      return planOf({ config: RESYNC, volume }).set.replicas.map(({ node }) => node)
    }

    expect(withUpload(failed)).toEqual(['n1', 'n2'])
    expect(withUpload(undefined)).toEqual(['n2'])
  })

  test('finishes an upload whose spec became invalid', () => {
    const config = { ...RESYNC, mover: { image: 'example.org/other' } }
    const upload = { state: 'Uploading', attempt: 1, since: at(-9) } as const
    const volume = (current: object) => ({ replicas: [makeReplica({ ...current, upload, uploads: 1 })] })
    const movers = (path: string) => [asTask({ role: 'upload' }, makeMover({ path }, { phase: 'Running' }, 'n1'))]

    expect(planOf({ config, volume, movers }).set.replicas[0]?.upload).toBeDefined()
  })

  test('lists the movers whose result the status does not expect', () => {
    const movers = (path: string) => [
      makeMover({ path }, { phase: 'Running' }, 'n1'),
      makeMover({ path, index: 9 }, { phase: 'Running' }, 'n2'),
    ]
    const { orphans } = planOf({
      volume: (current) => ({ replicas: [makeReplica({ ...current, state: 'Starting' })] }),
      movers,
    })

    expect(orphans.map(({ spec }) => spec.nodeName)).toEqual(['n2'])
  })

  interface StoppedMover {
    name: string
    isDeleted?: boolean
    deletedPod?: boolean
    phase?: 'Running' | 'Failed'
    node: Node
    stopping: number
  }

  test.each<StoppedMover>([
    { name: 'on a node that is ready', node: makeNode('n1'), stopping: 1 },
    { name: 'that has ended, whose Pod a finalizer keeps', phase: 'Failed', node: makeNode('n1'), stopping: 0 },
    { name: 'on a node that does not exist', node: makeNode('n2'), stopping: 0 },
    {
      name: 'on a node that does not exist, before it is deleted',
      deletedPod: false,
      node: makeNode('n2'),
      stopping: 1,
    },
    { name: 'on a node that is skipped', node: makeNode('n1', { unreadySince: at(-600) }), stopping: 0 },
    { name: 'on a node that is not skipped yet', node: makeNode('n1', { unreadySince: at(-599) }), stopping: 1 },
    {
      name: 'on a node that is not ready, of a VolumeManager that stays',
      isDeleted: false,
      node: makeNode('n1', { unreadySince: at(-600) }),
      stopping: 1,
    },
  ])(
    'waits for a deleted mover $name: $stopping',
    ({ isDeleted = true, deletedPod = true, phase = 'Running', node, stopping }) => {
      const mover = makeMover({ path: '/other', index: 9 }, { phase }, 'n1')
      const deletionTimestamp = at(-5)
      const pod = { ...mover, metadata: { ...mover.metadata, ...(deletedPod && { deletionTimestamp }) } }
      const manager = makeVolumeManager([{}], isDeleted ? { deletionTimestamp } : {})
      const input = makeVolumeInput({ manager, nodes: [node], movers: [pod] })

      const plan = planVolume(input, observeVolume(input), makeVolume(), isDeleted ? 'deleted' : 'present')

      expect([plan.orphans.length, plan.stopping.length]).toEqual([1, stopping])
    },
  )

  test('is due when the first of its replicas and deletions is', () => {
    const retry = makeReplica({ state: 'Failed', retryTime: at(20), node: undefined as never })
    const dueOf = (volume: Partial<VolumeStatus>) =>
      planOf({ volume: (current) => ({ replicas: [{ ...retry, ...current }], ...volume }) }).set.dueAt

    expect([dueOf({}), dueOf({ deletions: [makeDeletion({ path: '/old' })] })]).toEqual([NOW + 20_000, NOW + 3000])
  })
})
