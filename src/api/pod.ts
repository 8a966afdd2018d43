/** Pods, as far as Lodestone makes and reads them; everything else in them is carried along untouched. */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'
import type { NodeAffinity, Toleration } from './node.ts'
import type { ResourceRequirements } from './volume-manager.ts'

/** Where a volume's data comes from: one member, such as `hostPath` or `persistentVolumeClaim`. */
export interface VolumeSource {
  hostPath?: { path: string; type?: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  downwardAPI?: { items: { path: string; fieldRef: { fieldPath: string } }[] }
}

export interface PodVolume extends VolumeSource {
  name: string
}

export interface VolumeMount {
  name: string
  mountPath: string
  readOnly?: boolean
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: { secretKeyRef?: { name: string; key: string; optional?: true }; fieldRef?: { fieldPath: string } }
}

export interface Container {
  name: string
  volumeMounts?: VolumeMount[]
  image?: string
  imagePullPolicy?: string
  args?: string[]
  env?: EnvVar[]
  resources?: ResourceRequirements
  securityContext?: object
  terminationMessagePolicy?: string
}

/** Not on one node (of the topology key) with these pods. */
interface PodAffinityTerm {
  labelSelector: LabelSelector
  /** Of which namespaces; `{}` is all, and without it only the pod's own counts. */
  namespaceSelector?: LabelSelector
  topologyKey: string
}

export interface PodSpec {
  containers: Container[]
  /** Sidecars (those with `restartPolicy: Always`) are here as well. */
  initContainers?: Container[]
  volumes?: PodVolume[]
  affinity?: {
    nodeAffinity?: NodeAffinity
    podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution: PodAffinityTerm[] }
  }
  schedulingGates?: { name: string }[]
  nodeName?: string
  serviceAccountName?: string
  imagePullSecrets?: { name: string }[]
  restartPolicy?: string
  activeDeadlineSeconds?: number
  terminationGracePeriodSeconds?: number
  priorityClassName?: string
  tolerations?: Toleration[]
  securityContext?: object
}

interface ContainerStatus {
  name: string
  state?: {
    waiting?: { reason?: string; message?: string }
    /** Without a time where the kubelet did not find out what became of the container. */
    terminated?: { exitCode?: number; reason?: string; message?: string; finishedAt?: string | null }
  }
}

interface PodCondition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string | null
}

export interface PodStatus {
  phase?: string
  reason?: string
  message?: string
  conditions?: PodCondition[]
  containerStatuses?: ContainerStatus[]
  initContainerStatuses?: ContainerStatus[]
  /** When its kubelet took it on. */
  startTime?: string
}

export interface Pod extends K8sObject {
  spec: PodSpec
  status?: PodStatus
}

/** What a workload makes its pods of. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: PodSpec
}

export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
