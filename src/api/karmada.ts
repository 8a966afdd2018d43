/** The fields of Karmada's bindings, policies and clusters that Lodestone reads (karmada.io, v1.13 and newer). */
import type { Condition, K8sObject, LabelSelector, LabelSelectorRequirement, ResourceType } from './meta.ts'
import type { Taint, Toleration } from './node.ts'

export interface ClusterAffinity {
  labelSelector?: LabelSelector
  fieldSelector?: { matchExpressions?: LabelSelectorRequirement[] }
  /** Absent or empty means every cluster (util.ClusterNamesMatches). */
  clusterNames?: string[]
  exclude?: string[]
}

export interface OverflowClusterAffinity extends ClusterAffinity {
  affinityName: string
}

export interface ClusterAffinityTerm extends OverflowClusterAffinity {
  /** Tried in order if the group has too few resources. Karmada ignores it for objects that are not workloads. */
  overflowAffinities?: OverflowClusterAffinity[]
}

/** The part of a placement that selects clusters: one affinity, ordered groups, or neither (every cluster). */
export interface PlacementAffinity {
  clusterAffinity?: ClusterAffinity
  clusterAffinities?: ClusterAffinityTerm[]
}

export interface SpreadConstraint {
  spreadByField?: string
  spreadByLabel?: string
  minGroups?: number
  maxGroups?: number
}

export interface ReplicaScheduling {
  replicaSchedulingType?: string
  replicaDivisionPreference?: string
  weightPreference?: {
    staticWeightList?: { targetCluster?: ClusterAffinity; weight?: number }[]
    dynamicWeight?: string
  }
}

export interface Placement extends PlacementAffinity {
  clusterTolerations?: Toleration[]
  spreadConstraints?: SpreadConstraint[]
  replicaScheduling?: ReplicaScheduling
}

export interface BindingResource {
  apiVersion: string
  kind: string
  namespace?: string
  name: string
  uid?: string
  resourceVersion?: string
}

/** What Karmada leaves undone for a workload. A policy cannot suspend the scheduling. */
export interface Suspension {
  scheduling?: boolean
  dispatching?: boolean
  dispatchingOnClusters?: { clusterNames?: string[] }
  [key: string]: unknown
}

/** How Karmada replaces a workload that fails, or whose cluster fails. */
export interface Failover {
  application?: FailoverBehavior
  cluster?: FailoverBehavior
}

export interface FailoverBehavior {
  /** The parts of the status that Karmada gives to the replacement, as labels. */
  statePreservation?: { rules?: unknown[] }
  [key: string]: unknown
}

/** A cluster that a workload leaves. */
export interface EvictionTask {
  fromCluster: string
  /** Whether the workload runs there until its replacement does. */
  purgeMode?: string
}

export interface BindingSpec {
  resource: BindingResource
  replicas?: number
  replicaRequirements?: unknown
  components?: unknown[]
  clusters?: TargetCluster[]
  placement?: Placement
  gracefulEvictionTasks?: EvictionTask[]
  suspension?: Suspension
  propagateDeps?: boolean
  /** The workloads that need the resource, each with a copy of its scheduled clusters. */
  requiredBy?: BindingSnapshot[]
  conflictResolution?: string
  preserveResourcesOnDeletion?: boolean
  failover?: Failover
}

/** A reference to a referrer in an attached binding; without a namespace it is a ClusterResourceBinding. */
export interface BindingSnapshot {
  namespace?: string
  name: string
  clusters?: TargetCluster[]
}

export interface TargetCluster {
  name: string
  replicas?: number
}

export interface ResourceBinding extends K8sObject {
  spec: BindingSpec
  status?: BindingStatus
}

/** The condition of a binding that says whether the scheduler could schedule it. */
export const SCHEDULED_CONDITION = 'Scheduled'
/** Its reason if no cluster fits. The scheduler does not try again by itself, as it does after every other failure. */
export const NO_CLUSTER_FIT = 'NoClusterFit'
/**
 * Its reason if the clusters that fit have too little room for the replicas, since Karmada 1.18. Before, it is that of every failure without a reason
 * of its own. The scheduler leaves the clusters as they are.
 */
export const UNSCHEDULABLE = 'Unschedulable'
/** Begins its message if the clusters that fit have too little room, or are too few for the spread constraints. The clusters stay too. */
export const NO_SELECTION = 'failed to select clusters'
/** Begins its message if the clusters that it selected cannot take all replicas. */
export const NO_ASSIGNMENT = 'failed to assign replicas'

export interface BindingStatus {
  conditions?: (Pick<Condition, 'type' | 'status' | 'reason'> & { message?: string })[]
  /** RFC 3339: when the scheduler last chose clusters. Absent if the workload was never scheduled. */
  lastScheduledTime?: string
  /** The generation of the binding that the scheduler handled last. */
  schedulerObservedGeneration?: number
  /** The affinity group that the scheduler chose last. It does not go back to the groups before it. */
  schedulerObservingAffinityName?: string
  aggregatedStatus?: AggregatedStatusItem[]
}

/** The status of the resource in one member; it has the fields of the resource's own status. */
export interface AggregatedStatusItem {
  clusterName: string
  /** Whether the agent of the member has applied the resource. */
  applied?: boolean
  status?: unknown
}

export interface ResourceSelector {
  apiVersion: string
  kind: string
  namespace?: string
  name?: string
  labelSelector?: LabelSelector
}

export interface PropagationSpec {
  resourceSelectors: ResourceSelector[]
  placement?: Placement
  propagateDeps?: boolean
  activationPreference?: string
  priority?: number
  preemption?: string
  suspension?: Suspension
  schedulerName?: string
  conflictResolution?: string
  preserveResourcesOnDeletion?: boolean
  failover?: Failover
}

export interface PropagationPolicy extends K8sObject {
  spec: PropagationSpec
}

export interface Cluster extends K8sObject {
  spec: {
    /** Push or Pull. */
    syncMode?: string
    provider?: string
    region?: string
    /** Deprecated: see `zones`. */
    zone?: string
    zones?: string[]
    taints?: Taint[]
  }
  /** An API server always has it. A manifest for `check` may lack it; then the APIs of the cluster are not known. */
  status?: { apiEnablements?: ApiEnablement[]; conditions?: Condition[] }
}

/** The kinds of one API group that a cluster serves. */
export interface ApiEnablement {
  groupVersion: string
  resources?: { kind: string }[]
}

export const resourceBindings: ResourceType<ResourceBinding> = {
  group: 'work.karmada.io',
  version: 'v1alpha2',
  kind: 'ResourceBinding',
  plural: 'resourcebindings',
  namespaced: true,
}

export const clusterResourceBindings: ResourceType<ResourceBinding> = {
  group: 'work.karmada.io',
  version: 'v1alpha2',
  kind: 'ClusterResourceBinding',
  plural: 'clusterresourcebindings',
  namespaced: false,
}

export const propagationPolicies: ResourceType<PropagationPolicy> = {
  group: 'policy.karmada.io',
  version: 'v1alpha1',
  kind: 'PropagationPolicy',
  plural: 'propagationpolicies',
  namespaced: true,
}

export const clusterPropagationPolicies: ResourceType<PropagationPolicy> = {
  group: 'policy.karmada.io',
  version: 'v1alpha1',
  kind: 'ClusterPropagationPolicy',
  plural: 'clusterpropagationpolicies',
  namespaced: false,
}

export const clusters: ResourceType<Cluster> = {
  group: 'cluster.karmada.io',
  version: 'v1alpha1',
  kind: 'Cluster',
  plural: 'clusters',
  namespaced: false,
}

/** The condition of a Cluster that says that its list of APIs is complete. */
export const COMPLETE_APIS = 'CompleteAPIEnablements'

/** The creator of a binding, if it is not the detector but, for example, MultiClusterService. Lodestone does not change such bindings. */
export const MANAGED_BY_LABEL = 'binding.karmada.io/managed-by'
export const POLICY_NAMESPACE_ANNOTATION = 'propagationpolicy.karmada.io/namespace'
export const POLICY_NAME_ANNOTATION = 'propagationpolicy.karmada.io/name'
export const CLUSTER_POLICY_NAME_ANNOTATION = 'clusterpropagationpolicy.karmada.io/name'
/** On bindings, by Karmada's webhook: an id that is never reused. */
export const BINDING_ID_LABEL = 'resourcebinding.karmada.io/permanent-id'
export const CLUSTER_BINDING_ID_LABEL = 'clusterresourcebinding.karmada.io/permanent-id'
/** On a workload's binding, by Karmada's distributor: the recorded dependencies, as JSON of `DependentObjectReference[]`. */
export const DEPENDENCIES_ANNOTATION = 'resourcebinding.karmada.io/dependencies'
/** On a binding, by Karmada's scheduler: the placement that it applied last, as JSON. */
export const APPLIED_PLACEMENT_ANNOTATION = 'policy.karmada.io/applied-placement'
/** On attached bindings, by Karmada's distributor; a hash of the referrer follows. */
export const DEPENDED_BY_LABEL_PREFIX = 'resourcebinding.karmada.io/depended-by-'
/** On every binding, by Karmada: the objects are removed from members before the binding is deleted. */
export const BINDING_FINALIZER = 'karmada.io/binding-controller'
/** The maximum length of `affinityName` in Karmada's schema. */
export const MAX_AFFINITY_NAME_LENGTH = 32

/** Both kinds of bindings. */
export const bindingTypes: readonly ResourceType<ResourceBinding>[] = [resourceBindings, clusterResourceBindings]

/** Returns the kind of the bindings in a namespace; without one, ClusterResourceBinding. */
export function bindingTypeIn(namespace: string | undefined): ResourceType<ResourceBinding> {
  return namespace ? resourceBindings : clusterResourceBindings
}

/** Returns the kind of the policies in a namespace; without one, ClusterPropagationPolicy. */
export function policyTypeIn(namespace: string | undefined): ResourceType<PropagationPolicy> {
  return namespace ? propagationPolicies : clusterPropagationPolicies
}

/** Whether a kind is that of bindings, namespaced or cluster-scoped. */
export function isBinding(kind: string): boolean {
  return kind === resourceBindings.kind || kind === clusterResourceBindings.kind
}

/** Whether a kind is that of propagation policies, namespaced or cluster-scoped. */
export function isPolicy(kind: string): boolean {
  return kind === propagationPolicies.kind || kind === clusterPropagationPolicies.kind
}
