/** Pods, with the fields that Lodestone reads and writes. All other fields are kept. */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'
import type { NodeAffinity, Toleration } from './node.ts'
import type { ResourceRequirements } from './volume-manager.ts'

/** The source of a volume: one member, such as `hostPath` or `persistentVolumeClaim`. */
export interface VolumeSource {
  hostPath?: { path: string; type?: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  nfs?: { server: string; path: string; readOnly?: boolean }
  downwardAPI?: { items: { path: string; fieldRef: { fieldPath: string } }[] }
}

export interface PodVolume extends VolumeSource {
  name: string
}

export interface VolumeMount {
  name: string
  mountPath: string
  readOnly?: boolean
  /** The part of the volume that is mounted. */
  subPath?: string
  /** The same, with variables of the container. */
  subPathExpr?: string
}

export interface EnvVar {
  name: string
  value?: string
  valueFrom?: { secretKeyRef?: { name: string; key: string; optional?: true }; fieldRef?: { fieldPath: string } }
}

export interface Container {
  name: string
  volumeMounts?: VolumeMount[]
  /** Volumes as block devices. */
  volumeDevices?: { name: string; devicePath: string }[]
  image?: string
  imagePullPolicy?: string
  args?: string[]
  env?: EnvVar[]
  resources?: ResourceRequirements
  securityContext?: object
  terminationMessagePolicy?: string
}

/** Excludes nodes that run these pods; the topology key defines a node. */
interface PodAffinityTerm {
  labelSelector: LabelSelector
  /** The namespaces of these pods; absent means that of the pod. */
  namespaces?: string[]
  topologyKey: string
}

export interface PodSpec {
  containers: Container[]
  /** Sidecars (containers with `restartPolicy: Always`) are in this list too. */
  initContainers?: Container[]
  volumes?: PodVolume[]
  affinity?: {
    nodeAffinity?: NodeAffinity
    podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution: PodAffinityTerm[] }
  }
  schedulingGates?: { name: string }[]
  nodeName?: string
  nodeSelector?: Record<string, string>
  os?: { name: string }
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
    /** The time is absent if the kubelet does not know the end of the container. */
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
  /** The time at which the kubelet accepted the pod. */
  startTime?: string
}

export interface Pod extends K8sObject {
  spec: PodSpec
  status?: PodStatus
}

/** The template of the pods of a workload. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: PodSpec
}

export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
