import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { makeDeletion, makeReplica, PATH } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus } from '../../../api/volume-status.ts'
import type { VolumeUser } from '../input.ts'
import { directoryContainers, directoryOfMover } from './affinity.ts'
import { deletionMover, maintenanceMover, replicaMover, uploadMover } from './build.ts'

const S3 = { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/' }
const NFS = { sourceType: 'NFS', accessMode: 'ReadOnlyMany', options: { server: 'nfs.example.com', path: '/' } }
const LOCAL = { sourceType: 'Local', options: { path: '/mnt/local/sales' } }
const inputOf = (volume: Partial<VolumeConfig>, networks: readonly string[] = []) => ({
  manager: makeVolumeManager(),
  config: makeVolume(volume),
  placement: { on: 'n1' },
  slot: 0,
  networks,
  settings: VOLUME_SETTINGS.movers,
  localRoots: VOLUME_SETTINGS.localRoots,
})
const maintenanceOf = (volume: Partial<VolumeConfig>) => ({
  ...inputOf(volume),
  checks: VOLUME_SETTINGS.checks,
  users: [],
})
/** The arguments of the verb, without the common arguments of all movers. */
const argumentsOf = ({ spec }: Pod) => spec.containers[0]?.args?.slice(1, -4)
const mountOf = ({ spec }: Pod) => [spec.volumes?.[0], spec.containers[0]?.volumeMounts?.[0]]
const DOWNLOAD = ['download', '--root', '/volume', '--target', '/volume/data']

test.each<{
  name: string
  volume: Partial<VolumeConfig>
  networks?: string[]
  shard?: string
  path?: string
  want: string[]
}>([
  { name: 'S3', volume: {}, want: [...DOWNLOAD, '--source', 's3://lake/sales/', '--keep-free', '1Gi'] },
  {
    name: 'an endpoint and a region, with a local network',
    volume: { options: { ...S3, endpointURL: 'http://s3:9000', region: 'eu-central-1', verify: 'size' } },
    networks: ['127.0.0.0/8'],
    want: [
      ...[...DOWNLOAD, '--source', 's3://lake/sales/', '--endpoint', 'http://s3:9000', '--region', 'eu-central-1'],
      ...['--local-network', '127.0.0.0/8', '--keep-free', '1Gi', '--verify', 'size'],
    ],
  },
  {
    name: 'a part of the data',
    volume: {},
    shard: '*0_1*',
    want: [...DOWNLOAD, '--source', 's3://lake/sales/', '--keep-free', '1Gi', '--match', '*0_1*'],
  },
  {
    name: 'a part of the data without folders and without some objects',
    volume: { options: { ...S3, flatten: 'true', exclude: '["*.crc", "_*"]' } },
    shard: '*0_1*',
    want: [
      ...[...DOWNLOAD, '--source', 's3://lake/sales/', '--keep-free', '1Gi', '--match', '*0_1*'],
      ...['--exclude', '*.crc', '--exclude', '_*', '--flat', 'true'],
    ],
  },
  {
    name: 'a stream',
    volume: { sourceType: 'Stream' },
    want: [...DOWNLOAD, '--source', 's3://lake/sales/', '--keep-free', '1Gi', '--in-place', 'true'],
  },
  {
    name: 'a stream without a source',
    volume: { sourceType: 'Stream', options: {} },
    want: ['prepare', '--root', '/volume', '--target', '/volume/data'],
  },
  {
    name: 'Pachyderm',
    volume: {
      sourceType: 'Pachyderm',
      options: { repo: 'images', branch: 'main', inputPath: '/a/', outputPath: 'b/' },
    },
    want: [
      ...['download', '--root', '/volume', '--target', '/volume/data/b', '--source', 's3://main.images/a/'],
      ...['--endpoint', 'http://pachd.default.svc:30600', '--keep-free', '1Gi'],
    ],
  },
  {
    name: 'Local data',
    volume: LOCAL,
    path: '/mnt/local/sales',
    want: ['prepare', '--root', '/volume', '--target', '/volume/sales', '--must-exist', 'true'],
  },
  {
    name: 'Local data that is a whole root',
    volume: LOCAL,
    path: '/mnt/local',
    want: ['prepare', '--root', '/volume', '--target', '/volume', '--must-exist', 'true'],
  },
  { name: 'NFS', volume: NFS, want: ['prepare', '--root', '/volume', '--target', '/volume/data'] },
])('the mover of a replica of $name has its arguments', ({ volume, networks, shard, path = PATH, want }) => {
  const replica = makeReplica({ state: 'Queued', path, ...(shard && { shard }) })

  expect(argumentsOf(replicaMover({ ...inputOf(volume, networks), replica }))).toEqual(want)
})

test('movers mount the directory of the volume, or its claim with the mode of pods', () => {
  const directory = [{ hostPath: { path: PATH, type: 'DirectoryOrCreate' } }, { mountPath: '/volume' }]
  const [claim, mount] = mountOf(replicaMover({ ...inputOf(NFS), replica: makeReplica() }))

  expect(mountOf(replicaMover({ ...inputOf({}), replica: makeReplica() }))).toMatchObject(directory)
  expect(mountOf(deletionMover({ ...inputOf({}), id: 'vol1', deletion: makeDeletion() }))).toMatchObject(directory)
  expect(claim).toMatchObject({ persistentVolumeClaim: { readOnly: true } })
  expect(mount).toMatchObject({ mountPath: '/volume/data', readOnly: true })
})

test('the mover of Local data mounts its root read-only, and may read private files', () => {
  const replica = makeReplica({ path: '/mnt/local/team/sales/' })
  const localRoots = ['/mnt/local/team', '/mnt/local/']
  const pod = replicaMover({ ...inputOf(LOCAL), replica, localRoots })

  expect(mountOf(pod)).toMatchObject([
    { hostPath: { path: '/mnt/local', type: 'Directory' } },
    { mountPath: '/volume', readOnly: true },
  ])
  const kept = { ...pod, spec: { ...pod.spec, containers: directoryContainers(pod.spec) } }
  expect([pod, kept].map(directoryOfMover)).toEqual(['/mnt/local/team/sales/', '/mnt/local/team/sales/'])
  expect(directoryContainers(replicaMover({ ...inputOf({}), replica: makeReplica() }).spec)).toEqual([])
  expect(pod.spec.containers[0]?.securityContext).toMatchObject({ capabilities: { add: ['DAC_READ_SEARCH'] } })
})

test('a root of Local data is read by the image of the configuration only', () => {
  const mover = { image: 'registry.example.com/mover', priorityClassName: 'low' }
  const replica = makeReplica({ path: '/mnt/local/sales' })
  const imageOf = (volume: Partial<VolumeConfig>) =>
    [replicaMover({ ...inputOf(volume), replica }), maintenanceMover({ ...maintenanceOf(volume), replica })].map(
      ({ spec }) => [spec.containers[0]?.image, spec.containers[0]?.args?.[0], spec.priorityClassName],
    )

  expect(imageOf({ ...LOCAL, mover })).toEqual([
    ['lodestone:test', 'mover', 'low'],
    ['lodestone:test', 'mover', 'low'],
  ])
  expect(imageOf({ mover }).map(([image]) => image)).toEqual([mover.image, mover.image])
})

test('the mover of a replica without a directory mounts no volume', () => {
  const { path: _, ...replica } = makeReplica()
  const { spec } = replicaMover({ ...inputOf({}), replica })

  expect([spec.volumes, spec.containers[0]?.volumeMounts].map((list) => list?.map(({ name }) => name))).toEqual([
    ['mover'],
    ['mover'],
  ])
})

test('the mover of an upload writes to the prefix of its source', () => {
  const replica = makeReplica({ upload: { state: 'Queued', attempt: 2 } })
  const options = { ...S3, sourceURL: 's3://lake/sales/one.csv' }

  const pod = uploadMover({ ...inputOf({ options }), replica })

  expect(argumentsOf(pod)).toEqual([
    ...['upload', '--root', '/volume', '--source', '/volume/data', '--target', 's3://lake/sales/'],
  ])
  expect(pod.spec.containers[0]?.args?.slice(-4, -2)).toEqual(['--attempt', '2'])
  expect(pod.spec.containers[0]?.env?.map(({ name }) => name)).toContain('AWS_ACCESS_KEY_ID')
})

test('the mover of an upload compares the data as that of the download does', () => {
  const options = { sourceURL: 's3://lake/sales/', verify: 'size', resync: 'true' }
  const pod = uploadMover({ ...inputOf({ options }), replica: makeReplica() })

  expect(argumentsOf(pod)?.slice(-2)).toEqual(['--verify', 'size'])
})

test('the mover of an upload to Pachyderm reads the folder of its output', () => {
  const options = { repo: 'images', branch: 'main', inputPath: '/a/', outputPath: 'b/' }
  const pod = uploadMover({ ...inputOf({ sourceType: 'Pachyderm', options }), replica: makeReplica() })

  expect(argumentsOf(pod)).toEqual([
    ...['upload', '--root', '/volume', '--source', '/volume/data/b', '--target', 's3://main.images/a/'],
    ...['--endpoint', 'http://pachd.default.svc:30600'],
  ])
})

test.each([
  { name: 'is critical on a node with disk pressure', isCritical: true, want: ['system-node-critical', {}] },
  { name: 'has the choices of its volume otherwise', isCritical: false, want: ['low', { limits: { cpu: '64' } }] },
])('the mover of a deletion or an upload $name', ({ isCritical, want }) => {
  const mover = { priorityClassName: 'low', resources: { limits: { cpu: '64' } } }
  const input = { ...inputOf({ mover }), id: 'vol1', deletion: makeDeletion() }
  const pods = [deletionMover({ ...input, isCritical }), uploadMover({ ...input, replica: makeReplica(), isCritical })]

  for (const { spec } of pods) {
    expect([spec.priorityClassName, spec.containers[0]?.resources]).toEqual(want)
  }
})

test('the mover of a deletion is pinned, tolerates every taint, and has no source', () => {
  const pod = deletionMover({ ...inputOf({}), id: 'vol1', deletion: makeDeletion({ node: 'n7' }) })

  expect(argumentsOf(pod)).toEqual(['delete', '--root', '/volume', '--target', '/volume/data'])
  expect(pod.spec.tolerations).toEqual([{ operator: 'Exists' }])
  expect(JSON.stringify(pod.spec.affinity?.nodeAffinity)).toContain('"n7"')
  expect(JSON.stringify(pod.spec.containers[0]?.env)).not.toContain('aws-creds')
})

describe('the mover of a maintenance', () => {
  const CHECK = ['check', '--root', '/volume', '--target', '/volume/data', '--contents']
  const REFRESH = [...DOWNLOAD, '--source', 's3://lake/sales/', '--keep-free', '1Gi']
  const checks = { intervalSeconds: 1, timeoutSeconds: 77 }
  const moverOf = (kind: MaintenanceStatus['kind'], volume: Partial<VolumeConfig>, users: VolumeUser[] = []) =>
    maintenanceMover({
      ...inputOf(volume),
      checks,
      users,
      replica: makeReplica({
        path: volume.options?.['path'] ?? PATH,
        inUse: true,
        maintenance: { kind, state: 'Queued', attempt: 4 },
      }),
    })

  test.each<{ kind: MaintenanceStatus['kind']; volume: Partial<VolumeConfig>; users?: VolumeUser[]; want: string[] }>([
    { kind: 'Check', volume: {}, want: [...CHECK, 'record', '--delete-old', 'all'] },
    { kind: 'FullCheck', volume: {}, want: [...CHECK, 'record', '--delete-old', 'all'] },
    { kind: 'Check', volume: { readOnly: true }, want: [...CHECK, 'files', '--delete-old', 'all'] },
    { kind: 'FullCheck', volume: { readOnly: true }, users: [{ pod: 'a' }], want: [...CHECK, 'checksums'] },
    {
      kind: 'Check',
      volume: LOCAL,
      want: ['prepare', '--root', '/volume', '--target', '/volume/sales', '--must-exist', 'true'],
    },
    {
      kind: 'Refresh',
      volume: { readOnly: true },
      users: [{ pod: 'a', startTime: '2026-01-01T00:00:00Z' }],
      want: [...REFRESH, '--existing', 'compare', '--delete-old', '2026-01-01T00:00:00Z'],
    },
  ])('that is a $kind of $volume has its arguments', ({ kind, volume, users, want }) => {
    expect(argumentsOf(moverOf(kind, volume, users))).toEqual(want)
  })

  test('has credentials for a refresh only, a time limit for a check, runs on its node', () => {
    const check = moverOf('Check', { readOnly: true })
    const refresh = moverOf('Refresh', { readOnly: true })
    const hasKeys = ({ spec }: Pod) => spec.containers[0]?.env?.some(({ name }) => name === 'AWS_SECRET_ACCESS_KEY')

    expect([hasKeys(check), hasKeys(refresh)]).toEqual([false, true])
    expect([check, refresh].map(({ spec }) => spec.activeDeadlineSeconds)).toEqual([77, undefined])
    expect(check.spec.containers[0]?.args?.slice(-4, -2)).toEqual(['--attempt', '4'])
    expect(JSON.stringify(check.spec.affinity?.nodeAffinity)).toContain('"n1"')
  })
})

test('the mover of a damaged replica verifies the files that are left', () => {
  const pod = replicaMover({ ...inputOf({}), replica: makeReplica({ isDamaged: true }) })

  expect(argumentsOf(pod)?.slice(-2)).toEqual(['--existing', 'verify'])
})
