/**
 * VolumeManager: data that is wanted on nodes. It has the fields, states and messages of VCK (vck.intelai.org/v1alpha1), and additional
 * fields.
 */
import type { Condition, K8sObject, ResourceType } from './meta.ts'
import type { NodeAffinity, Toleration } from './node.ts'
import type { VolumeStatus } from './volume-status.ts'

export type VolumeManagerState = 'Pending' | 'Running' | 'Completed' | 'Failed'

export interface VolumeConfig {
  /** Unique in its VolumeManager. */
  id: string
  /** The number of nodes with the data. NFS ignores it; for Local, at least this many nodes must match. */
  replicas?: number
  /** S3, S3-Dev, NFS, Pachyderm, Local or Stream. */
  sourceType: string
  /** Whether every node that `nodeAffinity` allows gets the data, also nodes that join later. It excludes `replicas`. */
  onEveryNode?: boolean
  accessMode?: string
  capacity?: string
  labels?: Record<string, string>
  /** The nodes that may get the data. */
  nodeAffinity?: NodeAffinity
  tolerations?: Toleration[]
  options?: Record<string, string>

  /** How pods mount data that movers bring to nodes. Default: hostPath. NFS is always a claim, Local always a directory. */
  volumeType?: 'hostPath' | 'persistentVolumeClaim'
  /** Whether every mount of the data is read-only, even if the pod requests a writable one. Default: false. */
  readOnly?: boolean
  /** If not all downloads can run at the same time, those with the higher priority start first. Default: 0. */
  priority?: number
  /**
   * Whether unused replicas may be evicted when their node is short of disk. Without it, only a high watermark of the configuration evicts
   * them; `Never` retains them then too.
   */
  evictionPolicy?: 'Never' | 'LeastRecentlyUsed'
  /** How often the data is compared with its source, to download what changed. Only for read-only data. Default: never. */
  refreshIntervalSeconds?: number
  mover?: MoverOverrides
}

/** Settings of the movers of a volume. */
export interface MoverOverrides {
  /** Another image that implements the contract of movers (docs/guides/movers.md). The configuration must allow it. */
  image?: string
  priorityClassName?: string
  resources?: ResourceRequirements
  /** The ServiceAccount of the movers that read or write the source: the cloud gives it a role. Default: that of the configuration. */
  serviceAccountName?: string
}

export interface ResourceRequirements {
  requests?: Record<string, string>
  limits?: Record<string, string>
}

export interface VolumeManagerSpec {
  volumeConfigs: VolumeConfig[]
  /** The wanted state. Completed and Failed delete the data; every other value keeps it on its nodes. */
  state?: '' | VolumeManagerState
}

export interface VolumeManager extends K8sObject {
  spec: VolumeManagerSpec
  status?: VolumeManagerStatus
}

export interface VolumeManagerStatus {
  state?: VolumeManagerState
  message?: string
  /** The generation of the spec for which the status was written. */
  observedGeneration?: number
  /** The number of ready volumes and the total, for users. */
  ready?: string
  /** The nodes with all data of a volume, for users. A long list is cut. */
  nodes?: string
  /** The number of ready replicas of all volumes and of those that are wanted, for users. */
  replicas?: string
  /** The size of the data on one node, for users. */
  size?: string
  volumes?: VolumeStatus[]
  conditions?: Condition[]
}

export const volumeManagers: ResourceType<VolumeManager> = {
  group: 'vck.intelai.org',
  version: 'v1alpha1',
  kind: 'VolumeManager',
  plural: 'volumemanagers',
  namespaced: true,
}
