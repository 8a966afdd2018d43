/** The status of one volume: its replicas, their uploads, checks and refreshes, and its deletions. */
import type { NodeAffinity } from './node.ts'

/** The volume source with which a pod mounts a volume: exactly one field is set. */
export interface PublishedSource {
  hostPath?: { path: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
}

export interface VolumeStatus {
  id: string
  /** `success` if the volume is ready; the error if it failed. */
  message?: string
  /** Set before the data is ready. It changes only with the source, and is absent after the data is released. */
  volumeSource?: PublishedSource
  /** The nodes that have the data; pods that mount it require them. Empty if every node can mount it (NFS). */
  nodeAffinity: NodeAffinity
  /** Only with a distribution strategy: the nodes that have each part. */
  shards?: ShardStatus[]
  /** A digest of the source of the data. Different revisions mean different data. */
  revision?: string
  readyReplicas?: number
  /** The size of the data on one node: the largest of the ready replicas. */
  bytes?: number
  replicas?: ReplicaStatus[]
  /** The index of the next new replica. Each index is used once, so that a replica never uses the mover of another one. */
  nextIndex?: number
  /** Data that must be deleted. */
  deletions?: DeletionStatus[]
}

export interface ShardStatus {
  /** Its pattern in the distribution strategy, e.g. `*0_1*`. */
  name: string
  nodeAffinity: NodeAffinity
  readyReplicas: number
}

/**
 * - Queued: waits for a slot.
 * - Starting: its mover is not running yet.
 * - Downloading: its mover runs.
 * - Ready: the data can be used.
 * - Failed: an attempt failed; the next one follows at `retryTime`.
 * - Unreachable: the node with the data does not respond.
 * - Evicted: deleted because its node was short of disk; downloaded again when a pod needs it.
 */
export type ReplicaState = 'Queued' | 'Starting' | 'Downloading' | 'Ready' | 'Failed' | 'Unreachable' | 'Evicted'

/** The failures of movers on one node, for one reason. */
export interface NodeFailure {
  node: string
  /** The code of the failure, as one CamelCase word. */
  reason: string
  /** The number of failures since the last one that left more data on the node. */
  failures: number
  /** The bytes that the last failed mover left on the node. */
  bytes?: number
  /** When the back-off of the node ends. Other nodes are tried first, also after it. */
  retryTime: string
}

/**
 * The data of one shard, or all data, on one node. Its status is a flat list of fields. They belong to four state machines, each in a file
 * of its name in `core/volume-manager/replica/`, beside the identity of the data.
 */
export interface ReplicaStatus
  extends ReplicaIdentity,
    ReplicaDownload,
    ReplicaUse,
    ReplicaUpload,
    ReplicaMaintenance {}

/** The data that a replica has, or gets. It never changes, except for `claimName`. */
export interface ReplicaIdentity {
  /** It is part of the names of the replica's movers. */
  index: number
  revision: string
  /** The directory on its node; absent for NFS. */
  path?: string
  shard?: string
  /** The PersistentVolumeClaim with which pods mount it; absent for hostPath. */
  claimName?: string
}

/** The download: how the data comes to a node, and whether it is still there. */
export interface ReplicaDownload {
  state: ReplicaState
  /** The node that has the replica or will get it. */
  node?: string
  /** The uid of the Node. If a Node is recreated with the same name, its disk may be new. */
  nodeUID?: string
  /** The number of its mover. It increases as long as the replica exists. */
  attempt: number
  /** The number of failed attempts in a row. */
  failures?: number
  /** How often its movers were preempted, since it was last complete. */
  preemptions?: number
  /** The nodes on which movers of this replica failed: other nodes are tried first. */
  nodeFailures?: NodeFailure[]
  /** Whether further attempts would fail in the same way until something changes. */
  isPermanent?: boolean
  /** The bytes on the node. */
  bytes?: number
  /** The total bytes of the data, if the mover knows them. */
  totalBytes?: number
  /** The reason for the state: one CamelCase word; `message` is a sentence. */
  reason?: string
  message?: string
  /** The time at which the state began. */
  since?: string
  /** The time at which the downloaded bytes last increased. */
  progressTime?: string
  /** The time of the next attempt after a failure. */
  retryTime?: string
  /** Whether a check found that data is lost: the next mover verifies the files that are left. */
  isDamaged?: boolean
  /** Whether its node was replaced by one of the same name, and no mover has looked yet whether the data is still there. */
  isUnchecked?: boolean
}

/** The use of the data by pods. */
export interface ReplicaUse {
  /** Whether a pod mounts it now. */
  inUse?: boolean
  /** The last observed time at which a pod began or ended to use it. */
  lastUsedTime?: string
  /** The ends of pods that used it are processed up to this time, by the clock of its node. */
  lastEndTime?: string
}

/** The uploads of changes to the source (option `resync`). */
export interface ReplicaUpload {
  /** The upload that waits, runs or failed; absent if there is nothing to upload. */
  upload?: UploadStatus
  /** A digest of the source to which changes are uploaded. A changed spec does not change it. Absent if changes are not uploaded. */
  uploadSource?: string
  /** Changes until this time were uploaded to the source. */
  uploadedTime?: string
  /** The total number of movers that were started to upload changes. */
  uploads?: number
}

/** The checks and refreshes of the data. */
export interface ReplicaMaintenance {
  /** The check or the refresh that waits, runs or failed. */
  maintenance?: MaintenanceStatus
  /** The total number of movers that were started for maintenance. */
  maintenances?: number
  /** When the data was last checked, or compared with its source. */
  checkedTime?: string
  refreshedTime?: string
  /** A digest of the boot of its node in which the data was last seen to be there, by its download or a check. */
  checkedBoot?: string
  /** Digests of the requests (annotations) that were handled. */
  handledCheck?: string
  handledRefresh?: string
  /** When the last check that an annotation requested ended. */
  requestedCheckTime?: string
  /** The number of replaced trees that running pods may still use, and the time of the last replacement by the clock of the node. */
  oldTrees?: number
  replacedTime?: string
}

/** The progress of a mover that uploads or deletes, while it runs. */
export interface RecordedProgress {
  /** The amount of work that the mover reports as done. */
  bytes?: number
  files?: number
  /** The last time at which progress was observed; at first, the time at which the mover ran. */
  progressTime?: string
}

/**
 * A check or a refresh. Queued: waits for a slot. Running: a mover does it. Failed: it could not be done, which says nothing about the data;
 * the next attempt follows at `retryTime`.
 */
export interface MaintenanceStatus extends RecordedProgress {
  kind: 'Check' | 'FullCheck' | 'Refresh'
  state: 'Queued' | 'Running' | 'Failed'
  attempt: number
  /** The digest of the annotation that requested it. */
  request?: string
  failures?: number
  /** How often its movers were preempted. */
  preemptions?: number
  reason?: string
  message?: string
  since?: string
  retryTime?: string
}

/** The upload of changes. Queued: waits for a slot. Uploading: a mover uploads them. Failed: the next attempt follows at `retryTime`. */
export interface UploadStatus extends RecordedProgress {
  state: 'Queued' | 'Uploading' | 'Failed'
  attempt: number
  failures?: number
  /** How often its movers were preempted. */
  preemptions?: number
  /** Whether further attempts would fail in the same way until something changes. */
  isPermanent?: boolean
  /** Why the last attempt failed, while the next one waits or runs. */
  lastFailure?: string
  /** The reason for the state: one CamelCase word; `message` is a sentence. */
  reason?: string
  message?: string
  since?: string
  retryTime?: string
}

/**
 * - Waiting: the deletion is not possible yet, usually because a pod uses the data.
 * - Queued: waits for a slot.
 * - Deleting: a mover deletes the data.
 * - Failed: the last attempt failed; the next one follows at `retryTime`.
 */
export type DeletionState = 'Waiting' | 'Queued' | 'Deleting' | 'Failed'

export interface DeletionStatus extends RecordedProgress {
  /** A number from the sequence of the replicas' indexes. */
  index: number
  node: string
  /** The directory on the node. */
  path: string
  /** The node labels to remove before the deletion. */
  nodeLabels: string[]
  state: DeletionState
  /** The revision of the data. */
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
