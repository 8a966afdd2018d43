/** The input of a plan for a VolumeManager: everything that the decision depends on, including the time. */
import type { K8sObject } from '../../api/meta.ts'
import type { Node } from '../../api/node.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/persistent-volume.ts'
import type { Pod } from '../../api/pod.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { Present } from '../../base/time/clock-jumps.ts'
import type { VolumeSettings } from './rules/settings.ts'

export interface VolumeManagerInput extends Present {
  manager: VolumeManager
  /** Whether all VolumeManagers of the cluster are being deleted. */
  isLast?: boolean
  /** Whether a VolumeManager with this key (`ownerKey`) exists. */
  isManaged: (owner: string) => boolean
  settings: VolumeSettings
  nodes: NodeLookup
  /** The mover Pods of this VolumeManager by name, including Pods that have ended and Pods that the cache does not have yet. */
  movers: ReadonlyMap<string, Pod>
  /** Why the API server rejected movers, by Pod name. */
  refusals: ReadonlyMap<string, string>
  /** Why the API server rejected the last writes of other objects, by the object (rejected-writes.ts); absent if it rejected none. */
  rejections?: ReadonlyMap<string, string>
  /** The last reports of running movers, by Pod name. */
  progress: ReadonlyMap<string, MoverProgress>
  /**
   * Returns the pods that mount data of this VolumeManager and have not ended. The argument is a directory of nodes or the name of a claim.
   */
  users: (directoryOrClaim: string) => readonly VolumeUser[]
  /**
   * The ids of the volumes for which work waits without pods. Kueue creates them when the data is ready, and a DaemonSet has them only on nodes
   * with the data. Absent without evicted data.
   */
  awaited?: ReadonlySet<string>
  lastEnd: LastEnd
  /** The PersistentVolumes that Lodestone created for NFS volumes of this VolumeManager. */
  persistentVolumes: readonly PersistentVolume[]
  persistentVolumeClaims: readonly PersistentVolumeClaim[]
  /** Whether a PersistentVolume, or a claim in the namespace, has this name, no matter which client created it. */
  exists: (kind: 'PersistentVolume' | 'PersistentVolumeClaim', name: string) => boolean
  allowance: MoverAllowance
  /** The name of the mover that gives its slot to another namespace now. */
  preempted?: string | undefined
  /** The retry triggers since the creation of each mover that works or failed, by Pod name. */
  retryTriggers: ReadonlyMap<string, ReadonlySet<RetryTrigger>>
  /** Set while the namespace of the VolumeManager is being deleted: the API server rejects every new object in it, Events too. */
  terminating?: TerminatingNamespace | undefined
}

/**
 * - secret: a Secret that the VolumeManager names was created or changed.
 * - spec: the spec of the VolumeManager was changed, or the VolumeManager was deleted.
 * - node: a node was added, recovered or has free disk again.
 * - namespace: a pod left the namespace of movers that the API server rejected, or the Namespace changed. A quota may be free now.
 */
export type RetryTrigger = 'secret' | 'spec' | 'node' | 'namespace'

export interface TerminatingNamespace {
  namespace: K8sObject
  /** Why no mover of the VolumeManager can be created; absent if they are in another namespace. */
  refusal?: string
}

export interface NodeLookup {
  get(name: string): Node | undefined
  all(): Iterable<Node>
  /** The nodes that have a label of this VolumeManager. */
  labelled(): readonly Node[]
}

export interface MoverProgress {
  attempt: number
  bytes: number
  totalBytes?: number
  files: number
  /** The rate in the last window of 5 minutes; undefined before the end of the first one. */
  bytesPerSecond?: number
}

/**
 * Returns when the last pod that mounted a directory of a node ended, by the clock of that node. Returns undefined when the cache has no
 * such pod.
 */
export type LastEnd = (node: string, directory: string) => string | undefined

export interface VolumeUser {
  /** `namespace/name` of the pod. */
  pod: string
  /** Absent while the pod waits for a node, or at a scheduling gate. */
  node?: string
  /** When the kubelet accepted the pod, by the clock of the node. */
  startTime?: string
}

/** The movers that a VolumeManager may start now. */
export interface MoverAllowance {
  /** How many of them. */
  slots: number
  /** How many of them on the node of their data; none on a node that is missing. Other movers may run on any node. */
  onNodes: ReadonlyMap<string, number>
  /** The movers of all VolumeManagers that have not ended. They occupy per-node slots. */
  active: readonly Pod[]
}
