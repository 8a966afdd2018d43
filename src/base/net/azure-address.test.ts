/** Tests the URLs of data in Azure Blob Storage. */
import { expect, test } from 'vitest'
import { azureUrl, isContainerName, isOfAccount, parseAzureUrl, parseBlobUrl } from './azure-address.ts'

const AZURE = 'https://sales.blob.core.windows.net'
const EMULATOR = 'http://127.0.0.1:10000/devstoreaccount1'

test.each([
  { url: `${AZURE}/lake/raw/`, want: { endpoint: AZURE, container: 'lake', key: 'raw/' } },
  { url: `${AZURE}/lake/raw/a.bin`, want: { endpoint: AZURE, container: 'lake', key: 'raw/a.bin' } },
  { url: `${AZURE}/lake`, want: { endpoint: AZURE, container: 'lake', key: '' } },
  { url: `${AZURE}/$web/index.html`, want: { endpoint: AZURE, container: '$web', key: 'index.html' } },
  { url: `${AZURE}/lake/a%20b%25/`, want: { endpoint: AZURE, container: 'lake', key: 'a b%/' } },
  { url: `${EMULATOR}/lake/raw/`, endpoint: EMULATOR, want: { endpoint: EMULATOR, container: 'lake', key: 'raw/' } },
  { url: `${EMULATOR}/lake/`, endpoint: `${EMULATOR}/`, want: { endpoint: EMULATOR, container: 'lake', key: '' } },
  { url: `${AZURE}/lake/raw/`, endpoint: EMULATOR, want: undefined },
  { url: `${AZURE}.example.org/lake/`, endpoint: AZURE, want: undefined },
  { url: `${AZURE}/lake/raw/?sv=2024&sig=abc`, want: undefined },
  { url: `${AZURE}/lake/raw/#a`, want: undefined },
  { url: 'https://user:password@sales.blob.core.windows.net/lake/', want: undefined },
  { url: `${AZURE}/lake/%ff`, want: undefined },
  { url: `${AZURE}/`, want: undefined },
  { url: 'az://lake/raw/', want: undefined },
  { url: 's3://lake/raw/', want: undefined },
  { url: '', want: undefined },
])('$url at the endpoint $endpoint', ({ url, endpoint, want }) => {
  expect(parseBlobUrl(url, endpoint)).toEqual(want)
})

const lake = { container: 'lake', globRoot: 'az/lake/' }

test.each([
  { url: 'az://lake/a b', want: { ...lake, url: 'az://lake/a b', key: 'a b', recursive: false } },
  { url: 'AZ://lake/a/', want: { ...lake, url: 'az://lake/a/', key: 'a/', recursive: true } },
  { url: 'az://lake', want: { ...lake, url: 'az://lake/', key: '', recursive: true } },
  { url: 'az://Lake/', want: undefined },
  { url: 's3://lake/', want: undefined },
])('$url is a place, or undefined', ({ url, want }) => {
  expect(parseAzureUrl(url)).toEqual(want)
})

test('a container and a key give the URL of a mover', () => {
  expect(azureUrl({ container: 'lake', key: 'a b/' })).toBe('az://lake/a b/')
})

test.each([
  { name: 'lake', want: true },
  { name: 'a-1', want: true },
  { name: '$root', want: true },
  { name: 'x'.repeat(63), want: true },
  { name: 'x'.repeat(64), want: false },
  { name: 'ab', want: false },
  { name: '-lake', want: false },
  { name: 'la--ke', want: false },
  { name: 'lake.1', want: false },
  { name: '$other', want: false },
])('$name is the name of a container: $want', ({ name, want }) => {
  expect(isContainerName(name)).toBe(want)
})

test.each([
  { origin: AZURE, want: true },
  { origin: 'https://sales.blob.core.chinacloudapi.cn', want: true },
  { origin: 'https://sales.blob.core.usgovcloudapi.net', want: true },
  { origin: 'https://sales.z22.blob.storage.azure.net', want: true },
  { origin: 'https://sales-secondary.blob.core.windows.net', want: true },
  { origin: 'http://sales.blob.core.windows.net', want: false },
  { origin: 'https://sales.blob.core.windows.net:8443', want: false },
  { origin: 'https://other.blob.core.windows.net', want: false },
  { origin: 'https://sales.blob.core.windows.net.example.org', want: false },
  { origin: 'https://salesxblob.core.windows.net', want: false },
])('$origin is a server of the account: $want', ({ origin, want }) => {
  expect(isOfAccount(origin, 'sales')).toBe(want)
})
