import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import type { NodeSelectorRequirement } from '../../../api/node.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import { defined } from '../../../base/json.ts'
import { DEFAULT_VOLUME_LIMITS, type VolumeLimits } from './settings.ts'
import { admitVolumeManager, estimateStatusBytes, isVolumeManager, validateVolumeManager } from './validate.ts'
import { volumeProblems } from './volume-rules.ts'

const LIMITS: VolumeLimits = {
  ...DEFAULT_VOLUME_LIMITS,
  allowedRoots: ['/var/datasets', '/mnt/data/'],
  localRoots: ['/srv/local/'],
  allowedLocalNetworks: ['127.9.0.0/16'],
  allowedMoverImages: ['example.org/movers/*'],
}

const errorsOf = (manager: unknown) => validateVolumeManager(manager as VolumeManager, LIMITS)
const messagesOf = (...volumes: Partial<VolumeConfig>[]) =>
  errorsOf(makeVolumeManager(volumes)).map(({ message }) => message)
const s3 = (options: Record<string, string>) => ({ options: { ...makeVolume().options, ...options } })

const NFS: Partial<VolumeConfig> = {
  sourceType: 'NFS',
  accessMode: 'ReadWriteMany',
  options: { server: '10.0.0.7', path: '/exports/sales' },
}
const PACHYDERM: Partial<VolumeConfig> = {
  sourceType: 'Pachyderm',
  options: { repo: 'images', branch: 'master', inputPath: 's3/', outputPath: 'test' },
}
const WITHOUT_OPTIONS = { options: {} }
const hostnameIn = (...values: string[]) => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
  },
})

test('the volumes of a VolumeManager have at most 1,000 replicas in its status', () => {
  const volumes = (...replicas: number[]) => replicas.map((count, i) => ({ id: `vol${i}`, replicas: count }))

  expect(errorsOf(makeVolumeManager(volumes(600, 400)))).toEqual([])
  expect(errorsOf(makeVolumeManager(volumes(600, 401)))).toMatchObject([
    {
      path: 'spec.volumeConfigs',
      message:
        'the volumes cannot have more than 1000 replicas together, and have 1001; divide them between several VolumeManagers',
    },
  ])
})

test('the status of the volumes together has at most 1 MiB', () => {
  const volumes = (count: number, parts: number, dataPath = '/var/datasets') =>
    Array.from({ length: count }, (_, i) => {
      const strategy = Object.fromEntries(Array.from({ length: parts }, (_, j) => [`*${j}*`, Number(j === 0)]))
      return { ...s3({ dataPath, distributionStrategy: JSON.stringify(strategy) }), id: `vol${i}` }
    })
  const tooLarge = [{ path: 'spec.volumeConfigs', code: 'TooLong' }]

  expect(errorsOf(makeVolumeManager(volumes(30, 100)))).toEqual([])
  expect(errorsOf(makeVolumeManager(volumes(100, 100)))).toMatchObject(tooLarge)
  expect(errorsOf(makeVolumeManager([{ replicas: 1000 }]))).toEqual([])
  const dataPath = `/var/datasets/${'x'.repeat(400)}`
  expect(errorsOf(makeVolumeManager([{ ...s3({ dataPath }), replicas: 800 }]))).toEqual([])
  expect(errorsOf(makeVolumeManager([{ ...s3({ dataPath }), replicas: 1000 }]))).toMatchObject(tooLarge)
})

test.each([
  { name: 'a path', options: { dataPath: `/var/datasets/${'x'.repeat(3987)}` }, field: 'dataPath' },
  {
    name: 'a pattern',
    options: { distributionStrategy: JSON.stringify({ ['*'.repeat(1025)]: 1 }) },
    field: 'distributionStrategy',
  },
])('$name that no status can have is an error', ({ options, field }) => {
  const errors = errorsOf(makeVolumeManager([s3(options)]))
  expect(errors.map(({ path }) => path)).toEqual([`spec.volumeConfigs[0].options.${field}`])
})

describe('a VolumeManager is valid', () => {
  test.each<{ name: string; volumes: Partial<VolumeConfig>[] }>([
    { name: 'as in the S3 sample of VCK', volumes: [{}] },
    {
      name: 'with an endpoint and more replicas',
      volumes: [{ ...s3({ endpointURL: 'http://minio:9000' }), replicas: 3 }],
    },
    { name: 'in a region', volumes: [s3({ region: 'eu-central-1' })] },
    { name: 'of a server with ETags that are not checksums', volumes: [s3({ verify: 'size' })] },
    { name: 'with an endpoint at an IPv6 address', volumes: [s3({ endpointURL: 'https://[fd00::7]:9000' })] },
    { name: 'of public data', volumes: [s3({ awsCredentialsSecretName: '' })] },
    {
      name: 'with a role instead of a Secret',
      volumes: [{ options: { sourceURL: 's3://lake/sales/' }, mover: { serviceAccountName: 'reader' } }],
    },
    { name: 'with a data path below an allowed root', volumes: [s3({ dataPath: '/mnt/data/fast' })] },
    { name: 'of one object', volumes: [s3({ sourceURL: 's3://lake/cifar-10.tar.gz' })] },
    { name: 'of a whole bucket', volumes: [s3({ sourceURL: 's3://lake' })] },
    { name: 'with resync', volumes: [s3({ resync: 'true', timeoutForDataDownload: '20s' })] },
    {
      name: 'with a distribution strategy',
      volumes: [{ ...s3({ distributionStrategy: '{"*0_1*": 2, "*1_1*": 2}' }), replicas: 4 }],
    },
    { name: 'of NFS', volumes: [{ ...NFS, capacity: '.5Gi' }] },
    { name: 'of NFS with a host name', volumes: [{ ...NFS, options: { server: 'nfs.example.org', path: '/' } }] },
    { name: 'of Pachyderm', volumes: [PACHYDERM] },
    { name: 'of S3-Dev, which older manifests have', volumes: [{ sourceType: 'S3-Dev' }] },
    {
      name: 'of data that is on nodes already',
      volumes: [{ sourceType: 'Local', options: { path: '/srv/local/imagenet' }, nodeAffinity: hostnameIn('a') }],
    },
    { name: 'of an empty cache', volumes: [{ sourceType: 'Stream', ...WITHOUT_OPTIONS }] },
    { name: 'with sources of several types', volumes: [{}, { ...NFS, id: 'vol2' }, { ...PACHYDERM, id: 'vol3' }] },
    {
      name: 'with all fields that Lodestone adds',
      volumes: [
        {
          priority: 10,
          evictionPolicy: 'LeastRecentlyUsed',
          mover: { image: 'example.org/movers/hdfs:1', priorityClassName: 'low', resources: { limits: { cpu: '1' } } },
        },
      ],
    },
    { name: 'without volumes', volumes: [] },
  ])('$name', ({ volumes }) => {
    expect(errorsOf(makeVolumeManager(volumes))).toEqual([])
  })

  test.each(['', 'Pending', 'Running', 'Completed', 'Failed'] as const)('with the wanted state "%s"', (state) => {
    expect(errorsOf(makeVolumeManager([{}], { state }))).toEqual([])
  })
})

describe('a volume is rejected with the message of VCK', () => {
  test.each<{ name: string; volume: Partial<VolumeConfig>; want: string[] }>([
    { name: 'S3 without labels', volume: { labels: {} }, want: ['labels cannot be empty.'] },
    {
      name: 'S3 without options',
      volume: WITHOUT_OPTIONS,
      want: ['awsCredentialsSecretName key has to be set in options.', 'sourceURL has to be set in options.'],
    },
    { name: 'S3 without replicas', volume: { replicas: 0 }, want: ['replicas cannot be empty or less than 1.'] },
    {
      name: 'S3 with too many replicas',
      volume: { replicas: 2 ** 31 - 1 },
      want: ['replicas cannot be more than 1000.'],
    },
    {
      name: 'a stream with more parts than replicas',
      volume: { sourceType: 'Stream', options: { distributionStrategy: '{"*": 2000000000}' } },
      want: [
        'total number of replicas: [2000000000] in distributionStrategy [{"*": 2000000000}], does not match number of replicas provided: [1]',
      ],
    },
    { name: 'S3 without a mode', volume: { accessMode: '' }, want: ['accessMode has to be set.'] },
    {
      name: 'S3 of another mode',
      volume: { accessMode: 'ReadWriteMany' },
      want: ['accessMode must be ReadWriteOnce.'],
    },
    {
      name: 'Pachyderm of another mode',
      volume: { ...PACHYDERM, accessMode: 'ReadOnlyMany' },
      want: ['accessMode must be ReadWriteOnce.'],
    },
    {
      name: 'NFS of another mode',
      volume: { ...NFS, accessMode: 'ReadWriteOnce' },
      want: ['accessMode must be ReadWriteMany or ReadOnlyMany.'],
    },
    {
      name: 'NFS without options',
      volume: { ...NFS, ...WITHOUT_OPTIONS },
      want: ['server has to be set in options.', 'path has to be set in options.'],
    },
    {
      name: 'Pachyderm without options',
      volume: { ...PACHYDERM, ...WITHOUT_OPTIONS },
      want: ['repo', 'branch', 'inputPath', 'outputPath'].map((option) => `${option} has to be set in options.`),
    },
    {
      name: 'replicas that differ from the strategy',
      volume: { ...s3({ distributionStrategy: '{"*a*": 2}' }), replicas: 3 },
      want: [
        'total number of replicas: [2] in distributionStrategy [{"*a*": 2}], does not match number of replicas provided: [3]',
      ],
    },
    {
      name: 'an invalid strategy',
      volume: s3({ distributionStrategy: '["a"]' }),
      want: ['invalid distributionStrategy [["a"]] specified, it must be a map[string]int'],
    },
    {
      name: 'resync that is not a boolean',
      volume: s3({ resync: 'foobar' }),
      want: ['error while parsing resync option: strconv.ParseBool: parsing "foobar": invalid syntax'],
    },
    {
      name: 'resync with several replicas',
      volume: { ...s3({ resync: 'true' }), replicas: 2 },
      want: ['replicas cannot be > 1 when resync is set'],
    },
  ])('$name', ({ volume, want }) => {
    expect(messagesOf(volume)).toEqual(want)
  })

  test.each<{ option: string; value: string; want: string }>([
    { option: 'sourceURL', value: 'lake/sales', want: 'sourceURL has to be a valid URL' },
    { option: 'sourceURL', value: 's3://lake/../etc', want: 'sourceURL has to be a valid URL' },
    { option: 'sourceURL', value: 's3://la/x', want: 'sourceURL has to have the name of a bucket: la must have 3' },
    { option: 'sourceURL', value: 's3://-lake/x', want: 'sourceURL has to have the name of a bucket: -lake must' },
    { option: 'sourceURL', value: 's3://la..ke/x', want: 'sourceURL has to have the name of a bucket: la..ke' },
    { option: 'endpointUrl', value: 'x', want: 'unknown option of S3 (did you mean endpointURL?)' },
    { option: 'color', value: 'red', want: 'unknown option of S3' },
    { option: 'endpointURL', value: 'fake.end.point', want: 'endpointURL has to be a valid URL' },
    { option: 'endpointURL', value: 'http://u:p@host', want: 'endpointURL has to be a valid URL' },
    { option: 'region', value: 'eu central', want: 'region has to be the name of a region, e.g. eu-central-1.' },
    { option: 'region', value: '--parallel', want: 'region has to be the name of a region' },
    { option: 'verify', value: 'md5', want: 'verify has to be checksum or size.' },
    { option: 'timeoutForDataDownload', value: '10', want: 'timeoutForDataDownload has the incorrect format.' },
    { option: 'timeoutForDataDownload', value: '-10s', want: 'timeoutForDataDownload has the incorrect format.' },
  ])('$option $value', ({ option, value, want }) => {
    expect(messagesOf(s3({ [option]: value }))).toEqual([expect.stringContaining(want)])
  })

  test('only the first of many unknown options, with their names cut', () => {
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${i}${'x'.repeat(1000)}`, '']))

    const errors = errorsOf(makeVolumeManager([s3(unknown)])).filter(({ code }) => code === 'NotSupported')

    expect(errors.every(({ path }) => path.length < 200)).toBe(true)
    expect(errors.length).toBeLessThanOrEqual(100)
  })

  test('two volumes with the same id', () => {
    expect(errorsOf(makeVolumeManager([{}, {}]))).toEqual([
      { path: 'spec.volumeConfigs[1].id', code: 'Duplicate', message: 'Cannot have duplicate id: vol1.' },
    ])
  })

  test('all errors at once', () => {
    const volumes = [
      { labels: {}, accessMode: '', ...s3({ dataPath: '/etc' }) },
      { ...NFS, id: 'vol2', labels: {}, options: {} },
      { id: 'vol2', sourceType: 'FTP' },
    ]
    expect(errorsOf(makeVolumeManager(volumes)).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'spec.volumeConfigs[0].labels: labels cannot be empty.',
      'spec.volumeConfigs[0].options.dataPath: dataPath has to be below /var/datasets or /mnt/data/.',
      'spec.volumeConfigs[0].accessMode: accessMode has to be set.',
      'spec.volumeConfigs[1].labels: labels cannot be empty.',
      'spec.volumeConfigs[1].options.server: server has to be set in options.',
      'spec.volumeConfigs[1].options.path: path has to be set in options.',
      'spec.volumeConfigs[2].id: Cannot have duplicate id: vol2.',
      'spec.volumeConfigs[2].sourceType: sourceType must be one of S3, NFS, Pachyderm, Local, Stream, AzureBlob.',
    ])
  })
})

describe('a volume cannot refer', () => {
  test.each<{ name: string; volume: Partial<VolumeConfig>; want: string }>([
    { name: 'to another directory of the node', volume: s3({ dataPath: '/etc' }), want: 'dataPath has to be below' },
    {
      name: 'to a path with .. out of the root',
      volume: s3({ dataPath: '/var/datasets/../../etc' }),
      want: 'dataPath has to be an absolute path',
    },
    {
      name: 'to a directory beside the root',
      volume: s3({ dataPath: '/var/datasets-of-others' }),
      want: 'dataPath has to be below',
    },
    {
      name: 'to a relative path',
      volume: s3({ dataPath: 'var/datasets' }),
      want: 'dataPath has to be an absolute path',
    },
    {
      name: 'to a path out of the volume',
      volume: { ...PACHYDERM, options: { ...PACHYDERM.options, outputPath: '../x' } },
      want: 'outputPath has to be a path inside',
    },
    ...['/root', '/var/datasets', '/var/datasets/imagenet', '/mnt', '/srv'].map((path) => ({
      name: `to a directory that Local has no right to, ${path}`,
      volume: { sourceType: 'Local', options: { path }, nodeAffinity: hostnameIn('a') },
      want: 'path has to be below /srv/local/.',
    })),
    {
      name: 'to the data of another VolumeManager',
      volume: s3({ dataPath: '/var/datasets/vck-resource-4b1d-0123456789abc/data' }),
      want: 'dataPath cannot be inside the directory of a volume',
    },
    {
      name: 'to a root for Local volumes',
      volume: s3({ dataPath: '/srv/local/data' }),
      want: 'dataPath has to be below /var/datasets or /mnt/data/.',
    },
    {
      name: 'to a Secret of another namespace by its name',
      volume: s3({ awsCredentialsSecretName: 'other/creds' }),
      want: 'in the namespace of the VolumeManager',
    },
    {
      name: 'to a Secret of another namespace by an option',
      volume: s3({ secretNamespace: 'other' }),
      want: 'secretNamespace cannot be set',
    },
    {
      name: 'to an image that is not allowed',
      volume: { mover: { image: 'evil.example.org/x' } },
      want: 'remove it, or add it to volumes.allowedMoverImages',
    },
    {
      name: 'to labels of Lodestone',
      volume: { labels: { 'lodestone.dev/volume': 'x' } },
      want: 'it is set by the controller',
    },
    { name: 'to labels of VCK', volume: { labels: { vckname: 'x' } }, want: 'it is set by the controller' },
    {
      name: 'to an invalid label',
      volume: { labels: { a: 'x\nhostPID: true' } },
      want: 'it is not a valid label',
    },
    ...['a..b/x', 'a.-b/x', 'a-.b/x'].map((key) => ({
      name: `to the label ${key}, whose prefix is no DNS subdomain`,
      volume: { labels: { [key]: 'y' } },
      want: `labels cannot have ${key}: y: it is not a valid label`,
    })),
  ])('$name', ({ volume, want }) => {
    expect(messagesOf(volume)).toEqual([expect.stringContaining(want)])
  })
})

describe('an affinity that is invalid in a pod is rejected', () => {
  const term = (requirement: NodeSelectorRequirement) => ({
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] },
  })
  test.each([
    { name: 'without values', requirement: { key: 'zone', operator: 'In' }, want: 'must have values for In' },
    {
      name: 'with too many values',
      requirement: { key: 'zone', operator: 'Exists', values: ['a'] },
      want: 'must have no values',
    },
    { name: 'with an unknown operator', requirement: { key: 'zone', operator: 'Is' }, want: 'must have an operator' },
    {
      name: 'with a limit that is not a number',
      requirement: { key: 'zone', operator: 'Gt', values: ['a'] },
      want: 'must have one integer',
    },
  ])('$name', ({ requirement, want }) => {
    expect(messagesOf({ nodeAffinity: term(requirement) })).toEqual([expect.stringContaining(want)])
  })
})

describe('an old form is rejected, and the error has the new one', () => {
  test.each(['aipg.intel.com/v1', 'kvc.kubeflow.org/v1', 'vck.intelai.org/v1'])('%s', (apiVersion) => {
    expect(isVolumeManager({ apiVersion, kind: 'VolumeManager' })).toBe(true)
    expect(errorsOf({ ...makeVolumeManager(), apiVersion })).toEqual([
      {
        path: 'apiVersion',
        code: 'NotSupported',
        message: `${apiVersion} is no longer the version of VolumeManagers; write apiVersion: vck.intelai.org/v1alpha1`,
      },
    ])
  })

  test('S3-Dev with a warning', () => {
    expect(admitVolumeManager(makeVolumeManager([{ sourceType: 'S3-Dev' }]), undefined, LIMITS)).toEqual({
      kind: 'allow',
      warnings: ['spec.volumeConfigs[0].sourceType: S3-Dev is treated as S3; write S3'],
    })
  })

  test.each([
    { resync: undefined, isWarned: true },
    { resync: 'false', isWarned: true },
    { resync: 'true', isWarned: false },
  ])('resyncInterval with resync $resync: warned $isWarned', ({ resync, isWarned }) => {
    const options = { ...makeVolume().options, resyncInterval: '5m', ...(resync !== undefined && { resync }) }
    const warning =
      'spec.volumeConfigs[0].options.resyncInterval: has no effect without resync: "true"; set it to write changes back'
    const manager = makeVolumeManager([{ options, replicas: 1 }])

    expect(admitVolumeManager(manager, undefined, LIMITS)).toEqual(
      defined({ kind: 'allow', warnings: isWarned ? [warning] : undefined }),
    )
  })
})

describe('a refresh that is requested with the annotation', () => {
  const withRefresh = (readOnly: boolean, request?: string, more: Partial<VolumeConfig> = {}) => {
    const manager = makeVolumeManager([{}, { id: 'vol2', readOnly, ...more }])
    const annotations = request === undefined ? {} : { 'lodestone.dev/refresh': request }
    return { ...manager, metadata: { ...manager.metadata, annotations } }
  }
  const warning =
    'metadata.annotations[lodestone.dev/refresh]: has no effect: no downloaded volume has readOnly: true; set it to refresh the data'

  test.each([
    { name: 'gets a warning if no volume is read-only', manager: withRefresh(false, '1'), warnings: [warning] },
    {
      name: 'gets it for a change of the annotation alone',
      manager: withRefresh(false, '2'),
      stored: withRefresh(false, '1'),
      warnings: [warning],
    },
    { name: 'gets it once', manager: withRefresh(false, '1'), stored: withRefresh(false, '1'), warnings: undefined },
    { name: 'gets none if a volume is read-only', manager: withRefresh(true, '1'), warnings: undefined },
    {
      name: 'gets none if the mode of a stream is read-only',
      manager: withRefresh(false, '1', { sourceType: 'Stream', accessMode: 'ReadOnlyMany' }),
      warnings: undefined,
    },
    {
      name: 'gets a warning if only NFS data is read-only',
      manager: withRefresh(true, '1', NFS),
      warnings: [warning],
    },
  ])('$name', ({ manager, stored, warnings }) => {
    expect(admitVolumeManager(manager, stored, LIMITS)).toEqual({ kind: 'allow', ...(warnings && { warnings }) })
  })
})

describe('a value of another shape is reported by path', () => {
  test.each<{ name: string; spec: unknown; want: string[] }>([
    { name: 'no spec', spec: undefined, want: ['spec'] },
    {
      name: 'a number as an option',
      spec: volumeWith({ options: { timeoutForDataDownload: 10 } }),
      want: ['spec.volumeConfigs[0].options.timeoutForDataDownload'],
    },
    {
      name: 'a list as an affinity',
      spec: volumeWith({ nodeAffinity: [] }),
      want: ['spec.volumeConfigs[0].nodeAffinity'],
    },
    { name: 'a field that does not exist', spec: volumeWith({ replica: 2 }), want: ['spec.volumeConfigs[0].replica'] },
    { name: 'a state that does not exist', spec: { ...volumeWith({}), state: 'Done' }, want: ['spec.state'] },
    { name: 'volumes that are not a list', spec: { volumeConfigs: {} }, want: ['spec.volumeConfigs'] },
    { name: 'a volume that is not an object', spec: { volumeConfigs: ['vol1'] }, want: ['spec.volumeConfigs[0]'] },
  ])('$name', ({ spec, want }) => {
    expect(errorsOf({ ...makeVolumeManager(), spec }).map(({ path }) => path)).toEqual(want)
  })

  function volumeWith(members: object): object {
    return { volumeConfigs: [{ ...makeVolume(), ...members }] }
  }
})

describe('a stored VolumeManager', () => {
  const wrong = makeVolumeManager([{ labels: {} }])

  test('can be changed in its status and finalizer although it is invalid', () => {
    const { metadata } = wrong
    expect(admitVolumeManager({ ...wrong, metadata: { ...metadata, finalizers: ['f'] } }, wrong, LIMITS)).toEqual({
      kind: 'allow',
    })
  })

  test('can be deleted although it is invalid', () => {
    const going = makeVolumeManager([{ labels: {} }], { deletionTimestamp: '2026-01-02T03:04:05Z' })
    expect(admitVolumeManager(going, makeVolumeManager(), LIMITS)).toEqual({ kind: 'allow' })
  })

  test('is validated when its spec changes', () => {
    expect(admitVolumeManager(wrong, makeVolumeManager(), LIMITS)).toMatchObject({ kind: 'deny' })
  })
})

describe('an endpoint with a loopback or link-local address is rejected', () => {
  const custom = { mover: { image: 'example.org/movers/x:1' } }
  test.each<{ field: string; volume: Partial<VolumeConfig> }>([
    { field: 'endpointURL', volume: s3({ endpointURL: 'http://169.254.169.254/latest' }) },
    { field: 'endpointURL', volume: s3({ endpointURL: 'https://localhost:9000' }) },
    { field: 'endpointURL', volume: s3({ endpointURL: 'http://2130706433' }) },
    { field: 'endpointURL', volume: s3({ endpointURL: 'http://[::ffff:127.0.0.1]:80' }) },
    { field: 'endpointURL', volume: { sourceType: 'Stream', ...s3({ endpointURL: 'http://[fe80::1]' }) } },
    { field: 's3GatewayURL', volume: { ...PACHYDERM, options: { ...PACHYDERM.options, s3GatewayURL: 'http://0/' } } },
    {
      field: 'pachydermServiceAddress',
      volume: { ...PACHYDERM, options: { ...PACHYDERM.options, pachydermServiceAddress: '127.1:650' } },
    },
    { field: 'server', volume: { ...NFS, capacity: '5Gi', options: { server: '127.0.0.1', path: '/x' } } },
    { field: 'server', volume: { ...NFS, capacity: '5Gi', options: { server: '::1', path: '/x' } } },
    { field: 'sourceURL', volume: { ...custom, ...s3({ sourceURL: 'http://169.254.169.254/latest/' }) } },
  ])('$field: $volume.options', ({ field, volume }) => {
    const [message, ...others] = messagesOf(volume)
    expect(others).toEqual([])
    expect(message).toMatch(new RegExp(`^${field} is not allowed: .* volumes.allowedLocalNetworks `))
  })

  test('unless its network is allowed', () => {
    expect(messagesOf(s3({ endpointURL: 'http://127.9.0.1:9000' }))).toEqual([])
    expect(messagesOf(s3({ endpointURL: 'http://127.8.0.1:9000' }))).toHaveLength(1)
  })

  test('and so is an invalid address of Pachyderm', () => {
    const volume = { ...PACHYDERM, options: { ...PACHYDERM.options, pachydermServiceAddress: 'x/../y:1' } }
    expect(messagesOf(volume)).toEqual([
      'pachydermServiceAddress has to be a host and a port, e.g. pachd.default.svc:650.',
    ])
  })
})

describe('with other directories in the configuration', () => {
  const problemsOf = (volume: Partial<VolumeConfig>, limits: Partial<VolumeLimits>) =>
    volumeProblems(makeVolume(volume), { ...LIMITS, ...limits }).map(({ message }) => message)

  test.each([{}, { dataPath: '' }])('the default directory has to be allowed too (%o)', (options) => {
    const volume = s3(options)
    expect(problemsOf(volume, {})).toEqual([])
    expect(problemsOf(volume, { allowedRoots: ['/data'] })).toEqual([
      'dataPath has to be set in options: its default /var/datasets is not allowed. It has to be below /data.',
    ])
  })

  test('Local volumes are rejected by default, and the message names the setting', () => {
    const volume = { sourceType: 'Local', options: { path: '/mnt/x' }, nodeAffinity: hostnameIn('a') }
    expect(problemsOf({ ...volume, options: { path: '/srv/local/x' } }, { localPaths: 'roots' })).toEqual([
      'path has to be one of /srv/local/.',
    ])
    expect(problemsOf(volume, { localRoots: [] })).toEqual([
      'path /mnt/x is not allowed; add a directory for Local volumes to volumes.localRoots of the configuration.',
    ])
  })
})

test('a read-only volume cannot have resync', () => {
  expect(messagesOf({ readOnly: true })).toEqual([])
  expect(messagesOf({ readOnly: true, ...s3({ resync: 'true' }) })).toEqual([
    'readOnly cannot be set when resync is: pods could write nothing to write back.',
  ])
  expect(errorsOf(makeVolumeManager([{ readOnly: 'yes' as never }]))).toMatchObject([
    { path: 'spec.volumeConfigs[0].readOnly' },
  ])
})

test('a list of volumes that is too long is one error, and its items are not validated', () => {
  const manager = makeVolumeManager(Array.from({ length: 101 }, () => ({ id: 'same' })))
  expect(errorsOf(manager)).toEqual([expect.objectContaining({ path: 'spec.volumeConfigs', code: 'TooLong' })])
})

test('a distribution strategy with too many parts is rejected', () => {
  const parts = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`part-${i}`, 1]))
  expect(messagesOf({ replicas: 101, ...s3({ distributionStrategy: JSON.stringify(parts) }) })).toEqual([
    'distributionStrategy has 101 shards: it can have at most 100.',
  ])
})

test('unknown options: 20 are listed with a suggestion, all others are counted', () => {
  const options = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`sourceUrl${i}`, 'x']))
  const errors = errorsOf(makeVolumeManager(Array.from({ length: 100 }, (_, i) => ({ id: `v${i}`, ...s3(options) }))))
  const isUnknown = ({ message = '' }: { message?: string }) => message.startsWith('unknown option')
  expect(errors.filter(isUnknown)).toHaveLength(20)
  expect(errors.filter(isUnknown)[0]).toMatchObject({ message: 'unknown option of S3 (did you mean sourceURL?)' })
  expect(errors.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(6000 - 20)
})

const withOptions = (options: Record<string, string>, replicas = 1) =>
  makeVolume({ replicas, options: { ...makeVolume().options, ...options } })
/** In JSON, the default path has 15 characters. */
const ONE = 800 + 700 + 2 * 15

test.each([
  { name: 'no volume', configs: [], want: 0 },
  { name: 'one replica', configs: [makeVolume()], want: ONE },
  { name: 'each volume', configs: [makeVolume(), makeVolume({ id: 'vol2' })], want: 2 * ONE },
  { name: 'each replica', configs: [makeVolume({ replicas: 3 })], want: ONE + 2 * 715 },
  { name: 'a path', configs: [withOptions({ dataPath: `/var/datasets/${'x'.repeat(9)}` })], want: ONE + 2 * 10 },
  { name: 'bytes of UTF-8', configs: [withOptions({ dataPath: '/var/datasets/ü' })], want: ONE + 2 * 3 },
  { name: 'patterns', configs: [withOptions({ distributionStrategy: '{"*a": 1, "*bcd": 0}' })], want: ONE + 610 + 6 },
])('the status has room for $name', ({ configs, want }) => {
  expect(estimateStatusBytes(configs)).toBe(want)
})
