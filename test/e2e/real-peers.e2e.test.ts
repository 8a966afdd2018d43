// Claims against real data systems, with the configurations of their pages in docs/guides/data-systems. Each is skipped, with a line that says so,
// only where its runtime is missing on the machine.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { documentedSystems, type Replacements, useDocumentedSystem } from './documented-systems.ts'
import { startLodestone } from './lodestone.ts'
import { startHdfs } from './peers/hdfs.ts'
import { startHive } from './peers/hive.ts'
import { startIceberg } from './peers/iceberg.ts'
import { startNessie } from './peers/nessie.ts'
import { orSkip } from './peers/runtimes.ts'
import { startS3 } from './peers/s3.ts'
import { freePorts } from './processes.ts'

// The first run downloads and builds.
const firstRunMs = 20 * 60_000

let plane: ControlPlane
let systems: string

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  systems = join(plane.dir, 'systems')
  await mkdir(systems)
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', 'crds']) })
  await startLodestone(plane, { config: { systems: { directory: systems } } })
})

afterAll(async () => {
  await plane?.stopAll()
})

test('s3: a bucket is located by its region, and a prefix is measured', { timeout: firstRunMs }, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir, { region: 'us-east-1' }))
  plane.onStop(() => s3.stop())
  await s3.createBucket('lake')
  await s3.putObject('lake', 'sales/a', Buffer.alloc(1000))
  await s3.putObject('lake', 'sales/b', Buffer.alloc(234))
  await s3.putObject('lake', 'other/c', Buffer.alloc(5))
  await configure('s3', {
    urls: [s3.url],
    files: { accessKeyIdFile: s3.accessKey, secretAccessKeyFile: s3.secretKey },
  })

  expect(await localityOf('s3', 'prefix', 'lake/sales')).toMatchObject({ clusterNames: ['member2'], bytes: 1234 })
})

test('iceberg-rest: a table is located by its location, and moves with it', {
  timeout: firstRunMs,
}, async (context) => {
  const iceberg = await orSkip(context, startIceberg(plane.dir))
  plane.onStop(() => iceberg.stop())
  await iceberg.createNamespace(['sales', 'eu'])
  await iceberg.createTable(['sales', 'eu'], 'orders', { location: 's3://lake-eu/orders' })
  await iceberg.addSnapshot(['sales', 'eu'], 'orders', 4096)
  await configure('iceberg-rest', {
    urls: [iceberg.url],
    tokenUrl: `${iceberg.url}/v1/oauth/tokens`,
    files: { clientIdFile: 'lodestone', clientSecretFile: 'secret' },
  })

  expect(await localityOf('lake', 'table', 'sales.eu.orders')).toMatchObject({
    clusterNames: ['member1'],
    bytes: 4096,
  })

  await iceberg.moveTable(['sales', 'eu'], 'orders', 's3://lake-us/orders')
  await plane.eventually(
    'the move is seen',
    async () => (await find('sales.eu.orders'))?.spec.locality?.clusterNames?.join() === 'member3',
  )
})

test('iceberg-rest: Nessie locates tables in two warehouses of one catalog', {
  timeout: firstRunMs,
}, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir, { name: 's3-of-nessie' }))
  plane.onStop(() => s3.stop())
  for (const bucket of ['lake-eu', 'lake-us']) await s3.createBucket(bucket)
  const warehouses = { eu: 'lake-eu', us: 'lake-us' }
  const nessie = await orSkip(context, startNessie(plane.dir, { s3, warehouses }))
  plane.onStop(() => nessie.stop())
  for (const namespace of [['shop'], ['shop', 'web']]) await nessie.createNamespace(namespace)
  await nessie.createTable('eu', ['shop', 'web'], 'visits')
  await nessie.createTable('us', ['shop', 'web'], 'carts')
  await configure('iceberg-rest', { urls: [nessie.url] }, 1)

  expect(await localityOf('nessie', 'table', 'shop.web.visits')).toMatchObject({ clusterNames: ['member1'], bytes: 0 })
  expect(await localityOf('nessie', 'table', 'shop.web.carts', { warehouse: 'us' })).toMatchObject({
    clusterNames: ['member3'],
  })

  // Nowhere is a table that never existed or that is dropped, but not one of a warehouse that Nessie does not have.
  await nessie.dropTable('eu', ['shop', 'web'], 'visits')
  await claim('nessie', 'table', 'shop.web.missing')
  await claim('nessie', 'table', 'shop.web.unknown', { warehouse: 'asia' })
  for (const name of ['shop.web.missing', 'shop.web.visits']) {
    await plane.eventually(`${name} is nowhere`, async () => (await phaseOf(name)) === 'Unavailable', 30_000)
  }
  await plane.eventually(
    'the unknown warehouse is reported',
    async () => isStale(await find('shop.web.unknown')),
    30_000,
  )
  expect(await phaseOf('shop.web.unknown')).not.toBe('Unavailable')
})

test('webhdfs: a directory is measured, also after the active name node changed', {
  timeout: firstRunMs,
}, async (context) => {
  const hdfs = await orSkip(context, startHdfs(plane.dir, { nameNodes: 2 }))
  plane.onStop(() => hdfs.stop())
  await hdfs.mkdirs('/warehouse/orders')
  await hdfs.writeFile('/warehouse/orders/part-0', Buffer.alloc(777))
  await configure('webhdfs', { urls: hdfs.urls })

  expect(await localityOf('webhdfs', 'path', '/warehouse/orders')).toMatchObject({
    clusterNames: ['member1', 'member2'],
    bytes: 777,
  })

  await hdfs.failover()
  await hdfs.writeFile('/warehouse/orders/part-1', Buffer.alloc(223))
  await plane.eventually(
    'the other one answers',
    async () => (await find('/warehouse/orders'))?.spec.locality?.bytes === 1000,
    30_000,
  )
})

test('hive-metastore: table and partition elsewhere are located, and outages keep them', {
  timeout: firstRunMs,
}, async (context) => {
  const hive = await orSkip(context, startHive(plane.dir))
  plane.onStop(() => hive.stop())
  const [deadPort] = await freePorts(1)
  await hive.createDatabase('sales')
  await hive.createTable({ database: 'sales', table: 'orders', location: 's3a://lake-eu/orders', partitionKey: 'day' })
  await hive.addPartition({
    database: 'sales',
    table: 'orders',
    value: '2026-01-01',
    location: 's3a://lake-us/orders/1',
    parameters: { totalSize: '4096' },
  })
  await configure('hive-metastore', { urls: [`thrift://127.0.0.1:${deadPort}`, hive.url] })

  expect(await localityOf('hive', 'table', 'sales.orders')).toMatchObject({ clusterNames: ['member1'] })
  const partition = { partition: 'day=2026-01-01' }
  expect(await localityOf('hive', 'table', 'sales.ORDERS', partition)).toMatchObject({
    clusterNames: ['member3'],
    bytes: 4096,
  })

  // The catalog of a name is that of the answer, and a storage handler has no location.
  expect(await localityOf('hive', 'table', 'hive.sales.orders')).toMatchObject({ clusterNames: ['member1'] })
  const parameters = { storage_handler: 'org.apache.hadoop.hive.hbase.HBaseStorageHandler' }
  await hive.createTable({ database: 'sales', table: 'lookup', location: 's3a://lake-eu/lookup', parameters })
  for (const name of ['lake.sales.orders', 'sales.lookup']) await claim('hive', 'table', name)
  await plane.eventually(
    'a missing catalog is nowhere',
    async () => (await phaseOf('lake.sales.orders')) === 'Unavailable',
  )
  await plane.eventually('the handler is reported', async () => isStale(await find('sales.lookup')), 30_000)
  expect(await find('sales.lookup')).toMatchObject({
    status: { lastError: expect.stringContaining('HBaseStorageHandler') },
  })

  await hive.stop()
  await plane.eventually('the outage is seen', async () => isStale(await find('sales.orders')), 30_000)
  expect(await find('sales.orders')).toMatchObject({
    spec: { locality: { clusterNames: ['member1'] } },
    status: { lastError: expect.stringContaining('ECONNREFUSED') },
  })

  await hive.start()
  await hive.moveTable('sales', 'orders', 's3a://lake-us/orders')
  await plane.eventually(
    'the move is seen',
    async () => (await find('sales.orders'))?.spec.locality?.clusterNames?.join() === 'member3',
    30_000,
  )
})

test('hive-metastore: with TLS and a password', { timeout: firstRunMs }, async (context) => {
  const password = 'of-the-metastore'
  const hive = await orSkip(
    context,
    startHive(plane.dir, { name: 'hive-secure', login: { username: 'bob', password } }),
  )
  plane.onStop(() => hive.stop())
  await hive.createTable({ database: 'default', table: 'secured', location: 's3a://lake-eu/secured' })
  await configure(
    'hive-metastore',
    {
      urls: [hive.url],
      files: { caFile: hive.ca, usernameFile: 'bob', passwordFile: password },
    },
    1,
  )

  expect(await localityOf('warehouse', 'table', 'default.secured')).toMatchObject({ clusterNames: ['member1'] })
})

interface Source extends KubeObject {
  spec: { name: string; locality?: { clusterNames?: string[]; bytes?: number } }
  status?: { phase?: string; conditions?: { type: string; status: string }[] }
}

async function phaseOf(name: string): Promise<string | undefined> {
  return (await find(name))?.status?.phase
}

function isStale(source: Source | undefined): boolean {
  return source?.status?.conditions?.some(({ type, status }) => type === 'Stale' && status === 'True') ?? false
}

// Uses a configuration of a page: the first one, or another.
async function configure(page: string, replacements: Replacements, index = 0): Promise<void> {
  const documented = documentedSystems(page)[index]
  if (documented === undefined) throw new Error(`the page ${page} has no configuration ${index}`)
  await useDocumentedSystem(systems, documented, replacements)
}

async function localityOf(
  system: string,
  type: string,
  name: string,
  attributes: Record<string, string> = {},
): Promise<Source['spec']['locality']> {
  await claim(system, type, name, attributes)
  return plane.eventually(`${system} is asked`, async () => (await find(name))?.spec.locality, 30_000)
}

async function claim(
  system: string,
  type: string,
  name: string,
  attributes: Record<string, string> = {},
): Promise<void> {
  await plane.apply({
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSourceClaim',
    metadata: {
      name: `needs-${name.replaceAll(/[^\w-]/g, '-').toLowerCase()}-${Object.keys(attributes).length}`,
      namespace: 'default',
    },
    spec: {
      system,
      dataSourceType: type,
      dataSourceName: name,
      attributes,
      workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'consumer' },
    },
  } as KubeObject)
}

async function find(name: string): Promise<Source | undefined> {
  return ((await plane.listJson('datasources')) as Source[]).find(({ spec }) => spec.name === name)
}
