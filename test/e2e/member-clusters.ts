// Describes member clusters that do not exist: what Karmada's scheduler wants to know of one, and no more.
import type { KubeObject } from './api-client.ts'

export interface Taint {
  key: string
  value?: string
  effect: 'NoSchedule' | 'NoExecute'
}

export interface MemberCluster {
  region?: string
  zones?: string[]
  provider?: string
  labels?: Record<string, string>
  taints?: Taint[]
  ready?: boolean
  // Kinds beyond the built-in ones that the cluster serves: kind by plural name, by group version.
  apis?: Record<string, Record<string, string>>
  // Built-in group versions that the cluster does not serve.
  lacks?: string[]
  // false: the list of kinds may be incomplete.
  apisComplete?: boolean
}

export const memberClusters: Record<string, MemberCluster> = {
  member1: { region: 'eu-central', zones: ['eu-central-a'], provider: 'provider-a', labels: { location: 'frankfurt' } },
  member2: {
    region: 'us-east',
    zones: ['us-east-a', 'us-east-b'],
    provider: 'provider-b',
    labels: { location: 'ohio' },
  },
  member3: { region: 'ap-south', zones: ['ap-south-a'], provider: 'provider-a', labels: { location: 'mumbai' } },
}

const builtInApis: Record<string, Record<string, string>> = {
  v1: {
    configmaps: 'ConfigMap',
    endpoints: 'Endpoints',
    namespaces: 'Namespace',
    persistentvolumeclaims: 'PersistentVolumeClaim',
    persistentvolumes: 'PersistentVolume',
    pods: 'Pod',
    secrets: 'Secret',
    serviceaccounts: 'ServiceAccount',
    services: 'Service',
  },
  'apps/v1': {
    daemonsets: 'DaemonSet',
    deployments: 'Deployment',
    replicasets: 'ReplicaSet',
    statefulsets: 'StatefulSet',
  },
  'autoscaling/v2': { horizontalpodautoscalers: 'HorizontalPodAutoscaler' },
  'batch/v1': { cronjobs: 'CronJob', jobs: 'Job' },
  'discovery.k8s.io/v1': { endpointslices: 'EndpointSlice' },
  'networking.k8s.io/v1': { ingresses: 'Ingress' },
  'policy/v1': { poddisruptionbudgets: 'PodDisruptionBudget' },
  'rbac.authorization.k8s.io/v1': {
    clusterrolebindings: 'ClusterRoleBinding',
    clusterroles: 'ClusterRole',
    rolebindings: 'RoleBinding',
    roles: 'Role',
  },
  'apiextensions.k8s.io/v1': { customresourcedefinitions: 'CustomResourceDefinition' },
  'storage.k8s.io/v1': { storageclasses: 'StorageClass' },
}

export function clusterObject(name: string, cluster: MemberCluster): KubeObject {
  const { region, zones, provider, labels = {}, taints } = cluster
  return {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels },
    // Push without a secret to connect with: the controllers then leave the status alone that is written by hand.
    spec: { syncMode: 'Push', ...definedOnly({ region, zones, provider, taints }) },
  }
}

export function clusterStatus(cluster: MemberCluster, now: Date): object {
  const { ready = true, lacks = [], apisComplete = true } = cluster
  const builtIn = Object.entries(builtInApis).filter(([groupVersion]) => !lacks.includes(groupVersion))
  const apis = [...builtIn, ...Object.entries(cluster.apis ?? {})]
  return {
    kubernetesVersion: 'v1.35.0',
    conditions: [
      {
        type: 'Ready',
        status: ready ? 'True' : 'False',
        reason: ready ? 'ClusterReady' : 'ClusterNotReady',
        message: 'set by hand',
        lastTransitionTime: `${now.toISOString().slice(0, 19)}Z`,
      },
      {
        type: 'CompleteAPIEnablements',
        status: apisComplete ? 'True' : 'False',
        reason: apisComplete ? 'FullAPIEnablements' : 'PartialAPIEnablements',
        message: 'set by hand',
        lastTransitionTime: `${now.toISOString().slice(0, 19)}Z`,
      },
    ],
    apiEnablements: apis.map(([groupVersion, kinds]) => ({
      groupVersion,
      resources: Object.entries(kinds).map(([name, kind]) => ({ name, kind })),
    })),
    // Room enough for every policy that divides replicas by available resources.
    resourceSummary: {
      allocatable: { cpu: '1000', memory: '4000Gi', pods: '10000' },
      allocating: { cpu: '0', memory: '0', pods: '0' },
      allocated: { cpu: '0', memory: '0', pods: '0' },
    },
  }
}

function definedOnly(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
