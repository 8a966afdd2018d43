// Pods that mount data by PersistentVolumeClaims in a namespace with Pod Security `restricted`: with the real PersistentVolume controller
// and scheduler. Movers run in one privileged namespace for all.
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/api/persistent-volume.ts'
import type { Pod } from '../../src/api/pod.ts'
import type { VolumeManager } from '../../src/api/volume-manager.ts'
import type { ReplicaStatus } from '../../src/api/volume-status.ts'
import type { KubeObject } from './api-client.ts'
import { jobOf, podOf } from './consumers.ts'
import {
  answered,
  bindTimeoutMs,
  credentialsSecret,
  filesIn,
  firstVolume,
  type Member,
  namespaceOf,
  onNodes,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { diskPressure, nodeObject } from './nodes.ts'
import { stopAndCheckRights } from './rights.ts'

const TENANT = 'tenant'
const MOVERS = 'lodestone-movers'
const TRAIN = { 'a.txt': 'first', 'deep/b.txt': 'second' }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember({
    movers: { namespace: MOVERS, allowedTolerationKeys: ['dedicated'], maxResources: { memory: '1Gi' } },
    // Checks also delete what a refresh replaced.
    volumes: { checks: { intervalSeconds: 10, timeoutSeconds: 60 } },
  })
  await cluster.putBucket('lake', TRAIN, 'train/')
  const { accessKey, secretKey } = cluster.s3
  await cluster.plane.apply([
    namespaceOf(TENANT, 'restricted'),
    credentialsSecret('aws-creds', accessKey, secretKey, TENANT),
  ])
})
// The rights of tenants' namespaces are enough, with those of the movers' namespace.
afterAll(() =>
  stopAndCheckRights({ plane: cluster?.plane, lodestones: [cluster?.lodestone], expected: 'exceeded quota: few' }),
)

const volume = (over = {}, source = 's3://lake/train/') =>
  s3Volume(cluster.proxy, source, { replicas: 2, volumeType: 'persistentVolumeClaim', ...over })

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
      replicas,
      serviceName: name,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: restricted },
    },
  }
}

async function managerNamed(name: string): Promise<VolumeManager> {
  const found = await cluster.volumeManager(name, TENANT)
  if (!found) throw new Error(`no VolumeManager ${name}`)
  return found
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

const create = (name: string, manager: string) => cluster.create(podOf(name, manager, restricted, TENANT))

// The directory that the kubelet mounts for a pod: that of the PersistentVolume, on the node of the pod.
async function mountedBy(pod: Pod | undefined): Promise<string> {
  const persistent = await volumeNamed(pod && (await claimNamed(claimOf(pod)))?.spec?.volumeName)
  return cluster.kubelet.pathOn(pod?.spec.nodeName ?? '', persistent?.spec?.local?.path ?? '')
}

const isGone = (claim: string) =>
  cluster.plane.eventually(
    `${claim} and its PersistentVolume are gone`,
    async () => !(await claimNamed(claim)) && !(await volumeNamed(claim)),
    60_000,
  )

test('pods of a restricted namespace wait for the data, and movers are elsewhere', async () => {
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
  await cluster.deleteManager('train', TENANT)
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
  await cluster.deleteManager('directory', TENANT)
})

test('a claim that a pod mounts stays with its unwanted data until the pod ends', async () => {
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
  await cluster.deleteManager('shrinking', TENANT)
  await isGone(rest)
})

test('a replica whose node was deleted has its claim for another node', async () => {
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
  await cluster.deleteManager('moving', TENANT)
  await isGone(claim)
})

test('the next pod gets its claim back after a deletion or a new host name of its node', async () => {
  const { plane } = cluster
  await cluster.create(managerOf('again', volume({ replicas: 1, nodeAffinity: onNodes('node-1') })))
  const [claim = ''] = Object.keys(replicasOf(await isRunning('again')))
  const isBound = () =>
    plane.eventually(
      `${claim} is bound`,
      async () => {
        const [persistent, bound] = [await volumeNamed(claim), await claimNamed(claim)]
        const isOwn = persistent?.spec?.claimRef?.uid === bound?.metadata.uid
        if (!isOwn || persistent?.status?.phase !== 'Bound') throw new Error(JSON.stringify([persistent, bound]))
        return persistent
      },
      bindTimeoutMs,
    )
  const hosts = ({ spec }: PersistentVolume) =>
    spec?.nodeAffinity?.required.nodeSelectorTerms.flatMap(({ matchExpressions = [] }) =>
      matchExpressions.flatMap(({ values = [] }) => values),
    )
  const before = await isBound()

  await plane.kubectl(['delete', 'pvc', claim, '-n', TENANT])
  const after = await isBound()
  expect(after.metadata.uid).not.toBe(before.metadata.uid)

  const rename = (host: string) =>
    plane.kubectl(['label', 'node', 'node-1', '--overwrite', `kubernetes.io/hostname=${host}`])
  const [host = ''] = hosts(after) ?? []
  onTestFinished(() => rename(host).then(() => undefined))
  await rename('renamed')
  await create('follows', 'again')
  await running('follows', 1)
  expect(hosts(await isBound())).toEqual(['renamed'])
  await plane.kubectl(['delete', 'pod', 'follows', '-n', TENANT])
  await cluster.deleteManager('again', TENANT)
  await isGone(claim)
})

test('a missing Secret is named with its namespace, and no mover starts without it', async () => {
  const options = { awsCredentialsSecretName: 'absent' }
  await cluster.create(managerOf('secretless', volume({ options })))

  await cluster.plane.eventually('the status names it', async () => {
    const { status } = await managerNamed('secretless')
    return JSON.stringify(status).includes(`secret \\"${TENANT}/absent\\" not found; create it`)
  })
  await cluster.deleteManager('secretless', TENANT)
})

// They mostly wait for the PersistentVolume controller, so they run at the same time. Only one of them changes node-5.
test('a ResourceQuota for Secrets is named, and no mover is created', async () => {
  const { plane } = cluster
  await plane.apply({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few', namespace: MOVERS },
    spec: { hard: { secrets: '0' } },
  })
  onTestFinished(() => plane.kubectl(['delete', 'resourcequota', 'few', '-n', MOVERS]).then(() => undefined))
  await answered(plane, credentialsSecret('probe', 'id', 'key', MOVERS), 'exceeded quota: few')
  await cluster.create(managerOf('no-copy', volume({ replicas: 1 })))

  const isRejected = ({ reason, message = '' }: ReplicaStatus) =>
    reason === 'CreateRefused' && message.includes('exceeded quota: few, requested: secrets=1')
  await cluster.replicaThat('no-copy', isRejected, TENANT)

  await cluster.deleteManager('no-copy', TENANT)
  const made = cluster.gate.requests.filter(
    ({ method, path, body }) => method === 'POST' && /\/pods(\?|$)/.test(path) && body.includes('"vckname":"no-copy"'),
  )
  expect(made).toEqual([])
})

describe.concurrent('data that pods mount by claims', () => {
  const elsewhere = { replicas: 1, nodeAffinity: onNodes('node-1', 'node-2') }

  test('is refreshed when its source changed: only the next pod has the new files', async ({ onTestFinished }) => {
    await cluster.putBucket('changing', TRAIN, 'train/')
    await cluster.create(managerOf('changing', volume({ ...elsewhere, readOnly: true }, 's3://changing/train/')))
    await create('before', 'changing')
    const [before] = await running('before', 1)
    const [claim = ''] = Object.keys(replicasOf(await isRunning('changing')))
    const persistent = await volumeNamed(claim)
    const data = await mountedBy(before)
    // As a bind mount, an open directory stays the same whatever its path becomes.
    const mount = await open(data, 'r')
    onTestFinished(() => mount.close())
    await cluster.s3.putObject('changing', 'train/a.txt', 'changed')
    await cluster.s3.putObject('changing', 'train/new.txt', 'new')

    await cluster.plane.kubectl(['annotate', 'vmgr', 'changing', '-n', TENANT, 'lodestone.dev/refresh=1'])

    const { replacedTime = '' } = await cluster.replicaThat('changing', ({ oldTrees }) => oldTrees === 1, TENANT)
    const swapped = Date.parse(replacedTime)
    // Times of pods are exact to one second: a pod that started in the second of the swap might have the old files.
    await cluster.plane.eventually('the second of the swap is over', async () => Date.now() >= swapped + 1000)
    await create('after', 'changing')
    const [after] = await running('after', 1)
    expect([before, after].map((pod) => pod && claimOf(pod))).toEqual([claim, claim])
    expect(await filesIn(await mountedBy(after))).toEqual({ ...TRAIN, 'a.txt': 'changed', 'new.txt': 'new' })
    expect(await readFile(`/proc/self/fd/${mount.fd}/a.txt`, 'utf8')).toBe('first')
    expect((await volumeNamed(claim))?.metadata.uid).toBe(persistent?.metadata.uid)
    expect((await running('before', 1))[0]?.metadata.uid).toBe(before?.metadata.uid)

    await cluster.plane.kubectl(['delete', 'pod', 'before', '-n', TENANT])
    const old = join(dirname(data), '.data.mover', 'old')
    await cluster.plane.eventually('the old files are deleted', async () => (await readdir(old)).length === 0, 90_000)
  })

  test('is evicted with its claim and PersistentVolume, and all return for a pod', async ({ onTestFinished }) => {
    const here = volume({ replicas: 1, evictionPolicy: 'LeastRecentlyUsed', nodeAffinity: onNodes('node-5') })
    // A claim in use: without its pod, this data would be the first to go.
    await cluster.create(managerOf('busy', here))
    await create('worker', 'busy')
    await running('worker', 1)
    const busy = await cluster.replicaThat('busy', ({ inUse }) => inUse === true, TENANT)
    const busyClaim = await claimNamed(busy.claimName)
    await cluster.create(managerOf('idle', here))
    const [claim = ''] = Object.keys(replicasOf(await isRunning('idle')))
    const persistent = await volumeNamed(claim)
    const data = cluster.kubelet.pathOn('node-5', persistent?.spec?.local?.path ?? '')
    expect(await filesIn(data)).toEqual(TRAIN)
    onTestFinished(() => diskPressure(cluster.plane, 'node-5', 'False'))

    await diskPressure(cluster.plane, 'node-5', 'True')

    await isGone(claim)
    await cluster.plane.eventually('its data is deleted', async () => !existsSync(data))
    const evicted = await cluster.replicaThat('idle', ({ state }) => state === 'Evicted', TENANT)
    expect(evicted.reason).toBe('DiskPressure')
    expect(await claimNamed(busy.claimName)).toMatchObject({ metadata: { uid: busyClaim?.metadata.uid } })
    expect(replicasOf(await managerNamed('busy'))).toEqual({ [busy.claimName ?? '']: 'node-5' })

    await create('waiting', 'idle')
    const [gated] = await podsOf('waiting')
    expect(gated?.spec.schedulingGates).toHaveLength(1)
    expect(gated && claimOf(gated)).toBe(claim)
    await diskPressure(cluster.plane, 'node-5', 'False')
    const [pod] = await running('waiting', 1)
    expect([pod?.metadata.uid, pod?.spec.nodeName]).toEqual([gated?.metadata.uid, 'node-5'])
    expect(await mountedBy(pod)).toBe(data)
    expect(await filesIn(data)).toEqual(TRAIN)
    expect((await volumeNamed(claim))?.metadata.uid).not.toBe(persistent?.metadata.uid)
    expect(await claimNamed(claim)).toMatchObject({ spec: { volumeName: claim }, status: { phase: 'Bound' } })
  })

  test('is uploaded when its Job is done, and the pods of the Job do not keep the claim', async () => {
    await cluster.putBucket('outcome', { 'in.txt': 'in' }, 'run/')
    await cluster.create(
      managerOf('outcome', volume({ ...elsewhere, options: { resync: 'true' } }, 's3://outcome/run/')),
    )
    const [[claim = '', node = ''] = []] = Object.entries(replicasOf(await isRunning('outcome')))
    const persistent = await volumeNamed(claim)
    // No container runs on kwok's nodes: this is what the container of the Job would have written.
    const models = join(cluster.kubelet.pathOn(node, persistent?.spec?.local?.path ?? ''), 'models')
    await mkdir(models)
    await writeFile(join(models, '1.bin'), 'weights')

    await cluster.create(jobOf('training', 'outcome', 1, restricted, TENANT))

    await cluster.plane.eventually('the bucket has it', async () => {
      return (await cluster.s3.request('GET', '/outcome/run/models/1.bin')).text === 'weights'
    })
    expect((await podsOf('training')).map((pod) => [claimOf(pod), pod.spec.nodeName, pod.status?.phase])).toEqual([
      [claim, node, 'Succeeded'],
    ])
    await cluster.deleteManager('outcome', TENANT)
    await isGone(claim)
  })
})

describe('in the namespace of all movers', () => {
  test('a tenant cannot choose a priority class, taints and resources without permission', async () => {
    const chosen = {
      tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
      mover: { priorityClassName: 'system-node-critical', resources: { limits: { memory: '2Gi' } } },
    }
    const { stderr, code } = await cluster.tryCreate(managerOf('chosen', volume(chosen)))

    expect(code).not.toBe(0)
    for (const field of ['mover.priorityClassName', 'tolerations[0].key', 'mover.resources.limits[memory]'])
      expect(stderr).toContain(`spec.volumeConfigs[0].${field}: `)
  })

  test('an allowed choice applies to the movers of a tenant; labels of the volume do not', async () => {
    const limits = { memory: '512Mi' }
    const tolerations = [{ key: 'dedicated', operator: 'Exists' }]
    // The source does not exist, so the movers fail and stay.
    const config = { replicas: 1, labels: { app: 'service-of-others' }, tolerations, mover: { resources: { limits } } }
    await cluster.create(managerOf('allowed', volume(config, 's3://lake/absent/')))

    const mover = await cluster.plane.eventually('its mover', async () => {
      const pods = (await cluster.plane.listJson('pods', MOVERS)) as unknown as Pod[]
      const found = pods.find(({ metadata }) => metadata.labels?.['vckname'] === 'allowed')
      if (!found) throw new Error('no mover')
      return found
    })
    expect(mover.spec.tolerations).toContainEqual(tolerations[0])
    expect(mover.spec.containers).toMatchObject([{ resources: { limits } }])
    expect(mover.metadata.labels).not.toHaveProperty('app')
    await cluster.deleteManager('allowed', TENANT)
  })
})
