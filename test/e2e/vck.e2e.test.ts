// Manifests as VCK's own end-to-end tests apply them (vck.intelai.org/v1alpha1), with nothing changed but the addresses of servers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import {
  bindTimeoutMs,
  filesIn,
  firstVolume,
  type Member,
  nodeNames,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { type S3, startS3 } from './peers/s3.ts'

let cluster: Member
let gateway: S3

beforeAll(async () => {
  cluster = await startMember()
  const { s3 } = cluster
  await s3.createBucket('e2e-test')
  const keys = ['cifar-100-python.tar.gz', 'cifar/1.bin', 'other.txt', 'p0/data.bin', 'p1/data.bin']
  for (const key of keys) await s3.putObject('e2e-test', key, key)
  // Pachyderm's gateway takes a token for both halves of the credentials; the branch master of the repo test is a bucket.
  const token = 'pach-token'
  gateway = await startS3(cluster.plane.dir, {
    name: 'pachyderm',
    region: 'us-east-1',
    accessKey: token,
    secretKey: token,
  })
  cluster.plane.onStop(() => gateway.stop())
  await gateway.createBucket('master.test')
  for (const key of ['s3/test', 's3/deep/test']) await gateway.putObject('master.test', key, key)
  const metadata = { name: 'pach', namespace: 'default' }
  await cluster.plane.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData: { pachAuthToken: token, endpoints: gateway.url },
  })
})
afterAll(() => cluster?.plane.stopAll())

const CIFAR = 's3://e2e-test/cifar-100-python.tar.gz'

const s3 = (options: Record<string, string> = {}, over: Partial<VolumeConfig> = {}) =>
  s3Volume(cluster.proxy, CIFAR, { ...over, options })

const nfs = (options: Record<string, string> = {}, over: Partial<VolumeConfig> = {}): VolumeConfig => ({
  id: 'vol1',
  replicas: 1,
  sourceType: 'NFS',
  accessMode: 'ReadWriteMany',
  capacity: '.5Gi',
  labels: { key1: 'val1' },
  options: { server: '10.0.0.9', path: '/', ...options },
  ...over,
})

const pachyderm = (options: Record<string, string>, over: Partial<VolumeConfig> = {}): VolumeConfig => ({
  id: 'vol1',
  replicas: 1,
  sourceType: 'Pachyderm',
  accessMode: 'ReadWriteOnce',
  capacity: '5Gi',
  labels: { key1: 'val1' },
  options: { repo: 'test', branch: 'master', outputPath: 'output', ...options },
  ...over,
})

const without = (config: VolumeConfig, ...names: string[]): VolumeConfig => ({
  ...config,
  options: Object.fromEntries(Object.entries(config.options ?? {}).filter(([name]) => !names.includes(name))),
})

describe('is Running with data and nodes', () => {
  test.each([
    ['S3, one object', 'p1', () => s3(), ['cifar-100-python.tar.gz']],
    ['S3 with resync', 'p2', () => s3({ resync: 'true', timeoutForDataDownload: '20s' }), ['cifar-100-python.tar.gz']],
    [
      'S3 with a distribution strategy',
      'p3',
      () => s3({ sourceURL: 's3://e2e-test', distributionStrategy: '{"*cifar*": 1}' }),
      ['cifar-100-python.tar.gz', 'cifar/1.bin'],
    ],
    [
      'S3 with a distribution strategy, without folders',
      'flat',
      () => s3({ sourceURL: 's3://e2e-test', distributionStrategy: '{"*cifar*": 1}', flatten: 'true' }),
      ['1.bin', 'cifar-100-python.tar.gz'],
    ],
    [
      'S3 with equal names in several folders',
      'equal',
      () => s3({ sourceURL: 's3://e2e-test', distributionStrategy: '{"*/data.bin": 1}' }),
      ['p0/data.bin', 'p1/data.bin'],
    ],
  ] as const)('%s', async (_name, name, config, files) => {
    await cluster.create(volumeManagerOf(name, config()))

    const volume = firstVolume(await cluster.reached(name, 'Running'))

    expect(volume.message).toBe('success')
    expect(volume.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution).toBeDefined()
    const [node = ''] = cluster.nodesWith(volume)
    const there = await filesIn(cluster.kubelet.pathOn(node, volume.volumeSource?.hostPath?.path ?? ''))
    expect(Object.keys(there)).toEqual(files)
  })

  test('NFS, with a claim in place of a directory, on any node', async () => {
    await cluster.create(volumeManagerOf('p4', nfs()))

    const volume = firstVolume(await cluster.reached('p4', 'Running', bindTimeoutMs))

    expect(volume.message).toBe('success')
    expect(volume.nodeAffinity).toEqual({})
    const name = volume.volumeSource?.persistentVolumeClaim?.claimName ?? ''
    const claim = (await cluster.plane.getJson('pvc', name, 'default')) as { status?: { phase?: string } } | undefined
    expect(claim?.status?.phase).toBe('Bound')
  })

  test('S3 and NFS in one, each with its own', async () => {
    await cluster.create(volumeManagerOf('p5', s3(), nfs({}, { id: 'vol2' })))

    const { status } = await cluster.reached('p5', 'Running', bindTimeoutMs)

    expect(status?.volumes).toMatchObject([
      { id: 'vol1', message: 'success', volumeSource: { hostPath: {} } },
      { id: 'vol2', message: 'success', volumeSource: { persistentVolumeClaim: {} }, nodeAffinity: {} },
    ])
  })
})

describe('is Running with what Pachyderm has', () => {
  test.each([
    ['one file', 'p6', { inputPath: 's3/test' }, ['test']],
    ['a folder', 'p7', { inputPath: 's3/' }, ['deep/test', 'test']],
    ['a folder in little time', 'p8', { inputPath: 's3/', timeoutForDataDownload: '10s' }, ['deep/test', 'test']],
  ])('%s, through its S3 gateway', async (_name, name, given, files) => {
    const options = { ...given, s3GatewayURL: gateway.url, pachAuthSecretName: 'pach' }
    await cluster.create(volumeManagerOf(name, pachyderm(options)))

    const volume = firstVolume(await cluster.reached(name, 'Running'))

    const [node = ''] = cluster.nodesWith(volume)
    const there = await filesIn(cluster.kubelet.pathOn(node, `${volume.volumeSource?.hostPath?.path}/output`))
    expect(Object.keys(there)).toEqual(files)
  })
})

describe('is Failed, with the reason', () => {
  test.each([
    ['an object that is not there', 'n1', 's3://e2e-test/fake-url', {}],
    ['a bucket that is not there', 'n9', 's3://fake-url', { timeoutForDataDownload: '10s' }],
  ])('%s', async (_name, name, sourceURL, options) => {
    await cluster.create(volumeManagerOf(name, s3({ sourceURL, ...options })))

    const { status } = await cluster.reached(name, 'Failed')

    expect(status?.message).toBe('failed to deploy all the sub-resources')
    expect(status?.volumes?.[0]?.message).toContain('error during data download using pod')
  })

  test('more replicas than nodes', async () => {
    await cluster.create(volumeManagerOf('many', s3({}, { replicas: 999 })))

    const { status } = await cluster.reached('many', 'Failed')

    expect(status?.volumes?.[0]?.message).toContain(`replicas [999] greater than number of nodes [${nodeNames.length}]`)
  })
})

describe('is refused when it is created, in the words of VCK', () => {
  test.each([
    ['two volumes of one id', () => [s3(), nfs()], 'Cannot have duplicate id: vol1.'],
    ['S3 without labels', () => [s3({}, { labels: {} })], 'labels cannot be empty'],
    [
      'S3 without credentials',
      () => [without(s3(), 'awsCredentialsSecretName')],
      'awsCredentialsSecretName key has to be set in options',
    ],
    ['resync that is no boolean', () => [s3({ resync: 'foobar' })], 'error while parsing resync option'],
    [
      'resync of two replicas',
      () => [s3({ resync: 'true' }, { replicas: 2 })],
      'replicas cannot be > 1 when resync is set',
    ],
    ['NFS without labels', () => [nfs({}, { labels: {} })], 'labels cannot be empty'],
    ['NFS without a server', () => [without(nfs(), 'server')], 'server has to be set in options'],
    ['NFS without a path', () => [without(nfs(), 'path')], 'path has to be set in options'],
    ['an endpoint that is no URL', () => [s3({ endpointURL: 'fake.end.point' })], 'endpointURL has to be a valid URL'],
    [
      'one bad volume of two',
      () => [without(s3(), 'awsCredentialsSecretName'), nfs({}, { id: 'vol2' })],
      'awsCredentialsSecretName key has to be set in options',
    ],
    [
      'a time limit without a unit',
      () => [s3({ timeoutForDataDownload: '10' })],
      'timeoutForDataDownload has the incorrect format.',
    ],
    [
      'a negative time limit',
      () => [s3({ timeoutForDataDownload: '-10s' })],
      'timeoutForDataDownload has the incorrect format.',
    ],
    ['Pachyderm without labels', () => [pachyderm({ inputPath: 's3/' }, { labels: {} })], 'labels cannot be empty'],
  ])('%s', async (_name, configs, message) => {
    const { code, stderr } = await cluster.tryCreate(volumeManagerOf('refused', ...configs()))

    expect(code).not.toBe(0)
    expect(stderr).toContain('denied the request')
    expect(stderr).toContain(message)
  })
})
