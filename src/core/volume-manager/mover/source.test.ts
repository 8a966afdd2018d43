import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { moverSourceOf } from './source.ts'

const PACHYDERM = { repo: 'images', branch: 'master', inputPath: '/s3/', outputPath: 'test/' }

const secretKey = (name: string, key: string, more = {}) => ({
  name,
  valueFrom: { secretKeyRef: { name: 'aws-creds', key, ...more } },
})
const tokenFor = (endpoints: object) => [
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: 'pach', key: 'pachAuthToken' } },
  })),
  {
    name: 'MOVER_CREDENTIAL_ENDPOINTS',
    valueFrom: { secretKeyRef: { name: 'pach', key: 'endpoints', ...endpoints } },
  },
  { name: 'MOVER_CA', valueFrom: { secretKeyRef: { name: 'pach', key: 'ca.crt', optional: true } } },
]

test.each<{ name: string; volume: Partial<VolumeConfig>; want: object }>([
  { name: 'S3 below a folder', volume: {}, want: { url: 's3://lake/sales/', endpoint: undefined } },
  {
    name: 'S3 with a server',
    volume: { options: { sourceURL: 's3://lake/a.tar', endpointURL: 'http://minio:9000' } },
    want: { url: 's3://lake/a.tar', endpoint: 'http://minio:9000', env: [] },
  },
  {
    name: 'S3 in a region',
    volume: { options: { sourceURL: 's3://lake/', region: 'eu-central-1' } },
    want: { endpoint: undefined, region: 'eu-central-1' },
  },
  {
    name: 'S3 with verification by size',
    volume: { options: { sourceURL: 's3://lake/', verify: 'size' } },
    want: { verify: 'size' },
  },
  {
    name: 'the example of VCK whose data is divided, and whose URL has no slash at the end',
    volume: { replicas: 2, options: { sourceURL: 's3://foo/bar', distributionStrategy: '{"*0_1*": 1, "*1_1*": 1}' } },
    want: { url: 's3://foo/bar/' },
  },
  {
    name: 'a folder of Pachyderm whose data is divided',
    volume: { sourceType: 'Pachyderm', options: { ...PACHYDERM, inputPath: 's3', distributionStrategy: '{"*0*": 1}' } },
    want: { url: 's3://master.images/s3/' },
  },
  {
    name: 'S3 with a server that needs other requests',
    volume: {
      options: {
        sourceURL: 's3://lake/',
        pathStyle: 'F',
        requesterPays: 'true',
        requestHeaders: '{"X-Tenant": "sales"}',
      },
    },
    want: { requests: ['--path-style', 'false', '--requester-pays', 'true', '--header', 'x-tenant:sales'] },
  },
  {
    name: 'S3 with options that are off',
    volume: { options: { sourceURL: 's3://lake/', requesterPays: 'false', requestHeaders: '' } },
    want: { requests: [] },
  },
  { name: 'S3 with its other name in VCK', volume: { sourceType: 'S3-Dev' }, want: { url: 's3://lake/sales/' } },
  {
    name: 'S3 with verification by checksum and credentials of a Secret',
    volume: {},
    want: {
      verify: undefined,
      env: [
        secretKey('AWS_ACCESS_KEY_ID', 'awsAccessKeyID'),
        secretKey('AWS_SECRET_ACCESS_KEY', 'awsSecretAccessKey'),
        // Temporary credentials are refused without it.
        secretKey('AWS_SESSION_TOKEN', 'awsSessionToken', { optional: true }),
        secretKey('MOVER_CREDENTIAL_ENDPOINTS', 'endpoints', { optional: true }),
        secretKey('MOVER_CA', 'ca.crt', { optional: true }),
      ],
    },
  },
  {
    name: 'a stream in a region',
    volume: { sourceType: 'Stream', options: { sourceURL: 's3://lake/', region: 'garage' } },
    want: { region: 'garage' },
  },
  {
    name: 'a blob of Azure',
    volume: { sourceType: 'AzureBlob', options: { sourceURL: 'https://a.blob.core.windows.net/lake/a' } },
    want: { url: 'az://lake/a', endpoint: 'https://a.blob.core.windows.net' },
  },
  {
    name: 'a stream from Azure',
    volume: {
      sourceType: 'Stream',
      options: { sourceURL: 'https://a.blob.core.windows.net/lake/', azureCredentialsSecretName: '' },
    },
    want: { url: 'az://lake/', endpoint: 'https://a.blob.core.windows.net' },
  },
  {
    name: 'Pachyderm with a region of its gateway',
    volume: { sourceType: 'Pachyderm', options: { ...PACHYDERM, region: 'pach-1', verify: 'size' } },
    want: { region: 'pach-1', verify: 'size' },
  },
  {
    name: 'all of a branch of Pachyderm, by checksum',
    volume: { sourceType: 'Pachyderm', options: { repo: 'images', branch: 'master' } },
    want: { url: 's3://master.images/', folder: '', region: undefined, verify: undefined },
  },
  {
    name: 'Pachyderm with slashes around its paths, which stay within them',
    volume: { sourceType: 'Pachyderm', options: { ...PACHYDERM, inputPath: '//a//b/', outputPath: 'a//b//' } },
    want: { url: 's3://master.images/a//b/', folder: 'a//b' },
  },
  {
    name: 'a bucket with another scheme, as in VCK',
    volume: { options: { sourceURL: 'gs://lake/a.tar' } },
    want: { url: 's3://lake/a.tar' },
  },
  {
    name: 'a source that only a custom mover can read',
    volume: { options: { sourceURL: 'https://example.org/a.tar.gz' }, mover: { image: 'example.org/tarball:1' } },
    want: { url: 'https://example.org/a.tar.gz' },
  },
  {
    name: 'Pachyderm through its gateway',
    volume: { sourceType: 'Pachyderm', options: { ...PACHYDERM, pachAuthSecretName: 'pach' } },
    want: {
      url: 's3://master.images/s3/',
      endpoint: 'http://pachd.default.svc:30600',
      folder: 'test',
      env: tokenFor({ optional: true }),
    },
  },
  {
    name: 'Pachyderm at another address, which the Secret must allow for its token',
    volume: {
      sourceType: 'Pachyderm',
      options: { ...PACHYDERM, pachAuthSecretName: 'pach', s3GatewayURL: 'https://pach.example.org' },
    },
    want: { endpoint: 'https://pach.example.org', env: tokenFor({}) },
  },
  {
    name: 'Pachyderm at the host of an old address',
    volume: { sourceType: 'Pachyderm', options: { ...PACHYDERM, pachydermServiceAddress: 'pachd.data.svc:650' } },
    want: { endpoint: 'http://pachd.data.svc:30600', env: [] },
  },
])('$name', ({ volume, want }) => {
  expect(moverSourceOf(makeVolume(volume))).toMatchObject(want)
})

test.each<{ name: string; volume: Partial<VolumeConfig> }>([
  { name: 'a stream without a source', volume: { sourceType: 'Stream', options: {} } },
  { name: 'S3 without options', volume: { options: undefined as never } },
  { name: 'NFS', volume: { sourceType: 'NFS' } },
])('$name has no source for a mover', ({ volume }) => {
  expect(moverSourceOf(makeVolume(volume))).toBeUndefined()
})
