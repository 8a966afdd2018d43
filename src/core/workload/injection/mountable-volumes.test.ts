import { describe, expect, test } from 'vitest'
import { makeVolumeManager, nodesWith } from '../../../../test/builders.ts'
import type { Condition } from '../../../api/meta.ts'
import type { VolumeManager, VolumeManagerStatus } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { replicaClaimName } from '../../volume-manager/rules/names.ts'
import { revisionOf } from '../../volume-manager/rules/source-types.ts'
import { mountableVolumes } from './mountable-volumes.ts'

const uid = '0b7c1a52-8d0c-4f0e-9f70-2f6f3f5a7c11'
const fresh = makeVolumeManager([{}], { uid })
const revision = revisionOf(fresh.spec.volumeConfigs[0] as never)
const replica = (index: number, node: string, state: ReplicaStatus['state'], shard?: string): ReplicaStatus =>
  defined({ index, state, revision, node, attempt: 1, shard: shard || undefined })
const done: VolumeStatus = {
  id: 'vol1',
  message: 'success',
  revision,
  volumeSource: { hostPath: { path: '/var/datasets/here' } },
  nodeAffinity: nodesWith('here'),
  bytes: 7,
}
const running = (volume: Partial<VolumeStatus> = {}, status: Partial<VolumeManagerStatus> = {}) =>
  makeVolumeManager([{}], { uid, status: { state: 'Running', volumes: [{ ...done, ...volume }], ...status } })

describe('a volume', () => {
  test('without a status is waiting, and its later mount is known', () => {
    const [volume] = mountableVolumes(fresh).volumes
    expect(volume).toMatchObject({ id: 'vol1', state: 'Waiting', message: '', readOnly: false, nodes: [] })
    expect(volume?.source?.hostPath?.path).toMatch(new RegExp(`^/var/datasets/vck-resource-${uid}-`))
    expect(volume?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toHaveLength(1)
  })

  test('that is ready has the values of its status', () => {
    const replicas = [replica(0, 'n1', 'Ready'), replica(1, 'n2', 'Downloading')]
    expect(mountableVolumes(running({ replicas })).volumes).toEqual([
      {
        id: 'vol1',
        state: 'Ready',
        message: 'success',
        source: done.volumeSource,
        nodeAffinity: done.nodeAffinity,
        readOnly: false,
        shards: expect.any(Function),
        bytes: 7,
        nodes: ['n1'],
      },
    ])
  })

  test.each([
    ['while it is downloaded', running({ message: '1 of 2 replicas' })],
    ['after its data was released', running({ volumeSource: undefined as never })],
    ['after its source changed', running({ revision: 'of-another-source' })],
  ])('is waiting %s', (_name, manager) => {
    expect(mountableVolumes(manager).volumes[0]?.state).toBe('Waiting')
  })

  test.each([
    { name: 'that was evicted', state: 'Evicted' as const, isEvicted: true },
    { name: 'that is downloaded', state: 'Downloading' as const, isEvicted: undefined },
  ])('$name says whether it returns only for a pod', ({ state, isEvicted }) => {
    const manager = running({ message: '', replicas: [replica(0, 'n1', state)] })
    expect(mountableVolumes(manager).volumes[0]?.isEvicted).toBe(isEvicted)
  })

  test('of VCK, without revisions, is ready', () => {
    const { revision: _none, ...volume } = done
    const manager = makeVolumeManager([{}], { status: { state: 'Running', volumes: [volume] } })
    expect(mountableVolumes(manager).volumes[0]).toMatchObject({ state: 'Ready', source: done.volumeSource })
  })

  test('with another source is waiting, with another directory', () => {
    const [volume] = mountableVolumes(running({ revision: 'of-another-source' })).volumes
    expect(volume?.source).toEqual(mountableVolumes(fresh).volumes[0]?.source)
  })

  test('with a read-only access mode is read-only', () => {
    const manager = makeVolumeManager([
      { sourceType: 'NFS', accessMode: 'ReadOnlyMany', options: { server: 's', path: '/' } },
    ])
    expect(mountableVolumes(manager).volumes[0]).toMatchObject({ readOnly: true, nodeAffinity: {} })
  })

  test('of an unknown source type has no source to mount', () => {
    const [volume] = mountableVolumes(makeVolumeManager([{ sourceType: 'Aeon', options: {} }])).volumes
    expect(volume).not.toHaveProperty('source')
  })

  test('that is divided has the nodes of each part', () => {
    const options = { sourceURL: 's3://lake/', distributionStrategy: '{"*0_1*": 1, "*1_1*": 1}' }
    const config = makeVolumeManager([{ replicas: 2, options }])
    const replicas = [replica(0, 'n1', 'Ready', '*0_1*'), replica(1, 'n2', 'Ready', '*1_1*')]
    const shards = [{ name: '*0_1*', nodeAffinity: nodesWith('first'), readyReplicas: 1 }]
    const { revision: _none, ...volume } = done
    const manager = { ...config, status: { volumes: [{ ...volume, replicas, shards }] } }
    const parts = mountableVolumes(manager).volumes[0]?.shards()
    expect(parts).toMatchObject([
      { name: '*0_1*', nodes: ['n1'], nodeAffinity: nodesWith('first') },
      { name: '*1_1*', nodes: ['n2'] },
    ])
    expect(parts?.[1]?.nodeAffinity).not.toEqual(nodesWith('first'))
  })
})

const COMPLETED = 'it is Completed, and its data is deleted'

function failedAt(generation: number | undefined, observedGeneration: number | undefined): VolumeManager {
  const failed = running({}, defined({ state: 'Failed', message: 'no such bucket', observedGeneration }))
  return { ...failed, metadata: { ...failed.metadata, ...defined({ generation }) } }
}

describe('a volume with claims', () => {
  const config = { volumeType: 'persistentVolumeClaim' as const, replicas: 2 }
  const claimsOf = (manager: VolumeManager) => mountableVolumes(manager).volumes[0]?.claims
  const named = (index: number) => replicaClaimName(fresh, 'vol1', revision, index)

  test('has those of the replicas that the controller will add', () => {
    expect(claimsOf(makeVolumeManager([config], { uid }))).toEqual([{ claimName: named(0) }, { claimName: named(1) }])
  })

  test('has those of its replicas, with the node of each that is ready', () => {
    const replicas = [replica(3, 'n1', 'Ready'), replica(4, 'n2', 'Downloading'), replica(5, 'n3', 'Ready', 'a')]
    const outdated = { ...replica(1, 'n4', 'Ready'), revision: 'old' }
    const volumes = [{ ...done, nextIndex: 6, replicas: [outdated, ...replicas] }]
    expect(claimsOf(makeVolumeManager([config], { uid, status: { volumes } }))).toEqual([
      { claimName: named(3), node: 'n1' },
      { claimName: named(4) },
      { claimName: named(5), node: 'n3', shard: 'a' },
    ])
  })

  test('has the next ones after all of its replicas were deleted', () => {
    const volumes = [{ id: 'vol1', nodeAffinity: {}, nextIndex: 7 }]
    expect(claimsOf(makeVolumeManager([config], { uid, status: { volumes } }))?.[0]).toEqual({ claimName: named(7) })
  })

  test('has one for each part, and a bounded number in all', () => {
    const options = { distributionStrategy: '{"a": 1, "b": 2000000000}' }
    const claims = claimsOf(makeVolumeManager([{ ...config, options }], { uid })) ?? []
    expect([claims.length, claims[0]?.shard, claims[1]?.shard]).toEqual([1000, 'a', 'b'])
  })

  test('has none if it is NFS, or if pods mount directories', () => {
    expect(claimsOf(makeVolumeManager([{ ...config, sourceType: 'NFS' }], { uid }))).toBeUndefined()
    expect(claimsOf(fresh)).toBeUndefined()
  })
})

describe('a VolumeManager cannot be used', () => {
  test.each([
    [
      'that is being deleted',
      makeVolumeManager([{}], { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      'it is being deleted',
    ],
    ['whose spec.state is Completed', makeVolumeManager([{}], { state: 'Completed' }), COMPLETED],
    ['whose status is Completed', running({}, { state: 'Completed' }), COMPLETED],
    ['whose spec.state is Failed', makeVolumeManager([{}], { state: 'Failed' }), 'its spec.state is Failed'],
    ['whose status is Failed', running({}, { state: 'Failed', message: 'no such bucket' }), 'no such bucket'],
    ['whose status is Failed without a message', running({}, { state: 'Failed' }), 'it has failed'],
    ['whose present spec failed', failedAt(2, 2), 'no such bucket'],
    ['whose newer spec failed', failedAt(1, 2), 'no such bucket'],
    ['that failed without a generation', failedAt(undefined, 1), 'no such bucket'],
    ['that failed without an observed generation', failedAt(2, undefined), 'no such bucket'],
  ])('%s', (_name, manager, want) => {
    expect(mountableVolumes(manager).refusal).toBe(want)
  })

  test('but one that only fails to write changes back can be used', () => {
    const conditions: Condition[] = [
      { type: 'Ready', status: 'True', reason: 'WriteBackFailed', message: 'no', lastTransitionTime: '' },
    ]
    expect(mountableVolumes(running({}, { state: 'Failed', conditions })).refusal).toBeUndefined()
  })

  test('whose status another controller set to Failed without an observedGeneration', () => {
    const failed = running({}, { state: 'Failed', message: 'no such bucket', observedGeneration: -1 })
    expect(mountableVolumes({ ...failed, metadata: { ...failed.metadata, generation: 1 } }).refusal).toBe(
      'no such bucket',
    )
  })

  test('but a failure of an older spec is ignored', () => {
    const failed = running({}, { state: 'Failed', observedGeneration: 1 })
    expect(mountableVolumes({ ...failed, metadata: { ...failed.metadata, generation: 2 } }).refusal).toBeUndefined()
  })
})

test('a VolumeManager without volumes has none', () => {
  expect(mountableVolumes(makeVolumeManager([]))).toEqual({ name: 'sales', volumes: [] })
})

test('the smallest VolumeManager that an API server accepts is read without an error', () => {
  const { spec: _spec, ...least } = makeVolumeManager([])
  expect(mountableVolumes({ ...least, metadata: {} } as VolumeManager)).toEqual({ name: '', volumes: [] })
})

test('a status without volumes, and a replica without a node, give no nodes', () => {
  expect(mountableVolumes(makeVolumeManager([{}], { status: { state: 'Pending' } })).volumes[0]?.nodes).toEqual([])
  const { node: _node, ...unplaced } = replica(0, 'n1', 'Ready')
  expect(mountableVolumes(running({ replicas: [unplaced] })).volumes[0]?.nodes).toEqual([])
})

test('each volume has the status with its id, in any order', () => {
  const two = makeVolumeManager([{ id: 'vol1' }, { id: 'vol2' }], { uid })
  const { revision: _none, ...rest } = done
  const volumes = ['vol2', 'vol1'].map((id) => ({ ...rest, id, message: `of ${id}` }))
  const viewed = mountableVolumes({ ...two, status: { state: 'Running', volumes } })
  expect(viewed.volumes.map(({ message }) => message)).toEqual(['of vol1', 'of vol2'])
})

test('the parts of a volume without a status are on no node', () => {
  const options = { sourceURL: 's3://lake/', distributionStrategy: '{"*0_1*": 1, "*1_1*": 1}' }
  const [volume] = mountableVolumes(makeVolumeManager([{ replicas: 2, options }])).volumes
  expect(volume?.shards().map(({ name, nodes }) => [name, nodes])).toEqual([
    ['*0_1*', []],
    ['*1_1*', []],
  ])
})

describe('a Local volume', () => {
  const local = makeVolumeManager([{ sourceType: 'Local', options: { path: '/var/datasets' } }], {
    status: { state: 'Running', volumes: [{ ...done, revision: undefined as never }] },
  })

  test('that was stored before its directory was forbidden is never mounted', () => {
    const roots = { allowedRoots: ['/var/datasets'], localRoots: ['/srv'] }
    expect(mountableVolumes(local, roots).volumes[0]?.source).toBeUndefined()
    expect(mountableVolumes(local, { allowedRoots: ['/data'], localRoots: ['/var/datasets'] }).volumes[0]?.source).toBe(
      done.volumeSource,
    )
  })

  test('without a directory is not mounted if the directories are limited', () => {
    const roots = { allowedRoots: ['/var/datasets'], localRoots: ['/srv'] }
    const without = makeVolumeManager([{ sourceType: 'Local', options: {} }])
    expect(mountableVolumes(without, roots).volumes[0]).not.toHaveProperty('source')
  })

  test('is the only type that is limited to these directories', () => {
    const roots = { allowedRoots: ['/data'], localRoots: ['/srv'] }
    expect(mountableVolumes(running(), roots).volumes[0]?.source).toBe(done.volumeSource)
    expect(mountableVolumes(local).volumes[0]?.source).toBe(done.volumeSource)
  })
})

test.each([
  { volume: {}, want: false },
  { volume: { readOnly: true }, want: true },
  { volume: { accessMode: 'ReadOnlyMany' }, want: true },
])('a volume with $volume is read-only: $want', ({ volume, want }) => {
  expect(mountableVolumes(makeVolumeManager([volume])).volumes[0]?.readOnly).toBe(want)
})

test('the PersistentVolumeClaim of a read-only NFS volume is read-only in pods', () => {
  const nfs = { sourceType: 'NFS', accessMode: 'ReadWriteMany', options: { server: '10.0.0.7', path: '/x' } }
  const claimOf = (readOnly: boolean) => mountableVolumes(makeVolumeManager([{ ...nfs, readOnly }])).volumes[0]?.source
  expect(claimOf(true)?.persistentVolumeClaim?.readOnly).toBe(true)
  expect(claimOf(false)?.persistentVolumeClaim).not.toHaveProperty('readOnly')
})

test.each([
  ['a text as its volumes', { spec: { volumeConfigs: 'x' } }],
  ['no spec', { spec: null }],
  ['an object as the volumes of its status', { spec: { volumeConfigs: [] }, status: { volumes: { a: 1 } } }],
])('a VolumeManager with %s, which the CRD of VCK allows, has no volumes', (_name, content) => {
  const manager = { ...makeVolumeManager(), ...content } as unknown as VolumeManager
  expect(mountableVolumes(manager)).toEqual({ name: 'sales', volumes: [] })
})
