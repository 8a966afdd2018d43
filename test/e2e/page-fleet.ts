// A fleet to look at: 12 clusters in 3 regions, 40 workloads in 3 namespaces, holds of several causes, and volumes on nodes.
import type { KubeObject } from './api-client.ts'
import type { ControlPlane } from './control-plane.ts'
import type { Hub } from './hub.ts'
import { claim, deployment, only, policy, type SpecObject, source } from './manifests.ts'
import type { MemberCluster } from './member-clusters.ts'

const REGIONS = { 'ap-south': 'provider-a', 'eu-central': 'provider-a', 'us-east': 'provider-b' }

export const fleetClusters: Record<string, MemberCluster> = Object.fromEntries(
  Object.entries(REGIONS).flatMap(([region, provider]) =>
    [1, 2, 3, 4].map((i) => [`${region}-${i}`, { region, provider, zones: [`${region}-a`] }]),
  ),
)
const names = Object.keys(fleetClusters)
const NAMESPACES = ['analytics', 'checkout', 'research']
const DATA = ['orders', 'clicks', 'invoices', 'embeddings', 'telemetry', 'images', 'sessions', 'prices']
const GIB = 2 ** 30

interface Member {
  workload: SpecObject
  others: KubeObject[]
}

// The workload `i`, in its namespace, with its policy and its claim. Every ninth one cannot be placed.
function member(i: number): Member {
  const namespace = NAMESPACES[i % NAMESPACES.length] ?? ''
  const data = DATA[i % DATA.length] ?? ''
  const name = `${data}-${['report', 'trainer', 'index', 'export', 'api'][i % 5]}${i < 20 ? '' : `-${i}`}`
  const workload = deployment(name, { namespace })
  const of = { workload, namespace }
  const wide = { clusterAffinity: { clusterNames: names } }
  switch (i % 9) {
    case 3: // Nothing knows where its data is.
      return {
        workload,
        others: [policy(name, { ...of, placement: wide }), claim(name, { ...of, data: `${data}-2027` })],
      }
    case 5: // Its policy excludes the clusters with its data.
      return {
        workload,
        others: [policy(name, { ...of, placement: only('ap-south-1') }), claim(name, { ...of, data: 'audit' })],
      }
    case 7: {
      // Its policy wants a claim.
      const strict = policy(name, { ...of, placement: wide })
      const annotations = { 'lodestone.dev/requires-claim': 'true' }
      return { workload, others: [{ ...strict, metadata: { ...strict.metadata, annotations } }] }
    }
    default:
      return { workload, others: [policy(name, { ...of, placement: wide }), claim(name, { ...of, data })] }
  }
}

// Creates the fleet, and returns when Karmada has scheduled what may be scheduled.
export async function createFleet(plane: ControlPlane, hub: Hub): Promise<void> {
  await plane.apply(NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  const sources = DATA.map((name, i) => {
    const places = names.filter((_, at) => (at * 7 + i * 3) % 5 === 0)
    return source(name, i === 5 ? places.slice(0, 1) : places, { bytes: Math.round(GIB * 1.9 ** (i + 1)) })
  })
  await hub.apply(
    ...sources,
    source('audit', ['eu-central-2'], { bytes: 40 * GIB }),
    source('archive', [], { bytes: 0 }),
  )
  const members = Array.from({ length: 40 }, (_, i) => member(i))
  await hub.apply(...members.flatMap(({ others }) => others))
  await hub.apply(...members.map(({ workload }) => workload))
  await createVolumes(plane, hub)
}

const REVISION = '0123456789abcdef'

// VolumeManagers with a status as the controller of a member writes it. No controller of volumes runs on a hub.
async function createVolumes(plane: ControlPlane, hub: Hub): Promise<void> {
  for (const [at, { name, namespace, nodes }] of [
    { name: 'models', namespace: 'research', nodes: 24 },
    { name: 'features', namespace: 'analytics', nodes: 9 },
  ].entries()) {
    const manager = {
      apiVersion: 'vck.intelai.org/v1alpha1',
      kind: 'VolumeManager',
      metadata: { name, namespace },
      spec: {
        volumeConfigs: [
          {
            id: 'weights',
            replicas: nodes,
            sourceType: 'S3',
            accessMode: 'ReadWriteOnce',
            capacity: '5Gi',
            labels: { volume: name },
            options: { awsCredentialsSecretName: 'lake', sourceURL: `s3://lake/${name}/` },
          },
        ],
      },
    }
    await hub.apply(manager)
    const replicas = Array.from({ length: nodes }, (_, i) => replicaOf(i, at))
    const ready = replicas.filter(({ state }) => state === 'Ready').length
    const volume = {
      id: 'weights',
      message: 'success',
      nodeAffinity: {},
      readyReplicas: ready,
      bytes: 5 * GIB,
      replicas,
    }
    const path = `${await plane.api.collection('volumemanagers.vck.intelai.org', namespace)}/${name}/status`
    const status = { state: 'Running', volumes: [volume] }
    await plane.api.expect('PATCH', path, { status }, 'application/merge-patch+json')
  }
}

function replicaOf(i: number, manager: number) {
  const replica = { index: i, revision: REVISION, attempt: 1, node: `gpu-${manager}-${i}`, totalBytes: 5 * GIB }
  if (i % 8 === 3) return { ...replica, state: 'Downloading', bytes: Math.round(((i % 5) + 1) * 0.8 * GIB) }
  if (i % 8 === 5) {
    const { node: _, ...rest } = replica
    return {
      ...rest,
      state: 'Queued',
      reason: 'NoNode',
      message: 'no node can take the replica now; check nodeAffinity',
    }
  }
  if (i === 10) return { ...replica, state: 'Failed', reason: 'NotFound', message: 's3://lake/models/ has no object' }
  return { ...replica, state: 'Ready', bytes: 5 * GIB }
}
