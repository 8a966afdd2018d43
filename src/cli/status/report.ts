/** The answer of `lodestone status`, as `-o json` prints it. docs/reference/status.schema.json is its JSON Schema. */
import type { ObjectReference } from '../../api/meta.ts'
import type { OUTPUT_API_VERSION } from '../output.ts'

/** The lists that the options select, each sorted by name. */
export interface StatusReport {
  apiVersion: typeof OUTPUT_API_VERSION
  kind: 'Status'
  claims?: ClaimReport[]
  holds?: HoldReport[]
  volumes?: VolumeReport[]
  sources?: SourceReport[]
  systems?: SystemReport[]
}

export type Section = Exclude<keyof StatusReport, 'apiVersion' | 'kind'>

export interface ClaimReport {
  namespace: string
  name: string
  phase: string
  system: string
  dataSourceType: string
  dataSourceName: string
  enforcement: 'Required' | 'Preferred'
  workload: ObjectReference
  /** The DataSource with the location of the data. */
  source?: string
  location: 'Located' | 'Nowhere' | 'Unknown' | 'NotPermitted'
  /** The clusters with the data. */
  clusters: string[]
  /** Why the data has no location in our clusters, or why the claim is not permitted. */
  message?: string
}

export interface HoldReport {
  /** The workload, or the pod with a scheduling gate. */
  workload: ObjectReference
  /** The binding of the workload; absent for a pod. */
  binding?: string
  /** A hold cause; for a pod the reason of its gate, such as `VolumesNotReady`. */
  reason: string
  message: string
  /** When the hold began; absent if it is only predicted, for an object of a folder. */
  since?: string
  /** The id of the hold; absent if it is only predicted, and for a pod without a request. */
  decisionId?: string
}

export interface VolumeReport {
  namespace: string
  /** The name of the VolumeManager. */
  volumeManager: string
  /** The id of the volume. */
  volume: string
  sourceType: string
  /** Running: the volume can be used. */
  state: 'Pending' | 'Running' | 'Completed' | 'Failed'
  readyReplicas: number
  /** The number of wanted replicas; for a volume on every node, of those that exist. */
  replicas: number
  /** The nodes with complete data. */
  nodes: string[]
  /** The size of the data on one node. */
  bytes?: number
  /** Why the volume has fewer replicas than wanted: a reason of a replica, and a sentence. */
  reason?: string
  message?: string
}

export interface SourceReport {
  name: string
  system: string
  type: string
  dataName: string
  phase: string
  /** The clusters with the data; absent as long as they are unknown. */
  clusters?: string[]
  location?: string
  bytes?: number
  bytesAreMinimum?: boolean
  lastResolvedTime?: string
  lastError?: string
}

export interface SystemReport {
  name: string
  sources: number
  /** The number of sources whose last query failed. */
  staleSources: number
  health: 'Healthy' | 'Unhealthy' | 'NeverQueried' | 'NotConfigured' | 'InvalidConfiguration'
  message?: string
  /** Since when the system is unhealthy. */
  since?: string
  /** Fields of its file that are ignored, and keys of `locationMapping` that match no location of its sources. */
  warnings?: string[]
}
