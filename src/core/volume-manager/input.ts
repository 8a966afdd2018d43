/** Everything that a plan for a VolumeManager starts from, the time included. */
import type { Node } from '../../api/node.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/persistent-volume.ts'
import type { Pod } from '../../api/pod.ts'
import type { VolumeManager } from '../../api/volume-manager.ts'
import type { VolumeSettings } from './spec/settings.ts'

export interface VolumeManagerInput {
  manager: VolumeManager
  settings: VolumeSettings
  nodes: NodeLookup
  /** The movers of this manager, finished ones included, by name. What is not here does not exist, so the cache alone will not do. */
  movers: ReadonlyMap<string, Pod>
  /** Why movers could not be made, by the names that their pods would have. */
  refusals: ReadonlyMap<string, string>
  /** What running movers last said, by the name of their pods. */
  progress: ReadonlyMap<string, MoverProgress>
  /** The pods that have data of this manager mounted, by the directory or the name of the claim. Ended ones are none. */
  users: (directoryOrClaim: string) => readonly VolumeUser[]
  lastEnd: LastEnd
  /** The volumes and claims of this manager, for NFS. */
  persistentVolumes: readonly PersistentVolume[]
  claims: readonly PersistentVolumeClaim[]
  allowance: MoverAllowance
  /** What changed since movers were made that are at work, or failed: by the names of their pods. */
  mended: ReadonlyMap<string, ReadonlySet<Mended>>
  now: number
}

/** A Secret that the manager names was made or changed; or a node came, came back, or has room on its disk again. */
export type Mended = 'secret' | 'node'

export interface NodeLookup {
  get(name: string): Node | undefined
  all(): Iterable<Node>
  /** The nodes that have a label of this manager. */
  labelled(): readonly Node[]
}

export interface MoverProgress {
  attempt: number
  bytes: number
  totalBytes?: number
  files: number
}

/**
 * When the last of the pods that had a directory of a node mounted, and have ended, did so: by the clock of that node. Undefined where
 * there is no such pod, or no more.
 */
export type LastEnd = (node: string, directory: string) => string | undefined

export interface VolumeUser {
  /** `namespace/name` of the pod. */
  pod: string
  /** Absent while it waits for a node, or at a gate. */
  node?: string
}

/** How many movers may be made now, in all and where. */
export interface MoverAllowance {
  slots: number
  /** Those of all VolumeManagers that have not ended. */
  active: readonly Pod[]
}
