// Data in Azure Blob Storage, on a real API server with the real scheduler and controllers, with movers that really run.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { jobOf, podOf } from './consumers.ts'
import { filesIn, firstVolume, type Member, startMember, volumeManagerOf } from './member.ts'
import { type Azurite, startAzurite } from './peers/azurite.ts'

let cluster: Member
let azurite: Azurite
let sas: string

beforeAll(async () => {
  cluster = await startMember()
  azurite = await startAzurite(cluster.plane.dir)
  cluster.plane.onStop(() => azurite.stop())
  sas = azurite.sasToken('rwlc')
  await cluster.plane.apply([
    secretOf('azure-key', { azurestorageaccountkey: azurite.key }),
    secretOf('azure-sas', { azurestorageaccountsastoken: sas }),
    secretOf('azure-nothing', {}),
  ])
  await containerOf('lake', { 'train/0_1.csv': 'first', 'train/1_1.csv': 'second', 'train/deep/more-1_1.csv': 'third' })
})
afterAll(() => cluster?.plane.stopAll())

// With the keys of the Blob CSI driver, for an account that is not at Azure.
function secretOf(name: string, keys: Record<string, string>) {
  const stringData = { azurestorageaccountname: azurite.account, endpoints: azurite.origin, ...keys }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, stringData }
}

async function containerOf(name: string, blobs: Record<string, string>) {
  await azurite.createContainer(name)
  for (const [blob, text] of Object.entries(blobs)) await azurite.putBlob(name, blob, text)
}

function azureVolume(path: string, { options, ...over }: Partial<VolumeConfig> = {}): VolumeConfig {
  return {
    id: 'vol1',
    replicas: 1,
    sourceType: 'AzureBlob',
    accessMode: 'ReadWriteOnce',
    labels: { key1: 'val1' },
    options: {
      azureCredentialsSecretName: 'azure-key',
      endpointURL: azurite.url,
      sourceURL: `${azurite.url}/${path}`,
      ...options,
    },
    ...over,
  }
}

test('data is on two nodes with a pod beside it, until its VolumeManager is deleted', async () => {
  await cluster.create(volumeManagerOf('azure', azureVolume('lake/train/', { replicas: 2 })))

  const volume = firstVolume(await cluster.reached('azure', 'Running'))

  const there = cluster.nodesWith(volume)
  expect(there).toHaveLength(2)
  const files = { '0_1.csv': 'first', '1_1.csv': 'second', 'deep/more-1_1.csv': 'third' }
  for (const node of there) expect(await filesIn(cluster.dataOn(node, volume))).toEqual(files)
  await cluster.create(podOf('azure-reader', 'azure'))
  expect(there).toContain(await cluster.nodeOf('azure-reader'))
  await cluster.plane.kubectl(['delete', 'pod', 'azure-reader'])
  await cluster.plane.kubectl(['delete', 'vmgr', 'azure', '--timeout=60s'], { timeoutMs: 70_000 })
  expect(cluster.nodesWith(volume)).toEqual([])
})

test('parts of the data are on their own nodes, without folders, with a SAS token', async () => {
  const options = {
    azureCredentialsSecretName: 'azure-sas',
    distributionStrategy: '{"*0_1*": 1, "*1_1*": 2}',
    exclude: '*more*',
    flatten: 'true',
  }
  await cluster.create(volumeManagerOf('azure-parts', azureVolume('lake/train/', { replicas: 3, options })))

  const manager = await cluster.reached('azure-parts', 'Running')

  const volume = firstVolume(manager)
  for (const { node = '', shard } of volume.replicas) {
    const want = shard === '*0_1*' ? { '0_1.csv': 'first' } : { '1_1.csv': 'second' }
    expect(await filesIn(cluster.dataOn(node, volume))).toEqual(want)
  }
  expect(volume.replicas.map(({ shard }) => shard).sort()).toEqual(['*0_1*', '*1_1*', '*1_1*'])
  expect(JSON.stringify(manager)).not.toContain(new URLSearchParams(sas).get('sig'))
})

test('a stream from Azure is usable, and has all blobs when it is complete', async () => {
  const stream = azureVolume('lake/train/', { sourceType: 'Stream' })
  await cluster.create(volumeManagerOf('azure-stream', stream))

  await cluster.plane.eventually('all of it is there', async () => {
    const { replicas } = firstVolume(await cluster.reached('azure-stream', 'Running'))
    return replicas[0]?.state === 'Ready'
  })

  const volume = firstVolume(await cluster.reached('azure-stream', 'Running'))
  const [node = ''] = cluster.nodesWith(volume)
  expect(Object.keys(await filesIn(cluster.dataOn(node, volume)))).toHaveLength(3)
})

test('the files that a Job writes are in the container when it is done', async () => {
  await containerOf('outcome', { 'run/in.txt': 'in' })
  const options = { resync: 'true', azureCredentialsSecretName: 'azure-sas' }
  await cluster.create(volumeManagerOf('azure-outcome', azureVolume('outcome/run/', { options })))
  const volume = firstVolume(await cluster.reached('azure-outcome', 'Running'))
  const [node = ''] = cluster.nodesWith(volume)
  // No container runs on kwok's nodes: this is what the Job's would have written.
  const file = join(cluster.dataOn(node, volume), 'models/1.bin')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, 'weights')

  await cluster.create(jobOf('azure-training', 'azure-outcome', 1))

  await cluster.plane.eventually('the container has it', async () => {
    const { body } = await azurite.getBlob('outcome', 'run/models/1.bin')
    return body.toString() === 'weights'
  })
  expect((await azurite.getBlob('outcome', 'run/in.txt')).body.toString()).toBe('in')
})

test.each([
  {
    name: 'a Secret without a SAS token and a key',
    path: 'lake/train/',
    secret: 'azure-nothing',
    reason: 'AccessDenied',
    says: 'has neither azurestorageaccountsastoken nor azurestorageaccountkey',
  },
  {
    name: 'a container that is missing',
    path: 'no-lake/train/',
    secret: 'azure-key',
    reason: 'NotFound',
    says: 'the container does not exist',
  },
])('$name is the reason in the status', async ({ path, secret, reason, says }) => {
  const name = `azure-${reason.toLowerCase()}`
  const options = { azureCredentialsSecretName: secret }
  await cluster.create(volumeManagerOf(name, azureVolume(path, { options })))

  await cluster.plane.eventually('the status has the reason', async () => {
    const manager = await cluster.volumeManager(name)
    const [replica] = manager ? firstVolume(manager).replicas : []
    return replica?.reason === reason && replica.message?.includes(says)
  })
  await cluster.plane.kubectl(['delete', 'vmgr', name, '--wait=false'])
})

test('a SAS token in the URL is rejected unprinted, and a mistyped option with advice', async () => {
  const withToken = azureVolume('lake/train/', { options: { sourceURL: `${azurite.url}/lake/train/?${sas}` } })
  const mistyped = azureVolume('lake/train/', { options: { azureCredentialSecretName: 'azure-key' } })

  const rejected = await cluster.tryCreate(volumeManagerOf('azure-token', withToken))
  const suggested = await cluster.tryCreate(volumeManagerOf('azure-mistyped', mistyped))

  expect(rejected.stderr).toContain('sourceURL cannot have a query')
  expect(rejected.stderr).not.toContain('sig=')
  expect(suggested.stderr).toContain('did you mean azureCredentialsSecretName?')
})
