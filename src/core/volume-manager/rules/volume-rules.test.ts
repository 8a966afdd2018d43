import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'
import { volumeProblems } from './volume-rules.ts'

const fieldsOf = (config: VolumeConfig) => volumeProblems(config, DEFAULT_VOLUME_LIMITS).map(({ field }) => field)
/** Every option that a rule of any source type checks, with an invalid value. */
const INVALID_OPTIONS = {
  awsCredentialsSecretName: 'No Name',
  sourceURL: 'lake',
  endpointURL: 's3',
  region: 'a b',
  verify: 'twice',
  timeoutForDataDownload: '5',
  distributionStrategy: 'a',
  resync: 'yes',
  resyncInterval: '0s',
  dataPath: '/etc',
  server: 'a b',
  path: 'a',
  s3GatewayURL: 's3',
  pachydermServiceAddress: 'a/b',
  pachAuthSecretName: 'No Name',
  outputPath: '../up',
  secretNamespace: 'other',
  pathStyle: 'virtual',
  requesterPays: 'yes',
  requestHeaders: '{"host": "x"}',
}
const INVALID_AZURE_OPTIONS = { ...INVALID_OPTIONS, azureCredentialsSecretName: 'No Name' }
const AZURE = ['azureCredentialsSecretName', 'sourceURL', 'endpointURL', 'verify'].map((name) => `options.${name}`)
const EVERY = ['labels', 'options.secretNamespace', 'nodeAffinity', 'mover.image', 'capacity']
const MOVED = ['replicas', 'options.timeoutForDataDownload', 'options.distributionStrategy']
const RESYNC = ['options.resync', 'options.resyncInterval']
const REQUESTS = ['options.pathStyle', 'options.requesterPays', 'options.requestHeaders']
const S3 = [
  ...['awsCredentialsSecretName', 'sourceURL', 'endpointURL', 'region', 'verify'].map((name) => `options.${name}`),
  ...REQUESTS,
]

describe('a volume with every rule broken', () => {
  test.each<{ sourceType: string; fields: string[]; options?: Record<string, string> }>([
    { sourceType: 'S3', fields: [...S3, ...MOVED, ...RESYNC, 'options.dataPath', 'accessMode'] },
    { sourceType: 'S3-Dev', fields: [...S3, ...MOVED, ...RESYNC, 'options.dataPath', 'accessMode'] },
    { sourceType: 'NFS', fields: ['options.server', 'options.path', 'accessMode'] },
    {
      sourceType: 'Pachyderm',
      fields: [
        ...['outputPath', 's3GatewayURL', 'pachydermServiceAddress', 'region', 'verify', 'pachAuthSecretName'].map(
          (name) => `options.${name}`,
        ),
        ...['options.repo', 'options.branch', 'options.inputPath', ...REQUESTS],
        ...[...MOVED, ...RESYNC, 'options.dataPath', 'accessMode'],
      ],
    },
    { sourceType: 'Local', fields: ['options.path', 'nodeAffinity', 'accessMode'] },
    { sourceType: 'Stream', fields: [...S3, ...MOVED, 'options.dataPath', 'accessMode'] },
    {
      sourceType: 'AzureBlob',
      options: INVALID_AZURE_OPTIONS,
      fields: [...AZURE, ...MOVED, ...RESYNC, 'options.dataPath', 'accessMode'],
    },
    {
      sourceType: 'Stream',
      options: INVALID_AZURE_OPTIONS,
      fields: [
        ...AZURE,
        ...MOVED,
        ...['options.awsCredentialsSecretName', 'options.region', ...REQUESTS, 'options.dataPath', 'accessMode'],
      ],
    },
    { sourceType: 'FTP', fields: ['sourceType'] },
  ])('of $sourceType has these problems', ({ sourceType, fields, options = INVALID_OPTIONS }) => {
    const config = makeVolume({
      sourceType,
      labels: {},
      replicas: 0,
      accessMode: 'Never',
      capacity: 'much',
      options,
      mover: { image: 'other' },
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
    })

    expect(new Set(fieldsOf(config).map((field) => field.replace(/^nodeAffinity.*/, 'nodeAffinity')))).toEqual(
      new Set([...EVERY, ...fields]),
    )
  })
})

test.each<{ name: string; config: Partial<VolumeConfig>; want: string[] }>([
  { name: 'the sample', config: {}, want: [] },
  { name: 'a reserved label', config: { labels: { vckname: 'a' } }, want: ['labels'] },
  { name: 'a reserved prefix of labels', config: { labels: { 'lodestone.dev/a': 'a' } }, want: ['labels'] },
  { name: 'an invalid label', config: { labels: { a: 'b c' } }, want: ['labels'] },
  { name: 'a capacity of 0', config: { capacity: '0Gi' }, want: ['capacity'] },
  { name: 'a capacity below 8Ei', config: { capacity: '7.9Ei' }, want: [] },
  { name: 'a capacity of 8Ei', config: { capacity: '8Ei' }, want: ['capacity'] },
  { name: 'an int64 as capacity', config: { capacity: '9223372036854774784' }, want: [] },
  { name: 'more than an int64 as capacity', config: { capacity: '12345678901234567890' }, want: ['capacity'] },
  { name: 'claims for replicas', config: { volumeType: 'persistentVolumeClaim' }, want: [] },
  {
    name: 'claims for Local data',
    config: { sourceType: 'Local', volumeType: 'persistentVolumeClaim', options: { path: '/mnt' } },
    want: ['volumeType', 'options.path', 'nodeAffinity'],
  },
  {
    name: 'a directory for NFS',
    config: {
      sourceType: 'NFS',
      accessMode: 'ReadOnlyMany',
      volumeType: 'hostPath',
      options: { server: 'nfs.example.com', path: '/' },
    },
    want: ['volumeType'],
  },
  { name: '1000 replicas', config: { replicas: 1000 }, want: [] },
  { name: '1001 replicas', config: { replicas: 1001 }, want: ['replicas'] },
  { name: 'a copy on every node', config: { onEveryNode: true, replicas: undefined as never }, want: [] },
  { name: 'a copy on every node and replicas', config: { onEveryNode: true, replicas: 1 }, want: ['replicas'] },
  { name: 'onEveryNode: false with replicas', config: { onEveryNode: false, replicas: 1 }, want: [] },
  {
    name: 'a copy on every node and changes to write back',
    config: {
      onEveryNode: true,
      replicas: undefined as never,
      options: { awsCredentialsSecretName: 'a', sourceURL: 's3://lake/sales/', resync: 'true' },
    },
    want: ['onEveryNode'],
  },
  {
    name: 'NFS on every node',
    config: {
      onEveryNode: true,
      sourceType: 'NFS',
      accessMode: 'ReadWriteMany',
      capacity: '5Gi',
      options: { server: 's', path: '/p' },
    },
    want: ['onEveryNode'],
  },
  {
    name: 'NFS without a capacity',
    config: { sourceType: 'NFS', accessMode: 'ReadOnlyMany', capacity: '', options: { server: 'a', path: '/' } },
    want: ['capacity'],
  },
  { name: 'a stream without a source', config: { sourceType: 'Stream', options: {} }, want: [] },
  {
    name: 'a stream with a source and no credentials',
    config: { sourceType: 'Stream', options: { sourceURL: 's3://abc' } },
    want: ['options.awsCredentialsSecretName'],
  },
  { name: 'a refresh of read-only data', config: { readOnly: true, refreshIntervalSeconds: 60 }, want: [] },
  {
    name: 'a refresh each second',
    config: { readOnly: true, refreshIntervalSeconds: 1 },
    want: ['refreshIntervalSeconds'],
  },
  {
    name: 'a refresh of data that pods may change',
    config: { refreshIntervalSeconds: 60 },
    want: ['refreshIntervalSeconds'],
  },
  { name: 'a source type of a prototype', config: { sourceType: 'constructor' }, want: ['sourceType'] },
])('$name has the problems $want', ({ config, want }) => {
  expect(fieldsOf(makeVolume(config))).toEqual(want)
})
