/** Pods, as far as volumes concern them; everything else in them is carried along untouched. */
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
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } }
}

export interface Container {
  name: string
  volumeMounts?: VolumeMount[] | null
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
  topologyKey: string
}

export interface PodSpec {
  containers: Container[]
  /** Sidecars (those with `restartPolicy: Always`) are here as well. */
  initContainers?: Container[] | null
  volumes?: PodVolume[] | null
  affinity?: {
    nodeAffinity?: NodeAffinity | null
    podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution: PodAffinityTerm[] }
  } | null
  schedulingGates?: { name: string }[] | null
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
    terminated?: { exitCode?: number; reason?: string; message?: string }
  }
}

interface PodCondition {
  type: string
  status: string
  reason?: string
  message?: string
}

export interface PodStatus {
  phase?: string
  reason?: string
  message?: string
  conditions?: PodCondition[]
  containerStatuses?: ContainerStatus[]
}

export interface Pod extends K8sObject {
  spec: PodSpec
  status?: PodStatus
}

/** What a workload makes its pods of. */
export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> } | null
  spec: PodSpec
}

export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

const text = { type: 'string' }
const listOf = (items: object) => ({ type: ['array', 'null'], items })
const containers = {
  items: {
    type: 'object',
    required: ['name'],
    properties: {
      name: text,
      volumeMounts: listOf({
        type: 'object',
        required: ['name', 'mountPath'],
        properties: { name: text, mountPath: text },
      }),
    },
  },
}
const requirements = {
  type: 'array',
  items: {
    type: 'object',
    required: ['key', 'operator'],
    properties: { key: text, operator: text, values: { type: 'array', items: text } },
  },
}
const term = { type: 'object', properties: { matchExpressions: requirements, matchFields: requirements } }

/** JSON Schema of what is read of a pod's spec; a null list is an empty one. */
export const podSpecSchema = {
  type: 'object',
  required: ['containers'],
  properties: {
    containers: { type: 'array', ...containers },
    initContainers: { type: ['array', 'null'], ...containers },
    volumes: listOf({
      type: 'object',
      required: ['name'],
      properties: {
        name: text,
        hostPath: { type: 'object', required: ['path'], properties: { path: text, type: text } },
        persistentVolumeClaim: { type: 'object', required: ['claimName'], properties: { claimName: text } },
      },
    }),
    affinity: {
      type: ['object', 'null'],
      properties: {
        nodeAffinity: {
          type: ['object', 'null'],
          properties: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              type: 'object',
              required: ['nodeSelectorTerms'],
              properties: { nodeSelectorTerms: { type: 'array', minItems: 1, items: term } },
            },
            preferredDuringSchedulingIgnoredDuringExecution: {
              type: 'array',
              items: { type: 'object', required: ['weight', 'preference'], properties: { preference: term } },
            },
          },
        },
      },
    },
    schedulingGates: listOf({ type: 'object', required: ['name'], properties: { name: text } }),
    nodeName: text,
  },
} as const
