// Movers that fail in every way that Kubernetes knows: what a user sees of it, and that the data comes all the same. The API server, the
// scheduler and the controllers are real, and the movers really run. The replacement of the kubelets (mover-kubelet.ts) simulates a
// shortage of memory or disk and a missing image or export.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import type { ReplicaStatus } from '../../src/api/volume-status.ts'
import type { GatedRequest } from './api-gate.ts'
import { podOf } from './consumers.ts'
import {
  answered,
  credentialsSecret,
  filesIn,
  firstVolume,
  type Member,
  namespaceOf,
  nodeNames,
  onNodes,
  probeOf,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { lodestoneCommand } from './mover-kubelet.ts'
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts'

const FILES = { 'a.txt': 'first', 'deep/b.bin': 'x'.repeat(200_000) }
const LATE = 'example.org/movers/late:1'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    volumes: { allowedMoverImages: ['example.org/movers/*'], localRoots: ['/mnt/local'] },
    movers: { prepareTimeoutSeconds: 75 },
  })
  await cluster.putBucket('lake', FILES, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

// Together, since most of it is waiting. First what takes a minute to be told from a delay.
describe.concurrent('what fails says why, and the data comes all the same', () => {
  test('a missing image: the mover fails after a minute, and continues with the image', {
    timeout: 240_000,
  }, async () => {
    await cluster.create(
      volumeManagerOf('late-image', s3Volume(cluster.proxy, 's3://lake/train/', { mover: { image: LATE } })),
    )

    await said('late-image', {
      state: 'Starting',
      reason: 'ErrImagePull',
      message: `failed to pull image "${LATE}": not found`,
    })
    const replica = await failed('late-image', 90_000)
    expect(replica).toMatchObject({ reason: 'ErrImagePull' })

    cluster.kubelet.addImage(LATE, [...lodestoneCommand, 'mover'])
    await isWholeOnOneNode('late-image')
  })

  test('Local data whose directory exists nowhere: nothing is Running, until it exists', {
    timeout: 300_000,
  }, async () => {
    const path = '/mnt/local/nowhere'
    const { capacity: _, ...volume } = s3Volume(cluster.proxy, '')
    const nodeAffinity = onNodes('node-1')
    await cluster.create(volumeManagerOf('absent', { ...volume, sourceType: 'Local', options: { path }, nodeAffinity }))
    await cluster.create(podOf('hopeful', 'absent'))

    const replica = await failed('absent', 120_000)

    expect(replica).toMatchObject({ reason: 'PathNotMounted', node: 'node-1', isPermanent: true })
    expect(replica.message).toContain('/mnt/local cannot be mounted on node node-1; create it')
    expect(await cluster.volumeManager('absent')).toMatchObject({ status: { state: 'Failed' } })
    expect((await cluster.podsOf('hopeful'))[0]?.spec?.nodeName).toBeUndefined()
    expect(existsSync(cluster.kubelet.pathOn('node-1', path))).toBe(false)
    await mkdir(cluster.kubelet.pathOn('node-1', path), { recursive: true })
    await cluster.reached('absent', 'Running', 120_000)
    expect(await cluster.nodeOf('hopeful')).toBe('node-1')
  })

  test('an export that cannot be mounted: nothing is Running, until it can', { timeout: 240_000 }, async () => {
    const { plane, kubelet } = cluster
    kubelet.brokenExports.set('192.0.2.0:/nowhere', 'mount.nfs: Connection timed out')
    const options = { server: '192.0.2.0', path: '/nowhere' }
    const volume = {
      id: 'vol1',
      sourceType: 'NFS',
      accessMode: 'ReadWriteMany',
      capacity: '1Gi',
      labels: { a: 'b' },
      options,
    }
    await cluster.create(volumeManagerOf('unmountable', volume))
    await cluster.create(podOf('patient', 'unmountable'))
    const mover = await plane.eventually('there is a mover', async () => (await cluster.moversOf('unmountable'))[0])
    const name = mover.metadata.name ?? ''
    await plane.eventually('the kubelet says why', async () => {
      const { stdout } = await plane.kubectl(['describe', 'pod', name])
      return stdout.includes('FailedMount') && stdout.includes('mount.nfs: Connection timed out')
    })

    const replica = await failed('unmountable', 120_000)

    expect(replica.reason).toBe('PrepareTimeout')
    expect(replica.message).toContain(`see kubectl describe pod ${name}`)
    expect((await cluster.podsOf('patient'))[0]?.spec?.nodeName).toBeUndefined()
    kubelet.brokenExports.clear()
    await cluster.reached('unmountable', 'Running')
    await cluster.nodeOf('patient')
  })

  test('a download that a ResourceQuota refused needs no help when it is raised', {
    timeout: 240_000,
  }, async () => {
    const { plane, s3 } = cluster
    const namespace = 'small'
    const quota = (pods: string) => ({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'few', namespace },
      spec: { hard: { pods } },
    })
    await plane.apply([
      namespaceOf(namespace, 'privileged'),
      credentialsSecret('aws-creds', s3.accessKey, s3.secretKey, namespace),
      quota('0'),
    ])
    await answered(plane, probeOf(namespace), 'exceeded quota: few')
    const manager = volumeManagerOf('quota', s3Volume(cluster.proxy, 's3://lake/train/'))
    await cluster.create({ ...manager, metadata: { name: 'quota', namespace } })
    const isFailed = ({ reason, message = '' }: ReplicaStatus) =>
      reason === 'CreateRefused' && message.includes('exceeded quota: few')
    await cluster.replicaThat('quota', isFailed, namespace)
    expect((await plane.kubectl(['get', 'vmgr', '-n', namespace])).stdout).toMatch(/quota\s+Failed/)

    await plane.apply(quota('9'))

    await cluster.replicaThat('quota', ({ state }) => state === 'Ready', namespace)
  })

  test.each<{ name: string; end: (name: string) => Promise<unknown>; reason: RegExp; says: string }>([
    {
      name: 'killed when out of memory',
      end: (name) => cluster.kubelet.strike(name, 'OOMKilled'),
      reason: /^OOMKilled$/,
      says: 'the mover ran out of memory',
    },
    {
      name: 'evicted from its node',
      end: (name) => cluster.kubelet.strike(name, 'Evicted'),
      reason: /^Evicted$/,
      says: 'The node was low on resource: ephemeral-storage.',
    },
    {
      name: 'deleted by a user',
      end: async (name) => {
        const [mover] = await cluster.moversOf(name)
        await cluster.plane.kubectl(['delete', 'pod', mover?.metadata.name ?? '', '--wait=false'])
      },
      // Whether its last word was read before it was gone.
      reason: /^(PodDeleted|Canceled)$/,
      says: 'the mover',
    },
  ])('a mover $name: another one follows', async ({ name, end, reason, says }) => {
    const manager = name.replaceAll(' ', '-')
    const proxy = await heldBack()
    await cluster.create(volumeManagerOf(manager, s3Volume(proxy, 's3://lake/train/')))
    await cluster.plane.eventually('the download is under way', async () => proxy.isHolding)
    await end(manager)

    const replica = await failed(manager)

    expect(replica).toMatchObject({ reason: expect.stringMatching(reason), failures: 1 })
    expect(replica.message).toContain(says)
    const { status } = (await cluster.volumeManager(manager)) ?? {}
    expect(status?.state).toBe('Pending')
    expect(status?.conditions?.find(({ type }) => type === 'ReplicasReady')?.message).toContain(replica.message)
    await cluster.plane.eventually('kubectl describe tells it', async () => {
      const { stdout } = await cluster.plane.kubectl(['describe', 'vmgr', manager])
      return /Warning\s+MoverFailed/.test(stdout)
    })
    proxy.release()
    await isWholeOnOneNode(manager)
  })

  test('a mover out of time, by the limit that VCK has for that: another one follows', async () => {
    const proxy = await heldBack()
    const options = { timeoutForDataDownload: '10s' }
    await cluster.create(volumeManagerOf('slow', s3Volume(proxy, 's3://lake/train/', { options })))

    expect(await failed('slow')).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'timed out waiting for the condition',
    })
    proxy.release()
    await isWholeOnOneNode('slow')
  })
})

describe('a controller that is killed when a mover has failed counts that failure once', () => {
  const isFailureOf =
    (manager: string) =>
    ({ method, path, body }: GatedRequest) =>
      method === 'PATCH' && path.includes(`/volumemanagers/${manager}/`) && body.includes('"reason":"OOMKilled"')

  test.each([
    ['before it wrote it down', 'there'],
    ['after it wrote it down', 'back'],
  ] as const)('%s', async (name, when) => {
    const manager = name.replaceAll(' ', '-')
    const proxy = await heldBack()
    await cluster.create(volumeManagerOf(manager, s3Volume(proxy, 's3://lake/train/')))
    await cluster.plane.eventually('the download is under way', async () => proxy.isHolding)
    const stopped = cluster.gate.stopAt(isFailureOf(manager), when)
    expect(await cluster.kubelet.strike(manager, 'OOMKilled')).toBe(1)
    await stopped
    await cluster.lodestone.kill()
    await cluster.lodestone.restart()

    // Also when the next attempt has begun meanwhile.
    await said(manager, { reason: 'OOMKilled', failures: 1 })
    proxy.release()
    await isWholeOnOneNode(manager)
    const made = cluster.gate.requests.filter(
      ({ method, path, body }) =>
        method === 'POST' && /\/pods(\?|$)/.test(path) && body.includes(`"vckname":"${manager}"`),
    )
    expect(made).toHaveLength(2)
  })
})

describe('a mover that cannot begin says for what it waits', () => {
  test('a node on which no container starts: the data is downloaded to another node', {
    timeout: 180_000,
  }, async () => {
    const { kubelet, plane } = cluster
    const pair = ['node-2', 'node-3']
    for (const node of pair) kubelet.brokenNodes.set(node, 'exec: input/output error')
    await cluster.create(
      volumeManagerOf('bad-node', s3Volume(cluster.proxy, 's3://lake/train/', { nodeAffinity: onNodes(...pair) })),
    )
    const replica = await failed('bad-node')
    expect(replica).toMatchObject({ reason: 'StartError', nodeFailures: [{ reason: 'StartError', failures: 1 }] })
    const bad = replica.nodeFailures?.[0]?.node ?? ''
    const [good = ''] = pair.filter((node) => node !== bad)
    kubelet.brokenNodes.delete(good)

    const volume = await isWholeOnOneNode('bad-node')

    expect(cluster.nodesWith(volume)).toEqual([good])
    kubelet.brokenNodes.clear()
    await plane.kubectl(['delete', 'vmgr', 'bad-node', '--timeout=100s'], { timeoutMs: 110_000 })
  })

  test('a node that accepts no pod: it says so, until the node does', async () => {
    const { plane } = cluster
    const config = { nodeAffinity: onNodes('node-5') }
    await plane.kubectl(['taint', 'node', 'node-5', 'gpu=v100:NoSchedule'])
    await cluster.create(volumeManagerOf('unschedulable', s3Volume(cluster.proxy, 's3://lake/train/', config)))

    const replica = await said('unschedulable', { state: 'Queued', reason: 'NoNode' })

    expect(replica.message).toContain('taints')
    await plane.kubectl(['taint', 'node', 'node-5', 'gpu-'])
    await isWholeOnOneNode('unschedulable')
  })

  test('a node with a taint that the mover tolerates gets the data, deleted later', async () => {
    const { plane } = cluster
    const tolerations = [{ key: 'gpu', operator: 'Equal', value: 'v100', effect: 'NoSchedule' }]
    const config: Partial<VolumeConfig> = { nodeAffinity: onNodes('node-4'), tolerations }
    await plane.kubectl(['taint', 'node', 'node-4', 'gpu=v100:NoSchedule'])
    await cluster.create(volumeManagerOf('tolerant', s3Volume(cluster.proxy, 's3://lake/train/', config)))

    const volume = await isWholeOnOneNode('tolerant')

    expect(cluster.nodesWith(volume)).toEqual(['node-4'])
    await plane.kubectl(['delete', 'vmgr', 'tolerant', '--timeout=60s'], { timeoutMs: 70_000 })
    expect(cluster.nodesWith(volume)).toEqual([])
    await plane.kubectl(['taint', 'node', 'node-4', 'gpu-'])
  })
})

async function heldBack(): Promise<S3Proxy> {
  const proxy = await startS3Proxy(cluster.s3.url)
  cluster.plane.onStop(() => proxy.stop())
  proxy.holdAfter(0)
  return proxy
}

// The replica of a VolumeManager once it says this.
async function said(name: string, want: Partial<ReplicaStatus>, timeoutMs = 60_000): Promise<ReplicaStatus> {
  return cluster.plane.eventually(
    `${name} says ${JSON.stringify(want)}`,
    async () => {
      const replica = (await cluster.volumeManager(name))?.status?.volumes?.[0]?.replicas?.[0]
      const isSo = Object.entries(want).every(([member, value]) => replica?.[member as keyof ReplicaStatus] === value)
      if (!replica || !isSo) throw new Error(JSON.stringify(replica))
      return replica
    },
    timeoutMs,
  )
}

const failed = (name: string, timeoutMs?: number) => said(name, { state: 'Failed' }, timeoutMs)

async function isWholeOnOneNode(name: string) {
  const volume = firstVolume(await cluster.reached(name, 'Running', 120_000))
  const [node = '', ...others] = cluster.nodesWith(volume)
  expect(others).toEqual([])
  expect(nodeNames).toContain(node)
  expect(await filesIn(cluster.dataOn(node, volume))).toEqual(FILES)
  return volume
}
