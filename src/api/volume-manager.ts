/** VolumeManager: data that is wanted on nodes, with the fields, states and messages of VCK (vck.intelai.org/v1alpha1) and more fields. */
import type { Condition, K8sObject, ResourceType } from './meta.ts'
import type { NodeAffinity, Toleration } from './node.ts'

export type VolumeManagerState = 'Pending' | 'Running' | 'Completed' | 'Failed'

export interface VolumeConfig {
  /** Unique in its VolumeManager. */
  id: string
  /** On so many nodes. NFS has no use for it; for Local, so many nodes have to be there. */
  replicas?: number
  /** S3, S3-Dev, NFS, Pachyderm, Local or Stream. */
  sourceType: string
  accessMode?: string
  capacity?: string
  labels?: Record<string, string>
  /** Where the data is placed. */
  nodeAffinity?: NodeAffinity
  tolerations?: Toleration[]
  options?: Record<string, string>

  /** Whether pods can only read it: then every mount of it is read-only, whatever the pod asks for. Default false. */
  readOnly?: boolean
  /** The download with the higher priority goes first when not all can run at once. Default 0. */
  priority?: number
  /** Whether unused replicas may be evicted when their node is short of disk. Default Never. */
  evictionPolicy?: 'Never' | 'LeastRecentlyUsed'
  mover?: MoverOverrides
}

/** Of the pods that move the data of a volume. */
export interface MoverOverrides {
  /** Another image that keeps the movers' contract (docs/movers.md). Has to be allowed by the configuration. */
  image?: string
  priorityClassName?: string
  resources?: ResourceRequirements
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
  /** The generation of the spec that the rest of the status speaks of. */
  observedGeneration?: number
  /** As many volumes as are ready, of all; for people. */
  ready?: string
  /** The nodes with all of the data of a volume, of many the first; for people. */
  nodes?: string
  volumes?: VolumeStatus[]
  conditions?: Condition[]
}

/** By what a pod mounts a volume: one of the two. */
export interface PublishedSource {
  hostPath?: { path: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
}

export interface VolumeStatus {
  id: string
  /** `success` when it can be used; what is wrong when it failed. */
  message?: string
  /** Stands before the data is there, and does not change while the source stays the same. Absent once the data is released. */
  volumeSource?: PublishedSource
  /** The nodes that have the data, required by pods that mount it. Empty when every node can mount it (NFS). */
  nodeAffinity: NodeAffinity
  /** Of a volume with a distribution strategy: the nodes that have each of its parts. */
  shards?: ShardStatus[]
  /** A digest of the source that the data is read from: data of another revision is other data. */
  revision?: string
  readyReplicas?: number
  /** How much the data is on one node, the largest of the replicas that are ready. */
  bytes?: number
  replicas?: ReplicaStatus[]
  /** The index of the next new replica: none is given twice, so that no replica mistakes the mover of another for its own. */
  nextIndex?: number
  /** Data that is to be deleted. */
  deletions?: DeletionStatus[]
}

export interface ShardStatus {
  /** Its pattern in the distribution strategy, e.g. `*0_1*`. */
  name: string
  nodeAffinity: NodeAffinity
  readyReplicas: number
}

/**
 * Queued: waits for a turn. Starting: its mover is not running yet. Downloading: it is. Ready: the data can be used. Failed: an attempt
 * failed, the next one is at `retryTime`. Unreachable: the data is on a node that does not answer. Evicted: deleted because its node was
 * short of disk; it comes back when a pod needs it.
 */
export type ReplicaState = 'Queued' | 'Starting' | 'Downloading' | 'Ready' | 'Failed' | 'Unreachable' | 'Evicted'

export interface ReplicaStatus {
  /** Stays with the replica; part of the names of its movers. */
  index: number
  state: ReplicaState
  revision: string
  /** The directory on its node; NFS has none. */
  path?: string
  shard?: string
  /** Where it is, or is about to be. */
  node?: string
  /** Of the Node: one that was made anew under its old name may have lost its disk. */
  nodeUID?: string
  /** The number of its mover, which counts up for as long as the replica exists. */
  attempt: number
  /** How many attempts failed in a row. */
  failures?: number
  /** Whether further attempts fail in the same way until something changes. */
  isPermanent?: boolean
  /** The bytes that are there. */
  bytes?: number
  /** The bytes that are to be there, where the mover knows. */
  totalBytes?: number
  /** Why it is in this state: one CamelCase word and a sentence. */
  reason?: string
  message?: string
  /** Since when it has been in this state. */
  since?: string
  /** When bytes were last seen to arrive. */
  progressTime?: string
  /** When a failed one is tried again. */
  retryTime?: string
  /** Whether a pod has it mounted right now. */
  inUse?: boolean
  /** When a pod was last seen to begin or end using it. */
  lastUsedTime?: string
  /** Up to which end, by the clock of its node, pods that used it and have ended are accounted for. */
  lastEndTime?: string
  /** Up to when its changes were written back to the source (option `resync`). */
  uploadedTime?: string
  /** How many movers were started to write back, ever. */
  uploads?: number
  upload?: UploadStatus
}

/** How far a mover that writes back or deletes is, while it is at work. */
export interface RecordedProgress {
  /** The work that the mover reports as done. */
  bytes?: number
  files?: number
  /** When it was last seen to get on, first of all by running. */
  progressTime?: string
}

/** Of changes that are to be written back. Queued: they wait for a turn. Uploading: a mover writes them. Failed: it is tried again. */
export interface UploadStatus extends RecordedProgress {
  state: 'Queued' | 'Uploading' | 'Failed'
  attempt: number
  failures?: number
  /** Why it is in this state: one CamelCase word and a sentence. */
  reason?: string
  message?: string
  since?: string
  retryTime?: string
}

/**
 * Waiting: something is in the way, a pod that uses the data above all. Queued: waits for a turn. Deleting: a mover deletes it. Failed:
 * that failed, and is tried again.
 */
export type DeletionState = 'Waiting' | 'Queued' | 'Deleting' | 'Failed'

export interface DeletionStatus extends RecordedProgress {
  /** From the same numbers as those of replicas. */
  index: number
  node: string
  /** The directory on the node. */
  path: string
  /** The label of the node that has to go. */
  nodeLabels: string[]
  state: DeletionState
  /** Which data it is. */
  revision: string
  /** Why the data is deleted: ScaledDown, Superseded, Moved, Evicted, Abandoned, NoSpace or Removed. */
  cause: string
  attempt: number
  failures?: number
  /** Why it is in this state: one CamelCase word (InUse, NodeLabel, MoverRunning, or the code of a failed mover) and a sentence. */
  reason?: string
  message?: string
  since?: string
  retryTime?: string
}

export const volumeManagers: ResourceType<VolumeManager> = {
  group: 'vck.intelai.org',
  version: 'v1alpha1',
  kind: 'VolumeManager',
  plural: 'volumemanagers',
  namespaced: true,
}
