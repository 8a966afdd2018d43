import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { azureSource } from './source.ts'

const AZURE = 'https://sales.blob.core.windows.net'
const EMULATOR = 'http://azurite:10000/devstoreaccount1'
const secretKey = (name: string, key: string, more = {}) => ({
  name,
  valueFrom: { secretKeyRef: { name: 'azure', key, ...more } },
})

test('the server and the container are separated, and the key is decoded', () => {
  const options = { sourceURL: `${AZURE}/lake/a%20b/`, azureCredentialsSecretName: '', verify: 'size' }

  expect(azureSource(makeVolume({ options }))).toEqual({
    url: 'az://lake/a b/',
    endpoint: AZURE,
    region: undefined,
    verify: 'size',
    env: [],
    requests: [],
  })
})

test('the account of an emulator is in the path of its endpoint', () => {
  const options = { sourceURL: `${EMULATOR}/lake/a`, endpointURL: `${EMULATOR}/` }

  expect(azureSource(makeVolume({ options }))).toMatchObject({ url: 'az://lake/a', endpoint: EMULATOR })
})

test('a blob whose data is divided is a prefix', () => {
  const options = { sourceURL: `${AZURE}/lake/a`, distributionStrategy: '{"*0*": 1}' }

  expect(azureSource(makeVolume({ options }))?.url).toBe('az://lake/a/')
})

test('a mover of another image gets the URL as it was written', () => {
  const options = { sourceURL: `${AZURE}/lake/a%20b/` }

  expect(azureSource(makeVolume({ options, mover: { image: 'other' } }))?.url).toBe(`${AZURE}/lake/a%20b/`)
})

test('the account is required in the Secret; SAS token, key and endpoints are not', () => {
  const options = { sourceURL: `${AZURE}/lake/`, azureCredentialsSecretName: 'azure' }

  expect(azureSource(makeVolume({ options }))?.env).toEqual([
    secretKey('AZURE_STORAGE_ACCOUNT', 'azurestorageaccountname'),
    secretKey('AZURE_STORAGE_SAS_TOKEN', 'azurestorageaccountsastoken', { optional: true }),
    secretKey('AZURE_STORAGE_KEY', 'azurestorageaccountkey', { optional: true }),
    secretKey('MOVER_CREDENTIAL_ENDPOINTS', 'endpoints', { optional: true }),
    secretKey('MOVER_CA', 'ca.crt', { optional: true }),
  ])
})

test('a URL that is not of Azure gives no source', () => {
  expect(azureSource(makeVolume({ options: { sourceURL: 's3://lake/' } }))).toBeUndefined()
})
