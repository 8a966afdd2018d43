// The fields of Karmada's objects that the models of this folder read. They share nothing with src: they are a second model.

interface Metadata {
  name?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[]
  deletionTimestamp?: string
}

export interface ApiObject {
  apiVersion: string
  kind: string
  metadata: Metadata
}

export interface Taint {
  key: string
  value?: string
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  timeAdded?: string
}

export interface Toleration {
  key?: string
  operator?: 'Exists' | 'Equal'
  value?: string
  effect?: string
  // How long a NoExecute taint is tolerated, from when it was added.
  tolerationSeconds?: number
}

export interface Cluster extends ApiObject {
  spec: { region?: string; provider?: string; taints?: Taint[] }
  status?: {
    conditions?: { type: string; status: string }[]
    apiEnablements?: { groupVersion: string; resources: { kind: string }[] }[]
    // How many replicas of each workload have room, in place of the answers of estimators.
    room?: number
  }
}

export interface Affinity {
  clusterNames?: string[]
  exclude?: string[]
  labelSelector?: { matchLabels?: Record<string, string> }
}

export interface AffinityTerm extends Affinity {
  affinityName: string
  overflowAffinities?: (Affinity & { affinityName: string })[]
}

export interface ReplicaScheduling {
  replicaSchedulingType?: 'Duplicated' | 'Divided'
  replicaDivisionPreference?: 'Aggregated' | 'Weighted'
  weightPreference?: { dynamicWeight?: string; staticWeightList?: { targetCluster: Affinity; weight: number }[] }
}

export interface Placement {
  clusterAffinity?: Affinity
  clusterAffinities?: AffinityTerm[]
  clusterTolerations?: Toleration[]
  spreadConstraints?: { spreadByField: string; minGroups?: number; maxGroups?: number }[]
  replicaScheduling?: ReplicaScheduling
}

export interface TargetCluster {
  name: string
  replicas?: number
}

export type PurgeMode = 'Gracefully' | 'Directly' | 'Never'

export interface EvictionTask {
  fromCluster: string
  purgeMode: PurgeMode
  reason: string
  producer: string
  replicas?: number
  gracePeriodSeconds?: number
  // The task stays until a user sets this to false.
  suppressDeletion?: boolean
  creationTimestamp?: string
}

export interface BindingSpec {
  resource: {
    apiVersion: string
    kind: string
    namespace?: string
    name: string
    uid?: string
    resourceVersion?: string
  }
  replicas?: number
  replicaRequirements?: object
  // In place of the replicas, with the feature gate MultiplePodTemplatesScheduling.
  components?: { name: string; replicas: number }[]
  placement?: Placement
  clusters?: TargetCluster[]
  gracefulEvictionTasks?: EvictionTask[]
  suspension?: { scheduling?: boolean; dispatching?: boolean }
  propagateDeps?: boolean
  conflictResolution?: string
  schedulerName?: string
  rescheduleTriggeredAt?: string
}

export interface Binding extends ApiObject {
  spec: BindingSpec
  status?: {
    schedulerObservedGeneration?: number
    // The spelling of Karmada's API.
    schedulerObservingAffinityName?: string
    lastScheduledTime?: string
    conditions?: { type: string; status: string; reason: string }[]
    aggregatedStatus?: { clusterName: string; applied?: boolean; health?: string }[]
  }
}

// A PropagationPolicy, or a ClusterPropagationPolicy, which has no namespace.
export interface Policy extends ApiObject {
  spec: {
    resourceSelectors: { apiVersion: string; kind: string; namespace?: string; name?: string }[]
    placement: Placement
    propagateDeps?: boolean
    priority?: number
    suspension?: { dispatching?: boolean }
    activationPreference?: 'Lazy'
    preemption?: 'Always'
  }
}

export interface Workload extends ApiObject {
  spec: { replicas?: number; components?: BindingSpec['components']; [field: string]: unknown }
}

// On bindings, by the scheduler: the placement of the last scheduling, as JSON (pkg/util/constants.go).
export const APPLIED_PLACEMENT = 'policy.karmada.io/applied-placement'

// Karmada's ResourceBindingSpec.IsWorkload.
export function isWorkload({ spec }: Pick<Binding, 'spec'>): boolean {
  return isReplicated({ spec }) || !!spec.components?.length
}

// Whether workloads of a kind have templates of PersistentVolumeClaims in a world.
export function hasTemplates({ templates }: { templates?: boolean }, kind: string): boolean {
  return templates === true && kind === 'StatefulSet'
}

// The field of a workload with its templates; empty if it has none.
export function volumeTemplates(config: { templates?: boolean }, kind: string): object {
  return hasTemplates(config, kind) ? { volumeClaimTemplates: [{ metadata: { name: 'data' } }] } : {}
}

// The kind of most workloads in a world.
export function usualKind({ templates }: { templates?: boolean }): string {
  return templates ? 'StatefulSet' : 'Deployment'
}

// Whether the scheduler divides or copies replicas (pkg/scheduler/core/common.go, AssignReplicas). It copies components as a whole.
export function isReplicated({ spec }: Pick<Binding, 'spec'>): boolean {
  const { replicas = 0, replicaRequirements, components = [] } = spec
  return (replicas > 0 || replicaRequirements !== undefined) && components.length <= 1
}

export function isDuplicated({ replicaScheduling }: Placement): boolean {
  return (replicaScheduling?.replicaSchedulingType ?? 'Duplicated') === 'Duplicated'
}

// The clusters in which a workload runs. One that gets replicas again has none in its clusters until it is scheduled.
export function occupiedBy({ spec }: Pick<Binding, 'spec'>): string[] {
  const isCopied = isDuplicated(spec.placement ?? {}) || !isReplicated({ spec })
  return (spec.clusters ?? []).flatMap(({ name, replicas = 0 }) => (isCopied || replicas > 0 ? [name] : []))
}

export function namesOf(clusters: readonly TargetCluster[] | undefined): string[] {
  return (clusters ?? []).map(({ name }) => name)
}
