/** The objects of Kueue and MultiKueue (kueue.x-k8s.io), with the fields that Lodestone reads and writes. All other fields are kept. */
import type { Condition, K8sObject, ResourceType } from './meta.ts'
import type { PodTemplate } from './pod.ts'

/** The `spec.controllerName` of the AdmissionChecks that Lodestone answers. */
export const DATA_CHECK_CONTROLLER = 'lodestone.dev/data-ready'

/** The label of a Workload that MultiKueue created in a worker cluster: its job is created there after the Workload is admitted. */
export const MULTIKUEUE_ORIGIN_LABEL = 'kueue.x-k8s.io/multikueue-origin'

/**
 * The label of a Workload for which Kueue creates variants, one for each flavor: its feature ConcurrentAdmission, from 0.18 on. The variants
 * have the quota and the checks, and are owned by this Workload instead of its job.
 */
export const VARIANTS_LABEL = 'kueue.x-k8s.io/concurrent-admission-parent'

/** The `spec.controllerName` of the AdmissionChecks of MultiKueue, which copies Workloads to worker clusters. */
export const MULTIKUEUE_CONTROLLER = 'kueue.x-k8s.io/multikueue'

/**
 * The field manager of `status.nominatedClusterNames`. Kueue removes the nomination with a server-side apply of this manager, so a dispatcher
 * writes it as the same manager (kueue, CHANGELOG-0.13.md).
 */
export const KUEUE_ADMISSION_MANAGER = 'kueue-admission'

/** The most clusters that a Workload may be nominated for (kueue, workload_types.go). */
export const MAX_NOMINATED_CLUSTERS = 20

export interface AdmissionCheck extends K8sObject {
  spec: {
    controllerName: string
    parameters?: { apiGroup?: string; kind?: string; name?: string }
  }
  status?: { conditions?: Condition[] }
}

/** The state of one check of a Workload. Kueue adds it as Pending, and resets it to Pending when it evicts the Workload. */
export interface AdmissionCheckState {
  name: string
  state: 'Pending' | 'Ready' | 'Retry' | 'Rejected'
  /** RFC 3339: when the state changed. */
  lastTransitionTime: string
  message?: string
}

export interface KueueWorkload extends K8sObject {
  spec: {
    /** Kueue has evicted an inactive Workload, or is about to. */
    active?: boolean
    podSets?: { name: string; template: PodTemplate }[]
  }
  status?: {
    conditions?: Condition[]
    admissionChecks?: AdmissionCheckState[]
    /** The names of the MultiKueueClusters to which MultiKueue copies the Workload. One of them gets it. */
    nominatedClusterNames?: string[]
    /** The MultiKueueCluster that got the Workload. Then no cluster may be nominated. */
    clusterName?: string
  }
}

/** The worker clusters of an AdmissionCheck of MultiKueue. */
export interface MultiKueueConfig extends K8sObject {
  spec: {
    /** The names of MultiKueueClusters: at most 20. */
    clusters: string[]
  }
}

/** A worker cluster. Lodestone reads only its annotation. */
export type MultiKueueCluster = K8sObject

export const admissionChecks: ResourceType<AdmissionCheck> = {
  group: 'kueue.x-k8s.io',
  version: 'v1beta2',
  kind: 'AdmissionCheck',
  plural: 'admissionchecks',
  namespaced: false,
}

export const kueueWorkloads: ResourceType<KueueWorkload> = {
  group: 'kueue.x-k8s.io',
  version: 'v1beta2',
  kind: 'Workload',
  plural: 'workloads',
  namespaced: true,
}

export const multiKueueConfigs: ResourceType<MultiKueueConfig> = {
  group: 'kueue.x-k8s.io',
  version: 'v1beta2',
  kind: 'MultiKueueConfig',
  plural: 'multikueueconfigs',
  namespaced: false,
}

export const multiKueueClusters: ResourceType<MultiKueueCluster> = {
  group: 'kueue.x-k8s.io',
  version: 'v1beta2',
  kind: 'MultiKueueCluster',
  plural: 'multikueueclusters',
  namespaced: false,
}
