/** The input of a plan for a VolumeManager: everything that the decision depends on, including the time. */
import type { Node } from '../../api/node.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/persistent-volume.ts'
import type { Pod } from '../../api/pod.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { VolumeSettings } from './spec/settings.ts'

export interface VolumeManagerInput {
  manager: VolumeManager
  settings: VolumeSettings
  nodes: NodeLookup
  /** The movers of this VolumeManager by name, including those that ended, and those that only the API server has yet. */
  movers: ReadonlyMap<string, Pod>
  /** Why the API server rejected movers, by the names of their Pods. */
  refusals: ReadonlyMap<string, string>
  /** The last reports of running movers, by the names of their Pods. */
  progress: ReadonlyMap<string, MoverProgress>
  /** The pods that have data of this VolumeManager mounted and have not ended, by the directory or the name of the claim. */
  users: (directoryOrClaim: string) => readonly VolumeUser[]
  lastEnd: LastEnd
  /** Those of this VolumeManager, for NFS. */
  persistentVolumes: readonly PersistentVolume[]
  persistentVolumeClaims: readonly PersistentVolumeClaim[]
  allowance: MoverAllowance
  /** The changes since the creation of each mover that works or failed, by the names of their Pods. */
  retryTriggers: ReadonlyMap<string, ReadonlySet<RetryTrigger>>
  now: number
}

/** `secret`: a Secret that the VolumeManager names was created or changed. `node`: a node was added, recovered or has free disk again. */
export type RetryTrigger = 'secret' | 'node'

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
}

/**
 * When the last pod ended that had a directory of a node mounted, by the clock of that node. Undefined when no such pod exists, or exists
 * any more.
 */
export type LastEnd = (node: string, directory: string) => string | undefined

export interface VolumeUser {
  /** `namespace/name` of the pod. */
  pod: string
  /** Absent while the pod waits for a node, or at a scheduling gate. */
  node?: string
}

/** How many movers may start now. */
export interface MoverAllowance {
  slots: number
  /** The movers of all VolumeManagers that have not ended; they take per-node slots. */
  active: readonly Pod[]
}
