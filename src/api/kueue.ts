/** Kueue's AdmissionChecks and Workloads (kueue.x-k8s.io), with the fields that Lodestone reads and writes. All other fields are kept. */
import type { Condition, K8sObject, ResourceType } from './meta.ts'
import type { PodTemplate } from './pod.ts'

/** The `spec.controllerName` of the AdmissionChecks that Lodestone answers. */
export const DATA_CHECK_CONTROLLER = 'lodestone.dev/data-ready'

/** The label of a Workload that MultiKueue created in a worker cluster: its job is created there after the Workload is admitted. */
export const MULTIKUEUE_ORIGIN_LABEL = 'kueue.x-k8s.io/multikueue-origin'

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
  status?: { conditions?: Condition[]; admissionChecks?: AdmissionCheckState[] }
}

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
