// A member cluster for scenarios of volumes: five nodes whose movers really run, and a real S3 server behind a proxy that counts.
// Lodestone runs behind a gate, with only the rights of its installation.
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MOVER_LABEL } from '../../src/api/lodestone.ts'
import type { Pod } from '../../src/api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../src/api/volume-manager.ts'
import type { ReplicaStatus, VolumeStatus } from '../../src/api/volume-status.ts'
import { nodeLabelOf } from '../../src/core/volume-manager/rules/names.ts'
import type { KubeObject } from './api-client.ts'
import { type ApiGate, startApiGate } from './api-gate.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import { lodestoneCommand, type MoverKubelet, startMoverKubelet } from './mover-kubelet.ts'
import { type S3, startS3 } from './peers/s3.ts'
import type { CommandResult } from './processes.ts'
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts'

export const nodeNames = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5']
const secretName = 'aws-creds'

export interface MemberOptions {
  // The commands of images beside Lodestone's own.
  images?: Record<string, string[]>
  // Merged over `volumes` and `volumes.movers` of the configuration.
  volumes?: Record<string, unknown>
  movers?: Record<string, unknown>
  // Further sections of the configuration.
  config?: Record<string, unknown>
}

export interface Member {
  readonly plane: ControlPlane
  readonly gate: ApiGate
  readonly lodestone: Lodestone
  readonly kubelet: MoverKubelet
  readonly s3: S3
  readonly proxy: S3Proxy
  // As `kubectl create -f -`.
  create(object: object): Promise<CommandResult>
  tryCreate(object: object): Promise<CommandResult>
  volumeManager(name: string, namespace?: string): Promise<VolumeManager | undefined>
  // Once it is in this state.
  reached(name: string, state: string, timeoutMs?: number): Promise<VolumeManager>
  // The first replica of its first volume, once it passes the test.
  replicaThat(name: string, test: (replica: ReplicaStatus) => boolean, namespace?: string): Promise<ReplicaStatus>
  // Deletes a VolumeManager, and waits until its data is deleted.
  deleteManager(name: string, namespace?: string): Promise<unknown>
  // The nodes on whose disk the volume is, as the disk says.
  nodesWith(volume: VolumeStatus): string[]
  podsOf(app: string): Promise<Pod[]>
  // The pods of a VolumeManager's movers that are there.
  moversOf(name: string): Promise<Pod[]>
  // The nodes with the label of the first volume.
  labeledNodes(manager: VolumeManager): Promise<string[]>
  // The node of the one pod of an app, once it runs.
  nodeOf(app: string): Promise<string>
  // Where a volume's data is on a node, as a folder of this machine.
  dataOn(node: string, volume: VolumeStatus): string
  // A bucket of a scenario's own, with files in a folder of it such as `train/`.
  putBucket(name: string, files: Readonly<Record<string, string>>, folder?: string): Promise<void>
}

const image = 'lodestone:e2e'
const timeoutMs = 60_000

export async function startMember({
  images = {},
  volumes = {},
  movers = {},
  config = {},
}: MemberOptions = {}): Promise<Member> {
  const plane = await startControlPlane({ karmada: false, nodes: { names: nodeNames, movers: 'left alone' } })
  try {
    // The default region of clients, since VCK's manifests name no region.
    const s3 = await startS3(plane.dir, { region: 'us-east-1' })
    plane.onStop(() => s3.stop())
    const proxy = await startS3Proxy(s3.url)
    plane.onStop(() => proxy.stop())
    const kubelet = await startMoverKubelet(plane, { images: { [image]: lodestoneCommand, ...images } })
    const { namespace } = movers as { namespace?: string }
    if (namespace !== undefined) await plane.apply(namespaceOf(namespace, 'privileged'))
    const installed = { volumes: { enabled: true, movers: { namespace } } }
    await installLodestone(plane, namespace === undefined ? undefined : installed)
    const gate = await startApiGate(plane, lodestoneUser)
    const lodestone = await startLodestone(plane, {
      kubeconfig: gate.kubeconfig,
      config: {
        ...config,
        volumes: {
          enabled: true,
          // The S3 servers are on this machine, as all servers of the tests.
          allowedLocalNetworks: ['127.0.0.0/8'],
          ...volumes,
          movers: { image, keepFree: '1Mi', maxPerNode: 20, ...movers },
        },
      },
    })
    await plane.apply(credentialsSecret(secretName, s3.accessKey, s3.secretKey))
    return member({ plane, gate, lodestone, kubelet, s3, proxy })
  } catch (error) {
    await plane.stopAll()
    throw error
  }
}

function member(parts: Pick<Member, 'plane' | 'gate' | 'lodestone' | 'kubelet' | 's3' | 'proxy'>): Member {
  const { plane, kubelet, s3 } = parts
  const volumeManager = async (name: string, namespace = 'default') =>
    (await plane.getJson('volumemanagers.vck.intelai.org', name, namespace)) as unknown as VolumeManager | undefined
  const podsWith = async (label: string, value: string) => {
    const pods = (await plane.listJson('pods', 'default')) as unknown as Pod[]
    return pods.filter(({ metadata }) => metadata.labels?.[label] === value)
  }
  const podsOf = (app: string) => podsWith('app', app)
  return {
    ...parts,
    tryCreate: (object) => plane.tryCreate(object),
    volumeManager,
    create: (object) => plane.create(object),
    reached: (name, state, withinMs = timeoutMs) =>
      plane.eventually(
        `VolumeManager ${name} is ${state}`,
        async () => {
          const found = await volumeManager(name)
          if (found?.status?.state !== state) throw new Error(JSON.stringify(found?.status ?? 'no status'))
          return found
        },
        withinMs,
      ),
    replicaThat: (name, test, namespace) =>
      plane.eventually(
        `the replica of ${name} is as expected`,
        async () => {
          const replica = (await volumeManager(name, namespace))?.status?.volumes?.[0]?.replicas?.[0]
          if (!replica || !test(replica)) throw new Error(JSON.stringify(replica ?? 'no replica'))
          return replica
        },
        2 * timeoutMs,
      ),
    deleteManager: (name, namespace = 'default') =>
      plane.kubectl(['delete', 'vmgr', name, '-n', namespace, '--timeout=60s'], { timeoutMs: 70_000 }),
    nodesWith: ({ volumeSource }) => {
      const path = volumeSource?.hostPath?.path
      return path === undefined ? [] : nodeNames.filter((node) => existsSync(kubelet.pathOn(node, path)))
    },
    podsOf,
    moversOf: (name) => podsWith('vckname', name),
    labeledNodes: async (manager) => {
      const { id, revision = '' } = firstVolume(manager)
      const label = nodeLabelOf(manager, id, revision)
      const nodes = await plane.listJson('nodes')
      return nodes.filter(({ metadata }) => metadata.labels?.[label] === 'true').map(({ metadata }) => metadata.name)
    },
    nodeOf: (app) =>
      plane.eventually(
        `${app} runs`,
        async () => {
          const [pod] = await podsOf(app)
          if (pod?.status?.phase !== 'Running') throw new Error(JSON.stringify(pod?.status ?? 'no pod'))
          return pod.spec?.nodeName
        },
        timeoutMs,
      ),
    dataOn: (node, { volumeSource }) => kubelet.pathOn(node, volumeSource?.hostPath?.path ?? ''),
    putBucket: async (name, files, folder = '') => {
      await s3.createBucket(name)
      for (const [key, text] of Object.entries(files)) await s3.putObject(name, `${folder}${key}`, text)
    },
  }
}

// Waits until the API server answers so to the creation of an object, without storing it. It reads quotas, limits and policies from a cache,
// and kube-controller-manager writes the status that a quota needs.
export async function answered(plane: ControlPlane, object: KubeObject, says: string): Promise<void> {
  const { namespace = 'default' } = object.metadata
  const path = `/api/v1/namespaces/${namespace}/${object.kind.toLowerCase()}s?dryRun=All`
  await plane.eventually(`the API server answers ${says} in ${namespace}`, async () => {
    const { body } = await plane.api.request('POST', path, object)
    const text = JSON.stringify(body).replaceAll('\\"', '"')
    if (!text.includes(says)) throw new Error(text)
    return true
  })
}

// What the API server decides about the movers of a namespace, it decides about this Pod.
export function probeOf(namespace: string): KubeObject {
  const resources = { limits: { cpu: '1', memory: '512Mi' } }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', namespace, labels: { [MOVER_LABEL]: 'download' } },
    spec: { containers: [{ name: 'main', image: 'example.org/probe:1', resources }] },
  }
}

// A namespace with a level of Pod Security.
export function namespaceOf(name: string, level: 'privileged' | 'restricted'): KubeObject {
  const labels = { 'pod-security.kubernetes.io/enforce': level }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

export function credentialsSecret(
  name: string,
  awsAccessKeyID: string,
  awsSecretAccessKey: string,
  namespace = 'default',
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData: { awsAccessKeyID, awsSecretAccessKey },
  }
}

export function volumeManagerOf(name: string, ...volumeConfigs: object[]): KubeObject {
  return {
    apiVersion: 'vck.intelai.org/v1alpha1',
    kind: 'VolumeManager',
    metadata: { name, namespace: 'default' },
    spec: { state: 'Running', volumeConfigs },
  }
}

// Data that needs no credentials and is never read: on one node, or on any.
export function publicVolume(name: string, node?: string): KubeObject {
  return volumeManagerOf(name, {
    id: 'vol1',
    replicas: 1,
    sourceType: 'S3',
    accessMode: 'ReadWriteOnce',
    labels: { a: 'b' },
    options: { awsCredentialsSecretName: '', sourceURL: 's3://lake/train/' },
    ...(node !== undefined && { nodeAffinity: onNodes(node) }),
  })
}

// As VCK's users write it.
export function s3Volume(proxy: S3Proxy, sourceURL: string, over: Partial<VolumeConfig> = {}): VolumeConfig {
  const { options, ...rest } = over
  return {
    id: 'vol1',
    replicas: 1,
    sourceType: 'S3',
    accessMode: 'ReadWriteOnce',
    capacity: '5Gi',
    labels: { key1: 'val1' },
    options: { awsCredentialsSecretName: secretName, endpointURL: proxy.url, sourceURL, ...options },
    ...rest,
  }
}

// The PersistentVolume controller binds at its sync interval, and on a busy machine only after several of them.
export const bindTimeoutMs = 150_000

// Where data is to be placed, and where pods are to be.
export function onNodes(...names: string[]) {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: names }] }],
    },
  }
}

export function firstVolume(manager: VolumeManager): VolumeStatus & { replicas: ReplicaStatus[] } {
  const [volume] = manager.status?.volumes ?? []
  if (!volume) throw new Error(`VolumeManager ${manager.metadata.name} has no volume in its status`)
  return { ...volume, replicas: volume.replicas ?? [] }
}

// Returns the content of the files of a folder, by path below it.
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const read = await Promise.all(
    files.map(async (file) => [file.slice(folder.length + 1), await readFile(file, 'utf8')] as const),
  )
  return Object.fromEntries(read.sort(([one], [other]) => (one < other ? -1 : 1)))
}
