// Claims against real data systems: an S3 server, an Iceberg REST catalog, an HDFS with two name nodes. Each is skipped, with a line
// that says so, only where its runtime is missing on the machine.
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { startLodestone } from './lodestone.ts'
import { startHdfs } from './peers/hdfs.ts'
import { startIceberg } from './peers/iceberg.ts'
import { orSkip } from './peers/runtimes.ts'
import { startS3 } from './peers/s3.ts'

const run = promisify(execFile)
const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
// The first run downloads and builds.
const firstRunMs = 20 * 60_000

let plane: ControlPlane
let systems: string

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  systems = join(plane.dir, 'systems')
  await mkdir(systems)
  const { stdout } = await run(process.execPath, [main, 'manifests', 'crds'])
  await plane.kubectl(['apply', '-f', '-'], { input: stdout })
  await startLodestone(plane, { config: { systems: { directory: systems } } })
})

afterAll(async () => {
  await plane?.stopAll()
})

test('s3: a bucket is located by its region, and a prefix is measured', { timeout: firstRunMs }, async (context) => {
  const s3 = await orSkip(context, startS3(plane.dir))
  plane.onStop(() => s3.stop())
  await s3.createBucket('lake')
  await s3.putObject('lake', 'sales/a', Buffer.alloc(1000))
  await s3.putObject('lake', 'sales/b', Buffer.alloc(234))
  await s3.putObject('lake', 'other/c', Buffer.alloc(5))
  await configure('s3', {
    endpoint: {
      url: s3.url,
      auth: { type: 'sigv4', accessKeyId: s3.accessKey, secretAccessKey: s3.secretKey, region: s3.region },
    },
    regionMapping: { [s3.region]: ['member2'] },
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
    endpoint: { url: iceberg.url },
    locationMapping: { 's3a://lake-eu/': ['member1'], 's3://lake-us': ['member3'] },
  })

  expect(await localityOf('iceberg-rest', 'table', 'sales.eu.orders')).toMatchObject({
    clusterNames: ['member1'],
    bytes: 4096,
  })

  await iceberg.moveTable(['sales', 'eu'], 'orders', 's3://lake-us/orders')
  await plane.eventually(
    'the move is seen',
    async () => (await find('sales.eu.orders'))?.spec.locality?.clusterNames?.join() === 'member3',
  )
})

test('webhdfs: a directory is measured, also after the active name node changed', {
  timeout: firstRunMs,
}, async (context) => {
  const hdfs = await orSkip(context, startHdfs(plane.dir, { nameNodes: 2 }))
  plane.onStop(() => hdfs.stop())
  await hdfs.mkdirs('/warehouse/orders')
  await hdfs.writeFile('/warehouse/orders/part-0', Buffer.alloc(777))
  await configure('webhdfs', {
    endpoint: { urls: hdfs.urls },
    extra: { defaultFs: 'hdfs://lake' },
    locationMapping: { 'hdfs://lake/warehouse': ['member1', 'member2'] },
  })

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

interface Source extends KubeObject {
  spec: { name: string; locality?: { clusterNames?: string[]; bytes?: number } }
}

async function configure(system: string, config: object): Promise<void> {
  await writeFile(join(systems, system), JSON.stringify({ system, refreshInterval: '1s', ...config }))
}

async function localityOf(system: string, type: string, name: string): Promise<Source['spec']['locality']> {
  await plane.apply({
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSourceClaim',
    metadata: { name: `needs-${system}`, namespace: 'default' },
    spec: {
      system,
      dataSourceType: type,
      dataSourceName: name,
      workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'consumer' },
    },
  } as KubeObject)
  return plane.eventually(`${system} is asked`, async () => (await find(name))?.spec.locality, 30_000)
}

async function find(name: string): Promise<Source | undefined> {
  return ((await plane.listJson('datasources')) as Source[]).find(({ spec }) => spec.name === name)
}
