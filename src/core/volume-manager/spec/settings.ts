/** What the configuration says of volumes. */
import type { ResourceRequirements } from '../../../api/volume-manager.ts'
import type { VolumeLimits } from './problem.ts'

export interface VolumeSettings extends VolumeLimits {
  movers: {
    image: string
    /** In the namespace of each VolumeManager; made there with the right to write Events, and no other. */
    serviceAccountName: string
    imagePullSecrets: string[]
    priorityClassName?: string
    resources: ResourceRequirements
    /** How much of a node's disk a download leaves free. */
    keepFree: string
    /** At most so many movers at once, in all and on one node. */
    maxInAll: number
    maxPerNode: number
    /** How long a mover may take to begin: to find a node, get its image and mount what it needs. */
    prepareTimeoutSeconds: number
    /** How long a download may go without a byte, and any other mover without a byte or a file. */
    progressTimeoutSeconds: number
    /** How many of the last lines of a mover's log are taken over into ours when it ends; 0 for none. */
    logLines: number
  }
  /** A node that has not answered for this long has lost its replicas, until it answers again. */
  nodeLossSeconds: number
  eviction: {
    /** Whether unused replicas may go when a node is short of disk, of volumes that allow it. */
    enabled: boolean
    /** Between two of them on one node: the kubelet takes minutes to say that there is room again. */
    pauseSeconds: number
  }
}
