import { describe, expect, test } from 'vitest'
import { makeVolumeManager, nodesWith } from '../../../test/builders.ts'
import type { ReplicaStatus, VolumeManagerStatus, VolumeStatus } from '../../api/volume-manager.ts'
import { revisionOf } from '../volume-manager/spec/source-types.ts'
import { mountableVolumes } from './mountable-volumes.ts'

const uid = '0b7c1a52-8d0c-4f0e-9f70-2f6f3f5a7c11'
const fresh = makeVolumeManager([{}], { uid })
const revision = revisionOf(fresh.spec.volumeConfigs[0] as never)
const replica = (index: number, node: string, state: ReplicaStatus['state'], shard?: string): ReplicaStatus => ({
  index,
  state,
  revision,
  node,
  attempt: 1,
  ...(shard && { shard }),
})
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
  test('that nobody has looked at yet waits, and it is known as what it will be mounted', () => {
    const [volume] = mountableVolumes(fresh).volumes
    expect(volume).toMatchObject({ id: 'vol1', state: 'Waiting', message: '', readOnly: false, nodes: [] })
    expect(volume?.source?.hostPath?.path).toMatch(new RegExp(`^/var/datasets/vck-resource-${uid}-`))
    expect(volume?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toHaveLength(1)
  })

  test('that can be used is what its status says', () => {
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
    ['when its data was released', running({ volumeSource: undefined as never })],
    ['when its source is another one now', running({ revision: 'of-another-source' })],
  ])('waits %s', (_name, manager) => {
    expect(mountableVolumes(manager).volumes[0]?.state).toBe('Waiting')
  })

  test('of VCK, which knows of no revisions, can be used', () => {
    const { revision: _none, ...volume } = done
    const manager = makeVolumeManager([{}], { status: { state: 'Running', volumes: [volume] } })
    expect(mountableVolumes(manager).volumes[0]).toMatchObject({ state: 'Ready', source: done.volumeSource })
  })

  test('of another source waits under another directory', () => {
    const [volume] = mountableVolumes(running({ revision: 'of-another-source' })).volumes
    expect(volume?.source).toEqual(mountableVolumes(fresh).volumes[0]?.source)
  })

  test('that nobody may write to is read only', () => {
    const manager = makeVolumeManager([
      { sourceType: 'NFS', accessMode: 'ReadOnlyMany', options: { server: 's', path: '/' } },
    ])
    expect(mountableVolumes(manager).volumes[0]).toMatchObject({ readOnly: true, nodeAffinity: {} })
  })

  test('of a source that nobody knows is mounted as nothing', () => {
    const [volume] = mountableVolumes(makeVolumeManager([{ sourceType: 'Aeon', options: {} }])).volumes
    expect(volume).not.toHaveProperty('source')
  })

  test('that is divided tells the nodes of each part', () => {
    const options = { sourceURL: 's3://lake/', distributionStrategy: '{"*0_1*": 1, "*1_1*": 1}' }
    const config = makeVolumeManager([{ replicas: 2, options }])
    const replicas = [replica(0, 'n1', 'Ready', '*0_1*'), replica(1, 'n2', 'Ready', '*1_1*')]
    const shards = [{ name: '*0_1*', nodeAffinity: nodesWith('first'), readyReplicas: 1 }]
    const { revision: _none, ...volume } = done
    const manager = { ...config, status: { volumes: [{ ...volume, replicas, shards }] } }
    expect(mountableVolumes(manager).volumes[0]?.shards()).toMatchObject([
      { name: '*0_1*', nodes: ['n1'], nodeAffinity: nodesWith('first') },
      { name: '*1_1*', nodes: ['n2'] },
    ])
  })
})

describe('a VolumeManager cannot be used', () => {
  test.each([
    ['that is being deleted', makeVolumeManager([{}], { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['that is to be completed', makeVolumeManager([{}], { state: 'Completed' })],
    ['that is completed', running({}, { state: 'Completed' })],
    ['that is to have failed', makeVolumeManager([{}], { state: 'Failed' })],
    ['that has failed', running({}, { state: 'Failed', message: 'failed to deploy all the sub-resources' })],
  ])('%s', (_name, manager) => {
    expect(mountableVolumes(manager).refusal).toBeTruthy()
  })

  test('but one whose failure was of an older spec is tried again', () => {
    const failed = running({}, { state: 'Failed', observedGeneration: 1 })
    expect(mountableVolumes({ ...failed, metadata: { ...failed.metadata, generation: 2 } }).refusal).toBeUndefined()
  })
})

test('a VolumeManager without volumes has none', () => {
  expect(mountableVolumes(makeVolumeManager([])).volumes).toEqual([])
})

describe('a Local volume', () => {
  const local = makeVolumeManager([{ sourceType: 'Local', options: { path: '/var/datasets' } }], {
    status: { state: 'Running', volumes: [{ ...done, revision: undefined as never }] },
  })

  test('that was stored before its directory was forbidden is not mounted, whatever its status says', () => {
    const roots = { allowedRoots: ['/var/datasets'], localRoots: ['/srv'] }
    expect(mountableVolumes(local, roots).volumes[0]?.source).toBeUndefined()
    expect(mountableVolumes(local, { allowedRoots: ['/data'], localRoots: ['/var/datasets'] }).volumes[0]?.source).toBe(
      done.volumeSource,
    )
  })
})

test.each([
  { volume: {}, want: false },
  { volume: { readOnly: true }, want: true },
  { volume: { accessMode: 'ReadOnlyMany' }, want: true },
])('a volume with $volume is read-only: $want', ({ volume, want }) => {
  expect(mountableVolumes(makeVolumeManager([volume])).volumes[0]?.readOnly).toBe(want)
})

test('the claim of a read-only NFS volume is read-only in pods', () => {
  const nfs = { sourceType: 'NFS', accessMode: 'ReadWriteMany', options: { server: '10.0.0.7', path: '/x' } }
  const claimOf = (readOnly: boolean) => mountableVolumes(makeVolumeManager([{ ...nfs, readOnly }])).volumes[0]?.source
  expect(claimOf(true)?.persistentVolumeClaim?.readOnly).toBe(true)
  expect(claimOf(false)?.persistentVolumeClaim).not.toHaveProperty('readOnly')
})
