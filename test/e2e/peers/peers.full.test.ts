// Tests the peers themselves: each one starts, speaks its own protocol, keeps its data over a restart and leaves no
// process behind.
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { locate, openPlugin } from '../../../src/locality/locality.suite.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../processes.ts'
import { startAzurite } from './azurite.ts'
import { startHdfs } from './hdfs.ts'
import { startHive } from './hive.ts'
import { startIceberg } from './iceberg.ts'
import type { Peer } from './peer-process.ts'
import { orSkip, type Runtime, requireRuntime } from './runtimes.ts'
import { startS3 } from './s3.ts'

// The first run downloads and builds.
const firstRunMs = 20 * 60_000
const tables = 'lake/sales/orders'
let dir: string
let started: Peer[] = []

beforeAll(async () => {
  dir = await makeTemporaryFolder()
})

afterEach(async () => {
  const peers = started
  started = []
  await Promise.all(peers.map((peer) => peer.stop()))
  for (const { pid } of peers) expect(isAlive(pid)).toBe(false)
})

afterAll(async () => {
  await removeTemporaryFolder(dir)
})

describe('S3', { timeout: firstRunMs }, () => {
  test('says the region of a bucket, to the signed and to the anonymous', async (context) => {
    const s3 = tracked(await orSkip(context, startS3(dir)))
    await s3.createBucket('lake')
    const signed = await s3.request('HEAD', '/lake')
    expect(signed).toMatchObject({ status: 200, headers: { 'x-amz-bucket-region': s3.region } })
    expect(await head(`${s3.url}/lake`)).toEqual({ status: 403, region: s3.region })
  })

  // Anonymously the header is there even for a bucket that is not; AWS always sends it, this server does not.
  test('has no bucket that was not created', async (context) => {
    const s3 = tracked(await orSkip(context, startS3(dir, { name: 's3-oslo', region: 'oslo' })))
    const { status, headers } = await s3.request('HEAD', '/nothing-here')
    expect(status).toBe(404)
    expect(headers).not.toHaveProperty('x-amz-bucket-region')
    expect(await head(`${s3.url}/nothing-here`)).toEqual({ status: 404, region: 'oslo' })
  })

  test('lists the objects below a prefix with their sizes, also after a restart', async (context) => {
    const s3 = tracked(await orSkip(context, startS3(dir, { name: 's3-objects' })))
    await s3.createBucket('lake')
    await s3.putObject('lake', `${tables}/part (1).parquet`, 'seven b')
    await s3.putObject('lake', 'other/part.parquet', 'no')
    await s3.stop()
    await expect(s3.request('HEAD', '/lake')).rejects.toThrow()
    await s3.start()
    const { status, text } = await s3.request('GET', `/lake?list-type=2&prefix=${encodeURIComponent(tables)}`)
    expect(status).toBe(200)
    expect([...text.matchAll(/<Size>(\d+)<\/Size>/g)].map(([, size]) => size)).toEqual(['7'])
  })

  test('refuses a wrong signature', async (context) => {
    const s3 = tracked(await orSkip(context, startS3(dir, { name: 's3-signature' })))
    const authorization = `AWS4-HMAC-SHA256 Credential=${s3.accessKey}/20200101/${s3.region}/s3/aws4_request, SignedHeaders=host, Signature=00`
    const answer = await request(`${s3.url}/`, { headers: { authorization } })
    await answer.body.dump()
    expect(answer.statusCode).toBeGreaterThanOrEqual(400)
  })
})

test('Azure: accepts the key and a SAS token, and keeps its blobs over a restart', {
  timeout: firstRunMs,
}, async (context) => {
  const azurite = tracked(await orSkip(context, startAzurite(dir)))
  await azurite.createContainer('lake')
  await azurite.putBlob('lake', `${tables}/part (1).parquet`, 'seven b')
  await azurite.stop()
  await azurite.start()

  const { status, body } = await azurite.getBlob('lake', `${tables}/part (1).parquet`)
  expect({ status, text: body.toString() }).toEqual({ status: 200, text: 'seven b' })
  const list = `${azurite.url}/lake?restype=container&comp=list&prefix=lake`
  expect((await request(list)).statusCode).toBe(403)
  const listed = await request(`${list}&${azurite.sasToken('l')}`)
  expect(listed.statusCode).toBe(200)
  expect(await listed.body.text()).toContain('part (1).parquet')
})

describe('the Iceberg REST catalog', { timeout: firstRunMs }, () => {
  test('knows where a table is, how large it is and when it moved', async (context) => {
    const iceberg = tracked(await orSkip(context, startIceberg(dir)))
    const namespace = ['sales', 'eu']
    await iceberg.createNamespace(['sales'])
    await iceberg.createNamespace(namespace)
    await iceberg.createTable(namespace, 'orders', {
      location: `s3://${tables}`,
      properties: { 'write.data.path': 's3://elsewhere/orders' },
    })
    const { metadata } = await iceberg.loadTable(namespace, 'orders')
    expect(metadata).toMatchObject({
      location: `s3://${tables}`,
      properties: { 'write.data.path': 's3://elsewhere/orders' },
    })
    await iceberg.addSnapshot(namespace, 'orders', 100)
    const grown = await iceberg.addSnapshot(namespace, 'orders', 250)
    expect(grown.metadata['current-snapshot-id']).toBe(2)
    expect(grown.metadata.snapshots?.at(-1)?.summary['total-files-size']).toBe('250')
    const moved = await iceberg.moveTable(namespace, 'orders', 'hdfs://oslo/orders')
    expect(moved.metadata).toMatchObject({ location: 'hdfs://oslo/orders', 'table-uuid': metadata['table-uuid'] })
  })

  test('keeps its tables over a restart until they are dropped', async (context) => {
    const iceberg = tracked(await orSkip(context, startIceberg(dir, { name: 'iceberg-restart' })))
    await iceberg.createNamespace(['sales'])
    await iceberg.createTable(['sales'], 'orders')
    await iceberg.stop()
    await expect(iceberg.loadTable(['sales'], 'orders')).rejects.toThrow()
    await iceberg.start()
    const { metadata } = await iceberg.loadTable(['sales'], 'orders')
    expect(metadata.location).toBe('s3://warehouse/sales/orders')
    await iceberg.dropTable(['sales'], 'orders')
    await expect(iceberg.loadTable(['sales'], 'orders')).rejects.toThrow(/404.*NoSuchTableException/)
  })

  test('answers 304 to a client that has the current version', async (context) => {
    const iceberg = tracked(await orSkip(context, startIceberg(dir, { name: 'iceberg-etag' })))
    await iceberg.createNamespace(['sales'])
    await iceberg.createTable(['sales'], 'orders')
    const url = `${iceberg.url}/v1/namespaces/sales/tables/orders?snapshots=refs`
    const first = await request(url)
    await first.body.dump()
    const etag = String(first.headers['etag'])
    const second = await request(url, { headers: { 'if-none-match': etag } })
    await second.body.dump()
    expect(second.statusCode).toBe(304)
  })
})

describe('HDFS', { timeout: firstRunMs }, () => {
  test('sums up a folder, also after a failover and a restart', async (context) => {
    const hdfs = tracked(await orSkip(context, startHdfs(dir)))
    const [first = '', second = ''] = hdfs.urls
    await hdfs.mkdirs(`/${tables}`)
    await hdfs.writeFile(`/${tables}/one part.parquet`, 'seven b')
    const summary = { status: 200, body: { ContentSummary: { fileCount: 1, length: 7 } } }
    const standby = { status: 403, body: { RemoteException: { exception: 'StandbyException' } } }
    expect(await contentSummary(first)).toMatchObject(summary)
    expect(await contentSummary(second)).toMatchObject(standby)

    expect(await hdfs.failover()).toBe(second)
    expect(await contentSummary(first)).toMatchObject(standby)
    expect(await contentSummary(second)).toMatchObject(summary)

    await hdfs.stop()
    await expect(contentSummary(second)).rejects.toThrow()
    await hdfs.start()
    expect(await contentSummary(first)).toMatchObject(summary)

    await hdfs.delete('/lake')
    const gone = { status: 404, body: { RemoteException: { exception: 'FileNotFoundException' } } }
    expect(await contentSummary(first)).toMatchObject(gone)
  })

  test('runs with a single name node', async (context) => {
    const hdfs = tracked(await orSkip(context, startHdfs(dir, { name: 'hdfs-single', nameNodes: 1 })))
    await hdfs.writeFile(`/${tables}/part.parquet`, 'seven b')
    expect(await contentSummary(hdfs.urls[0] ?? '')).toMatchObject({ body: { ContentSummary: { length: 7 } } })
    await expect(hdfs.failover()).rejects.toThrow('only one name node')
  })
})

describe('the Hive Metastore', { timeout: firstRunMs }, () => {
  test('keeps its tables over a restart until they are dropped', async (context) => {
    const hive = tracked(await orSkip(context, startHive(dir)))
    const plugin = openPlugin({ system: 'hive-metastore', endpoint: { url: hive.url } })
    const query = { type: 'table', name: 'sales.orders', attributes: {} }
    await hive.createDatabase('sales')
    await hive.createTable({ database: 'sales', table: 'orders', location: `s3a://${tables}` })
    await hive.stop()
    await expect(locate(plugin, query)).rejects.toThrow('ECONNREFUSED')
    await hive.start()
    expect(await locate(plugin, query)).toMatchObject({ kind: 'located', location: `s3a://${tables}` })
    await hive.dropTable('sales', 'orders')
    expect(await locate(plugin, query)).toMatchObject({ kind: 'nowhere' })
    await plugin.close()
  })
})

describe('a machine without a runtime', () => {
  test.each<Runtime>(['java', 'mvn', 'go'])('gets one line that names the missing %s', async (runtime) => {
    const error = await requireRuntime('peer', runtime, { PATH: dir }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'MissingRuntimeError', runtime })
    expect(String(error)).toMatch(/^MissingRuntimeError: no peer here: "\w+" is not on the PATH \(install .+\)$/)
  })
})

function tracked<Started extends Peer>(peer: Started): Started {
  started.push(peer)
  return peer
}

async function head(url: string): Promise<{ status: number; region: unknown }> {
  const answer = await request(url, { method: 'HEAD' })
  await answer.body.dump()
  return { status: answer.statusCode, region: answer.headers['x-amz-bucket-region'] }
}

async function contentSummary(nameNode: string): Promise<{ status: number; body: unknown }> {
  const answer = await request(`${nameNode}/webhdfs/v1/lake?op=GETCONTENTSUMMARY&user.name=reader`)
  return { status: answer.statusCode, body: await answer.body.json() }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
