import { describe, expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { AZURE_BLOB, isAzureStream, onlyForS3 } from './azure-rules.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'

const AZURE = 'https://sales.blob.core.windows.net'
const EMULATOR = 'http://azurite.test.svc:10000/devstoreaccount1'
const options = { azureCredentialsSecretName: 'azure', sourceURL: `${AZURE}/lake/raw/` }

const problemsOf = (given: Record<string, string>) =>
  AZURE_BLOB.flatMap((rule) => rule(makeVolume({ options: given }), DEFAULT_VOLUME_LIMITS) ?? [])

describe('data in Azure', () => {
  test.each([
    { name: 'below a folder', given: options, want: [] },
    { name: 'of a whole container', given: { ...options, sourceURL: `${AZURE}/lake` }, want: [] },
    { name: 'that is public', given: { ...options, azureCredentialsSecretName: '' }, want: [] },
    { name: 'in one blob with a space', given: { ...options, sourceURL: `${AZURE}/lake/a%20b` }, want: [] },
    {
      name: 'of an emulator',
      given: { ...options, sourceURL: `${EMULATOR}/lake/`, endpointURL: EMULATOR },
      want: [],
    },
    {
      name: 'without credentials',
      given: { sourceURL: options.sourceURL },
      want: ['Required options.azureCredentialsSecretName'],
    },
    {
      name: 'with a Secret of another namespace',
      given: { ...options, azureCredentialsSecretName: 'other/azure' },
      want: ['Invalid options.azureCredentialsSecretName'],
    },
    { name: 'without a URL', given: { azureCredentialsSecretName: '' }, want: ['Required options.sourceURL'] },
    { name: 'of S3', given: { ...options, sourceURL: 's3://lake/raw/' }, want: ['Invalid options.sourceURL'] },
    { name: 'without a container', given: { ...options, sourceURL: AZURE }, want: ['Invalid options.sourceURL'] },
    {
      name: 'in a container with capitals',
      given: { ...options, sourceURL: `${AZURE}/Lake/` },
      want: ['Invalid options.sourceURL'],
    },
    {
      name: 'above its container',
      given: { ...options, sourceURL: `${AZURE}/lake/%2e%2e/` },
      want: ['Invalid options.sourceURL'],
    },
    {
      name: 'on the node of the mover',
      given: { ...options, sourceURL: 'http://127.0.0.1/lake/' },
      want: ['Invalid options.sourceURL'],
    },
    {
      name: 'of a host that is no host',
      given: { ...options, sourceURL: 'https://a b/lake/' },
      want: ['Invalid options.sourceURL'],
    },
    {
      name: 'at another endpoint',
      given: { ...options, endpointURL: EMULATOR },
      want: ['Invalid options.sourceURL'],
    },
    { name: 'with another check', given: { ...options, verify: 'twice' }, want: ['Invalid options.verify'] },
  ])('$name has the problems $want', ({ given, want }) => {
    expect(problemsOf(given).map(({ code, field }) => `${code} ${field}`)).toEqual(want)
  })

  test('with a SAS token in its URL is rejected with a remedy, and without the token', () => {
    const [found, ...others] = problemsOf({ ...options, sourceURL: `${AZURE}/lake/?sv=2024-11-04&sig=c2VjcmV0` })

    expect(others).toEqual([])
    expect(found).toMatchObject({ code: 'Invalid', field: 'options.sourceURL' })
    expect(found?.message).toContain('azurestorageaccountsastoken')
    expect(JSON.stringify(found)).not.toContain('c2VjcmV0')
  })
})

test.each([
  { given: { azureCredentialsSecretName: '' }, want: true },
  { given: { awsCredentialsSecretName: '' }, want: false },
  { given: {}, want: false },
])('a stream with $given comes from Azure: $want', ({ given, want }) => {
  expect(isAzureStream(makeVolume({ options: given }))).toBe(want)
})

test.each([
  { given: { region: 'a' }, want: 'Forbidden' },
  { given: {}, want: undefined },
])('a stream from Azure with $given: $want', ({ given, want }) => {
  expect(onlyForS3('region')(makeVolume({ options: given }), DEFAULT_VOLUME_LIMITS)?.code).toBe(want)
})
