import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { revisionOf, SECRET_OPTIONS, SOURCE_TYPE_NAMES, sourceTypeOf, sourceTypeOptions } from './source-types.ts'

test.each([
  { name: 'S3', want: 'moved' },
  { name: 'S3-Dev', want: 'moved' },
  { name: 'Stream', want: 'moved' },
  { name: 'Pachyderm', want: 'moved' },
  { name: 'AzureBlob', want: 'moved' },
  { name: 'NFS', want: 'mounted' },
  { name: 'Local', want: 'present' },
  { name: 'FTP', want: 'present' },
  { name: 'toString', want: 'present' },
])('the data of $name is $want', ({ name, want }) => {
  expect(sourceTypeOf(name).delivery).toBe(want)
})

const S3 = makeVolume()
const options = S3.options ?? {}

test.each<{ name: string; change: Partial<VolumeConfig>; isOther: boolean }>([
  { name: 'the URL', change: { options: { ...options, sourceURL: 's3://lake/other/' } }, isOther: true },
  { name: 'the endpoint', change: { options: { ...options, endpointURL: 'http://s3' } }, isOther: true },
  { name: 'the directory', change: { options: { ...options, dataPath: '/data' } }, isOther: true },
  { name: 'the parts', change: { options: { ...options, distributionStrategy: '{"a": 1}' } }, isOther: true },
  { name: 'the source type', change: { sourceType: 'Stream' }, isOther: true },
  { name: 'the alias of the source type', change: { sourceType: 'S3-Dev' }, isOther: false },
  { name: 'the credentials', change: { options: { ...options, awsCredentialsSecretName: 'other' } }, isOther: false },
  { name: 'the number of copies', change: { replicas: 9 }, isOther: false },
  { name: 'the id', change: { id: 'vol2' }, isOther: false },
])('a change of $name changes the revision: $isOther', ({ change, isOther }) => {
  expect(revisionOf({ ...S3, ...change }) !== revisionOf(S3)).toBe(isOther)
})

test.each<{ sourceType: string; option: string }>([
  ...['server', 'path'].map((option) => ({ sourceType: 'NFS', option })),
  ...['repo', 'branch', 'inputPath', 'outputPath', 's3GatewayURL', 'pachydermServiceAddress'].map((option) => ({
    sourceType: 'Pachyderm',
    option,
  })),
  { sourceType: 'Local', option: 'path' },
  ...['sourceURL', 'endpointURL'].map((option) => ({ sourceType: 'AzureBlob', option })),
])('$option of $sourceType is part of the revision', ({ sourceType, option }) => {
  const revisions = ['a', 'b'].map((value) => revisionOf(makeVolume({ sourceType, options: { [option]: value } })))

  expect(new Set(revisions).size).toBe(2)
})

test.each(SOURCE_TYPE_NAMES)('every option of %s with the name of a Secret is followed to member clusters', (name) => {
  const secrets = sourceTypeOptions(name)?.filter((option) => option.endsWith('SecretName'))

  expect(secrets?.filter((option) => !SECRET_OPTIONS.includes(option))).toEqual([])
})
