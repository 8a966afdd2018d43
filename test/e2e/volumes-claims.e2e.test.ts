// Pods that mount data by PersistentVolumeClaims in a namespace with Pod Security `restricted`: with the real PersistentVolume controller
// and scheduler. Movers run in one privileged namespace for all.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/api/persistent-volume.ts'
import type { Pod } from '../../src/api/pod.ts'
import type { VolumeManager } from '../../src/api/volume-manager.ts'
import type { ReplicaStatus } from '../../src/api/volume-status.ts'
import type { KubeObject } from './api-client.ts'
import { podOf } from './consumers.ts'
import {
  bindTimeoutMs,
  credentialsSecret,
  filesIn,
  firstVolume,
  type Member,
  namespaceOf,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { nodeObject } from './nodes.ts'
import { stopAndCheckRights } from './rights.ts'

const TENANT = 'tenant'
const MOVERS = 'lodestone-movers'
const TRAIN = { 'a.txt': 'first', 'deep/b.txt': 'second' }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({ movers: { namespace: MOVERS } })
  await cluster.putBucket('lake', TRAIN, 'train/')
  const { accessKey, secretKey } = cluster.s3
  await cluster.plane.apply([
    namespaceOf(TENANT, 'restricted'),
    credentialsSecret('aws-creds', accessKey, secretKey, TENANT),
  ])
})
// The rights of tenants' namespaces are enough, with those of the movers' namespace.
afterAll(() => stopAndCheckRights({ plane: cluster?.plane, lodestones: [cluster?.lodestone] }))

const volume = (over = {}) =>
  s3Volume(cluster.proxy, 's3://lake/train/', { replicas: 2, volumeType: 'persistentVolumeClaim', ...over })

function managerOf(name: string, ...volumes: object[]): KubeObject {
  const manager = volumeManagerOf(name, ...volumes)
  return { ...manager, metadata: { ...manager.metadata, namespace: TENANT } }
}

// What `restricted` asks for.
const restricted = {
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'main',
      image: 'reader:1',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
}

function statefulSetOf(name: string, manager: string, replicas: number): KubeObject {
  const labels = { app: name }
  const annotations = { 'lodestone.dev/volumes': JSON.stringify({ name: manager, 'mount-path': '/data' }) }
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: TENANT, annotations },
    spec: {
      ...{ replicas, serviceName: name, podManagementPolicy: 'Parallel', selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: restricted },
    },
  }
}

async function managerNamed(name: string): Promise<VolumeManager> {
  const found = await cluster.plane.getJson('volumemanagers.vck.intelai.org', name, TENANT)
  if (!found) throw new Error(`no VolumeManager ${name}`)
  return found as unknown as VolumeManager
}

function isRunning(name: string): Promise<VolumeManager> {
  return cluster.plane.eventually(
    `${name} is Running`,
    async () => {
      const manager = await managerNamed(name)
      if (manager.status?.state !== 'Running') throw new Error(JSON.stringify(manager.status))
      return manager
    },
    60_000,
  )
}

const claimNamed = async (name = '') =>
  (await cluster.plane.getJson('pvc', name, TENANT)) as PersistentVolumeClaim | undefined
const volumeNamed = async (name = '') => (await cluster.plane.getJson('pv', name)) as PersistentVolume | undefined

async function podsOf(app: string): Promise<Pod[]> {
  const pods = (await cluster.plane.listJson('pods', TENANT)) as unknown as Pod[]
  return pods.filter(({ metadata }) => metadata.labels?.['app'] === app)
}

function running(app: string, count: number): Promise<Pod[]> {
  return cluster.plane.eventually(
    `${count} pods of ${app} run`,
    async () => {
      const pods = await podsOf(app)
      const there = pods.filter(({ status, metadata }) => status?.phase === 'Running' && !metadata.deletionTimestamp)
      if (there.length !== count) throw new Error(JSON.stringify(pods.map(({ spec, status }) => [spec, status])))
      return there
    },
    bindTimeoutMs,
  )
}

const claimOf = ({ spec }: Pod) =>
  spec.volumes?.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])[0] ?? ''

// The claims and nodes of its replicas, by claim.
function replicasOf(manager: VolumeManager): Record<string, string> {
  const ready = firstVolume(manager).replicas.filter(({ state }) => state === 'Ready')
  return Object.fromEntries(ready.map(({ claimName = '', node = '' }: ReplicaStatus) => [claimName, node]))
}

const isGone = (claim: string) =>
  cluster.plane.eventually(
    `${claim} and its PersistentVolume are gone`,
    async () => !(await claimNamed(claim)) && !(await volumeNamed(claim)),
    60_000,
  )

test('pods of a restricted namespace wait for the data, and run where their claims are; movers are elsewhere', async () => {
  await cluster.create(statefulSetOf('readers', 'train', 2))
  await cluster.create(managerOf('train', volume()))

  const manager = await isRunning('train')
  const pods = await running('readers', 2)

  const replicas = replicasOf(manager)
  expect(Object.fromEntries(pods.map((pod) => [claimOf(pod), pod.spec.nodeName]))).toEqual(replicas)
  expect(new Set(Object.values(replicas)).size).toBe(2)
  for (const [name, node] of Object.entries(replicas)) {
    const [claim, persistent] = [await claimNamed(name), await volumeNamed(name)]
    expect(claim).toMatchObject({
      spec: { volumeName: name, storageClassName: 'lodestone-local' },
      status: { phase: 'Bound' },
    })
    expect(persistent?.spec).toMatchObject({
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { namespace: TENANT, name, uid: claim?.metadata.uid },
    })
    const data = persistent?.spec?.local?.path ?? ''
    expect(await filesIn(cluster.kubelet.pathOn(node, data))).toEqual(TRAIN)
  }
  // The movers had the credentials of the tenant, in their own namespace and as long as they existed.
  const movers = await cluster.plane.listJson('pods', TENANT)
  expect(movers.filter(({ metadata }) => metadata.labels?.['lodestone.dev/mover'])).toEqual([])
  expect(cluster.kubelet.started.filter((one) => one.endsWith(' download')).length).toBeGreaterThanOrEqual(2)
  await cluster.plane.eventually('no copy of the Secret is left', async () => {
    const secrets = await cluster.plane.listJson('secrets', MOVERS)
    return secrets.every(({ metadata }) => metadata.labels?.['lodestone.dev/mover'] === undefined)
  })

  await cluster.plane.kubectl(['delete', 'statefulset', 'readers', '-n', TENANT, '--timeout=60s'])
  await cluster.plane.kubectl(['delete', 'vmgr', 'train', '-n', TENANT, '--timeout=60s'], { timeoutMs: 70_000 })
  for (const [name, node] of Object.entries(replicas)) {
    await isGone(name)
    expect(await cluster.plane.getJson('nodes', node)).toBeDefined()
  }
})

test('the namespace rejects directories of nodes, so that only claims remain', async () => {
  await cluster.create(managerOf('directory', volume({ id: 'vol1', volumeType: 'hostPath', replicas: 1 })))
  await isRunning('directory')

  const { code, stderr } = await cluster.tryCreate(podOf('by-directory', 'directory', restricted, TENANT))

  expect(code).not.toBe(0)
  expect(stderr).toContain('violates PodSecurity "restricted:latest": restricted volume types')
  await cluster.plane.kubectl(['delete', 'vmgr', 'directory', '-n', TENANT, '--timeout=60s'], { timeoutMs: 70_000 })
})

test('a claim that a pod mounts stays with its data when the replica is no longer wanted, until the pod ends', async () => {
  await cluster.create(managerOf('shrinking', volume()))
  await cluster.create(statefulSetOf('stays', 'shrinking', 2))
  await running('stays', 2)
  const before = replicasOf(await isRunning('shrinking'))

  const patch = JSON.stringify({ spec: { volumeConfigs: [volume({ replicas: 1 })] } })
  await cluster.plane.kubectl(['patch', 'vmgr', 'shrinking', '-n', TENANT, '--type=merge', '-p', patch])
  const deletion = await cluster.plane.eventually('one replica waits for its pod', async () => {
    const [first] = firstVolume(await managerNamed('shrinking')).deletions ?? []
    if (first?.reason !== 'InUse') throw new Error(JSON.stringify(first))
    return first
  })
  const [claim = ''] = Object.entries(before).find(([, node]) => node === deletion.node) ?? []
  expect((await claimNamed(claim))?.metadata.deletionTimestamp).toBeUndefined()
  const pod = (await podsOf('stays')).find(({ spec }) => spec.nodeName === deletion.node)
  expect(pod && claimOf(pod)).toBe(claim)

  // The next pod of that name gets the claim of the other replica.
  await cluster.plane.kubectl(['delete', 'pod', pod?.metadata.name ?? '', '-n', TENANT, '--wait=false'])
  await isGone(claim)
  const [rest = ''] = Object.keys(before).filter((name) => name !== claim)
  expect((await running('stays', 2)).map(claimOf)).toEqual([rest, rest])
  await cluster.plane.kubectl(['delete', 'statefulset', 'stays', '-n', TENANT, '--timeout=60s'])
  await cluster.plane.kubectl(['delete', 'vmgr', 'shrinking', '-n', TENANT, '--timeout=60s'], { timeoutMs: 70_000 })
  await isGone(rest)
})

test('a replica whose node was deleted has its claim for another node, also when a pod waits for it', async () => {
  await cluster.create(managerOf('moving', volume({ replicas: 1 })))
  await cluster.create(statefulSetOf('moves', 'moving', 1))
  const [pod] = await running('moves', 1)
  const [[claim = '', node = ''] = []] = Object.entries(replicasOf(await isRunning('moving')))
  expect(pod && claimOf(pod)).toBe(claim)

  await cluster.kubelet.loseNode(node)
  await cluster.plane.kubectl(['delete', 'node', node])
  // The next pod of that name waits for the same claim while its replica has no node.
  await cluster.plane.kubectl(['delete', 'pod', 'moves-0', '-n', TENANT, '--force', '--wait=false'])
  onTestFinished(async () => {
    cluster.kubelet.returnNode(node)
    await cluster.plane.apply(nodeObject(node))
  })

  const moved = await cluster.plane.eventually(
    'its claim is bound on another node',
    async () => {
      const [persistent, bound] = [await volumeNamed(claim), await claimNamed(claim)]
      const place = persistent?.metadata.annotations?.['lodestone.dev/node']
      return place !== node && persistent?.status?.phase === 'Bound' && !bound?.metadata.deletionTimestamp && place
    },
    bindTimeoutMs,
  )
  expect((await running('moves', 1)).map(({ spec }) => spec.nodeName)).toEqual([moved])
  await cluster.plane.kubectl(['delete', 'statefulset', 'moves', '-n', TENANT, '--timeout=60s'])
  await cluster.plane.kubectl(['delete', 'vmgr', 'moving', '-n', TENANT, '--timeout=60s'], { timeoutMs: 70_000 })
  await isGone(claim)
})

test('a missing Secret is named with its namespace, and no mover starts without it', async () => {
  const options = { awsCredentialsSecretName: 'absent' }
  await cluster.create(managerOf('secretless', volume({ options })))

  await cluster.plane.eventually('the status names it', async () => {
    const { status } = await managerNamed('secretless')
    return JSON.stringify(status).includes(`secret \\"${TENANT}/absent\\" not found; create it`)
  })
  await cluster.plane.kubectl(['delete', 'vmgr', 'secretless', '-n', TENANT, '--timeout=60s'], { timeoutMs: 70_000 })
})
