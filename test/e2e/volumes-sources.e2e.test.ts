// Every kind of source, on a real API server with the real scheduler and controllers, with movers that really run.
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { jobOf, podOf } from './consumers.ts'
import {
  bindTimeoutMs,
  filesIn,
  firstVolume,
  type Member,
  onNodes,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts'

const run = promisify(execFile)
const TARBALL = 'example.org/movers/tarball:1'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    volumes: { allowedMoverImages: ['example.org/movers/*'], localRoots: ['/mnt/local'] },
  })
  await cluster.putBucket('lake', {
    'train/0_1.csv': 'first',
    'train/1_1.csv': 'second',
    'train/deep/more-1_1.csv': 'third',
  })
})
afterAll(() => cluster?.plane.stopAll())

const stream = (options: Record<string, string> = {}, over: Partial<VolumeConfig> = {}): VolumeConfig => ({
  id: 'vol1',
  replicas: 1,
  sourceType: 'Stream',
  accessMode: 'ReadWriteOnce',
  labels: { key1: 'val1' },
  options,
  ...over,
})

const nfs = (path: string, over: Partial<VolumeConfig> = {}): VolumeConfig => ({
  ...stream(),
  sourceType: 'NFS',
  accessMode: 'ReadWriteMany',
  capacity: '1Gi',
  options: { server: '192.0.2.7', path },
  ...over,
})

describe('a stream', () => {
  test('without a source is an empty directory, and keeps the work of its first job', async () => {
    await cluster.create(volumeManagerOf('cache', stream({}, { replicas: 3 })))

    const volume = firstVolume(await cluster.reached('cache', 'Running'))
    const there = cluster.nodesWith(volume)
    expect(there).toHaveLength(3)
    for (const node of there) expect(await filesIn(cluster.dataOn(node, volume))).toEqual({})

    await cluster.create(podOf('filler', 'cache'))
    const node = await cluster.nodeOf('filler')
    expect(there).toContain(node)
    await writeFile(join(cluster.dataOn(node, volume), 'batch-1'), 'cached')
    await cluster.plane.kubectl(['delete', 'pod', 'filler'])
    await cluster.create(podOf('reader', 'cache', { affinity: { nodeAffinity: onNodes(node) } }))
    expect(await cluster.nodeOf('reader')).toBe(node)
    expect(await filesIn(cluster.dataOn(node, volume))).toEqual({ 'batch-1': 'cached' })
  })

  test('with a source has its pods started after the first files, before the rest', async () => {
    const rest = 'x'.repeat(300_000)
    await cluster.putBucket('drip', { 'a.txt': 'first', 'b.txt': 'second', 'rest.bin': rest })
    const proxy = await ownProxy()
    // Small objects come whole, the large one by half.
    proxy.holdAfter(1000)
    const { options } = s3Volume(proxy, 's3://drip/')
    await cluster.create(volumeManagerOf('drip', stream(options)))
    await cluster.create(podOf('early', 'drip'))

    const node = await cluster.nodeOf('early')

    expect(proxy.isHolding).toBe(true)
    const volume = firstVolume(await cluster.reached('drip', 'Running'))
    expect(volume.replicas).toMatchObject([{ node, state: 'Downloading', totalBytes: 300_011 }])
    expect(await filesIn(cluster.dataOn(node, volume))).toEqual({ 'a.txt': 'first', 'b.txt': 'second' })
    proxy.release()
    await cluster.plane.eventually('all of it is there', async () => {
      const { replicas } = firstVolume(await cluster.reached('drip', 'Running'))
      return replicas[0]?.state === 'Ready'
    })
    expect(await filesIn(cluster.dataOn(node, volume))).toEqual({
      'a.txt': 'first',
      'b.txt': 'second',
      'rest.bin': rest,
    })
  })
})

test('the example mover of docs/guides/movers.md downloads and deletes data', async () => {
  const docs = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'movers.md'), 'utf8')
  const text = /```sh\n(#![\s\S]*?)```/.exec(docs)?.[1] ?? ''
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(30)
  const script = join(cluster.plane.dir, 'tarball-mover.sh')
  await writeFile(script, text, { mode: 0o755 })
  cluster.kubelet.addImage(TARBALL, [script])
  const url = await serveTarball({ 'a.txt': 'packed' })
  const mover = { image: TARBALL }
  const config = s3Volume(cluster.proxy, `${url}/data.tar.gz`, { replicas: 2, mover })
  await cluster.create(volumeManagerOf('tarball', config))

  const volume = firstVolume(await cluster.reached('tarball', 'Running'))

  const there = cluster.nodesWith(volume)
  expect(there).toHaveLength(2)
  for (const node of there) expect(await filesIn(cluster.dataOn(node, volume))).toEqual({ 'a.txt': 'packed' })
  expect(await cluster.labeledNodes(await cluster.reached('tarball', 'Running'))).toEqual(there)
  await cluster.plane.kubectl(['delete', 'vmgr', 'tarball', '--timeout=60s'], { timeoutMs: 70_000 })
  expect(cluster.nodesWith(volume)).toEqual([])

  const missing = s3Volume(cluster.proxy, `${url}/nothing.tar.gz`, { mover })
  await cluster.create(volumeManagerOf('tarball-missing', missing))
  await cluster.plane.eventually('the status has the message of the mover', async () => {
    const found = await cluster.volumeManager('tarball-missing')
    return JSON.stringify(found?.status).includes('nothing.tar.gz cannot be downloaded')
  })
  await cluster.plane.kubectl(['delete', 'vmgr', 'tarball-missing', '--wait=false'])
})

test('data in parts has pods on the nodes of their part, without any other part', async () => {
  const options = { distributionStrategy: '{"*0_1*": 1, "*1_1*": 2}' }
  await cluster.create(volumeManagerOf('parts', s3Volume(cluster.proxy, 's3://lake/train/', { replicas: 3, options })))
  const volume = firstVolume(await cluster.reached('parts', 'Running'))
  const nodesOf = (shard: string) => volume.replicas.filter((one) => one.shard === shard).map(({ node = '' }) => node)
  for (const node of nodesOf('*0_1*'))
    expect(await filesIn(cluster.dataOn(node, volume))).toEqual({ '0_1.csv': 'first' })

  const ask = (shard: string) => JSON.stringify({ name: 'parts', shard, 'mount-path': '/data' })
  await cluster.create(podOf('first-part', ask('*0_1*')))
  await cluster.create(podOf('second-part', ask('*1_1*')))

  expect(nodesOf('*0_1*')).toEqual([await cluster.nodeOf('first-part')])
  expect(nodesOf('*1_1*')).toContain(await cluster.nodeOf('second-part'))
  expect(nodesOf('*1_1*')).toHaveLength(2)
  const { stderr } = await cluster.tryCreate(podOf('no-part', ask('*2_1*')))
  expect(stderr).toContain('has no such shard; it has *0_1*, *1_1*')
})

describe('NFS', () => {
  test.each([
    ['ReadWriteMany', undefined],
    ['ReadOnlyMany', true],
  ])('with %s is a volume and a claim that are bound to each other, and mounted so', async (accessMode, readOnly) => {
    const name = accessMode.toLowerCase()
    await cluster.create(volumeManagerOf(name, nfs(`/${name}`, { accessMode })))

    const { volumeSource } = firstVolume(await cluster.reached(name, 'Running', bindTimeoutMs))

    const claimName = volumeSource?.persistentVolumeClaim?.claimName ?? ''
    expect(volumeSource?.persistentVolumeClaim?.readOnly).toBe(readOnly)
    const claim = await cluster.plane.getJson('pvc', claimName, 'default')
    const persistent = await cluster.plane.getJson('pv', claimName)
    expect(claim).toMatchObject({
      spec: { volumeName: claimName, accessModes: [accessMode] },
      status: { phase: 'Bound' },
    })
    expect(persistent).toMatchObject({
      spec: {
        claimRef: { name: claimName, uid: claim?.metadata['uid'] },
        nfs: { server: '192.0.2.7', path: `/${name}` },
      },
      status: { phase: 'Bound' },
    })
    await cluster.create(podOf(`user-of-${name}`, name))
    await cluster.nodeOf(`user-of-${name}`)
    const [pod] = await cluster.podsOf(`user-of-${name}`)
    expect(pod?.spec?.volumes?.find(({ persistentVolumeClaim }) => persistentVolumeClaim)).toMatchObject({
      persistentVolumeClaim: { claimName },
    })
    await cluster.plane.kubectl(['delete', 'pod', `user-of-${name}`])
    await cluster.plane.kubectl(['delete', 'vmgr', name, '--timeout=60s'], { timeoutMs: 70_000 })
    await cluster.plane.eventually('nothing of it is left', async () => {
      return (
        !(await cluster.plane.getJson('pvc', claimName, 'default')) && !(await cluster.plane.getJson('pv', claimName))
      )
    })
  })

  test('beside S3 in one VolumeManager has its own claim, and is deleted with it', async () => {
    const train = s3Volume(cluster.proxy, 's3://lake/train/', { id: 'vol2' })
    await cluster.create(volumeManagerOf('mixed', nfs('/mixed'), train))

    const { status } = await cluster.reached('mixed', 'Running', bindTimeoutMs)

    expect(status?.volumes?.map(({ id, message }) => [id, message])).toEqual([
      ['vol1', 'success'],
      ['vol2', 'success'],
    ])
    const [shared, local] = status?.volumes ?? []
    expect(shared?.volumeSource?.persistentVolumeClaim?.claimName).toBeDefined()
    expect(shared?.nodeAffinity).toEqual({})
    expect(local && cluster.nodesWith(local)).toHaveLength(1)
    await cluster.plane.kubectl(['delete', 'vmgr', 'mixed', '--timeout=60s'], { timeoutMs: 70_000 })
    expect(local && cluster.nodesWith(local)).toEqual([])
  })
})

test('Local data is used where it is, and is never deleted', async () => {
  const path = '/mnt/local/imagenet'
  for (const node of ['node-1', 'node-2']) {
    await mkdir(cluster.kubelet.pathOn(node, path), { recursive: true })
    await cluster.plane.kubectl(['label', 'node', node, 'imagenet=yes'])
  }
  const nodeSelectorTerms = [{ matchExpressions: [{ key: 'imagenet', operator: 'Exists' as const }] }]
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } }
  const local = { ...stream({ path }), sourceType: 'Local', replicas: 2, nodeAffinity }
  await cluster.create(volumeManagerOf('local', local))
  const volume = firstVolume(await cluster.reached('local', 'Running'))

  await cluster.create(podOf('at-home', 'local'))

  expect(['node-1', 'node-2']).toContain(await cluster.nodeOf('at-home'))
  await cluster.plane.kubectl(['delete', 'pod', 'at-home'])
  await cluster.plane.kubectl(['delete', 'vmgr', 'local', '--timeout=30s'])
  expect(cluster.nodesWith(volume)).toEqual(['node-1', 'node-2'])
})

describe('the files that pods write are in the bucket, below where the data came from,', () => {
  test('when the Job that wrote it is done', async () => {
    await cluster.putBucket('outcome', { 'run/in.txt': 'in', 'other/in.txt': 'other' })
    const config = s3Volume(cluster.proxy, 's3://outcome/run/', { options: { resync: 'true' } })
    await cluster.create(volumeManagerOf('outcome', config))
    const volume = firstVolume(await cluster.reached('outcome', 'Running'))
    const [node = ''] = cluster.nodesWith(volume)
    // No container runs on kwok's nodes: this is what the Job's would have written.
    await writeOn(node, volume, 'models/1.bin', 'weights')

    await cluster.create(jobOf('training', 'outcome', 1))

    await cluster.plane.eventually(
      'the bucket has it',
      async () => (await get('/outcome/run/models/1.bin')) === 'weights',
      60_000,
    )
    expect(await get('/outcome/run/in.txt')).toBe('in')
    const { text } = await cluster.s3.request('GET', '/outcome')
    expect([...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key)).toEqual([
      'other/in.txt',
      'run/in.txt',
      'run/models/1.bin',
    ])
  })

  test('when each part was on a node of its own: each goes back to where it came from', async () => {
    const files = { 'p0/data.bin': 'zero', 'p1/data.bin': 'one' }
    await cluster.putBucket('shards', files, 'run/')
    const options = { resync: 'true', distributionStrategy: '{"p0/*": 1, "p1/*": 1}' }
    const config = s3Volume(cluster.proxy, 's3://shards/run/', { replicas: 2, options })
    await cluster.create(volumeManagerOf('shards', config))
    const volume = firstVolume(await cluster.reached('shards', 'Running'))
    const nodeOf = (part: string) => volume.replicas.find(({ shard }) => shard === part)?.node ?? ''
    for (const part of ['p0', 'p1']) {
      await writeOn(nodeOf(`${part}/*`), volume, `${part}/data.bin`, `${part} changed`)
      await writeOn(nodeOf(`${part}/*`), volume, `${part}/new.bin`, `${part} new`)
      const ask = JSON.stringify({ name: 'shards', 'mount-path': '/data', shard: `${part}/*` })
      await cluster.create(jobOf(`training-${part}`, ask, 1))
    }

    await cluster.plane.eventually(
      'the bucket has both parts',
      async () => {
        for (const part of ['p0', 'p1']) {
          expect(await get(`/shards/run/${part}/new.bin`)).toBe(`${part} new`)
          expect(await get(`/shards/run/${part}/data.bin`)).toBe(`${part} changed`)
        }
        return true
      },
      60_000,
    )

    const { text } = await cluster.s3.request('GET', '/shards')
    const keys = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key)
    expect(keys).toEqual(['run/p0/data.bin', 'run/p0/new.bin', 'run/p1/data.bin', 'run/p1/new.bin'])
  })

  test('and while a pod is at work, each time that the interval has passed', async () => {
    await cluster.putBucket('steps', { 'run/in.txt': 'in' })
    const options = { resync: 'true', resyncInterval: '5s' }
    await cluster.create(volumeManagerOf('steps', s3Volume(cluster.proxy, 's3://steps/run/in.txt', { options })))
    const volume = firstVolume(await cluster.reached('steps', 'Running'))
    await cluster.create(podOf('stepper', 'steps'))
    const node = await cluster.nodeOf('stepper')

    for (const step of ['1', '2']) {
      await writeOn(node, volume, 'checkpoint', step)
      await cluster.plane.eventually(
        `step ${step} is in the bucket`,
        async () => (await get('/steps/run/checkpoint')) === step,
        60_000,
      )
    }
    expect((await cluster.podsOf('stepper'))[0]?.status?.phase).toBe('Running')
  })
})

async function get(path: string): Promise<string> {
  return (await cluster.s3.request('GET', path)).text
}

async function writeOn(node: string, volume: Parameters<Member['dataOn']>[1], name: string, text: string) {
  const file = join(cluster.dataOn(node, volume), name)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

// A scenario that holds back objects has its own proxy, so that it does not affect other scenarios.
async function ownProxy(): Promise<S3Proxy> {
  const proxy = await startS3Proxy(cluster.s3.url)
  cluster.plane.onStop(() => proxy.stop())
  return proxy
}

async function serveTarball(files: Record<string, string>): Promise<string> {
  const folder = join(cluster.plane.dir, 'packed')
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const archive = join(cluster.plane.dir, 'data.tar.gz')
  await run('tar', ['-czf', archive, '-C', folder, '.'])
  const bytes = await readFile(archive)
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/data.tar.gz' ? 200 : 404
    response.end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cluster.plane.onStop(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
