/** Pods, as far as Lodestone makes and reads them: movers, and whoever has a volume mounted. */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'
import type { NodeAffinity, Toleration } from './node.ts'
import type { ResourceRequirements } from './volume-manager.ts'

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: {
    secretKeyRef?: { name: string; key: string; optional?: boolean }
    fieldRef?: { fieldPath: string }
  }
}

export interface VolumeMount {
  name: string
  mountPath: string
  readOnly?: boolean
}

export interface PodVolume {
  name: string
  hostPath?: { path: string; type?: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  downwardAPI?: { items: { path: string; fieldRef: { fieldPath: string } }[] }
  emptyDir?: { medium?: string; sizeLimit?: string }
}

/** Where a volume's data comes from. */
export type VolumeSource = Omit<PodVolume, 'name'>

export interface Container {
  name: string
  image?: string
  imagePullPolicy?: string
  args?: string[]
  env?: EnvVar[]
  volumeMounts?: VolumeMount[]
  resources?: ResourceRequirements
  securityContext?: object
  terminationMessagePolicy?: string
}

export interface PodAffinityTerm {
  labelSelector: LabelSelector
  topologyKey: string
  /** Empty: of every namespace. Absent: of the pod's own. */
  namespaceSelector?: LabelSelector
}

export interface PodSpec {
  nodeName?: string
  serviceAccountName?: string
  automountServiceAccountToken?: boolean
  restartPolicy?: string
  activeDeadlineSeconds?: number
  terminationGracePeriodSeconds?: number
  priorityClassName?: string
  tolerations?: Toleration[]
  affinity?: {
    nodeAffinity?: NodeAffinity
    podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution: PodAffinityTerm[] }
  }
  imagePullSecrets?: { name: string }[]
  securityContext?: object
  containers: Container[]
  /** Sidecars (those with `restartPolicy: Always`) are here as well. */
  initContainers?: Container[]
  volumes?: PodVolume[]
  schedulingGates?: { name: string }[]
}

export interface ContainerStatus {
  name: string
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: { startedAt?: string }
    terminated?: { exitCode?: number; reason?: string; message?: string }
  }
}

export interface PodCondition {
  type: string
  status: string
  reason?: string
  message?: string
}

export interface PodStatus {
  phase?: string
  reason?: string
  message?: string
  startTime?: string
  conditions?: PodCondition[]
  containerStatuses?: ContainerStatus[]
}

export interface Pod extends K8sObject {
  spec?: PodSpec
  status?: PodStatus
}

/** As an API server sends it; of pods in memory, the spec may be cut away. */
export interface WholePod extends Pod {
  spec: PodSpec
}

/** What a workload makes its pods of. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: PodSpec
}

export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
