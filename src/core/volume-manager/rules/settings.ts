/** The settings of volumes in the configuration, and its limits for the specs of users. */
import type { ResourceRequirements, VolumeManager } from '../../../api/volume-manager.ts'
import type { HostRoots } from './host-paths.ts'
import { DEFAULT_DATA_PATH } from './names.ts'

/** The limits of the configuration for the spec of a volume. */
export interface VolumeLimits extends HostRoots {
  /** Loopback and link-local networks in which endpoints of volumes may be. */
  allowedLocalNetworks: readonly string[]
  /** Images of other movers that a volume may name: a whole name, or a prefix that ends in `*`. */
  allowedMoverImages: readonly string[]
  movers: MoverLimits
}

/**
 * The choices of a volume for movers in a namespace that is not its own. In its own namespace, the rights and quotas of its users apply to
 * movers too.
 */
export interface MoverLimits {
  /** The namespace of all movers. Default: that of the VolumeManager. The limits below apply only with it. */
  namespace?: string
  /** PriorityClasses: a whole name, or a prefix that ends in `*`. */
  allowedPriorityClassNames: readonly string[]
  /** Keys of tolerations: a whole key, or a prefix that ends in `*`. */
  allowedTolerationKeys: readonly string[]
  /** ServiceAccounts: a whole name, or a prefix that ends in `*`. */
  allowedServiceAccountNames: readonly string[]
  /** The largest request and limit of each resource, as quantities. A volume may name no other resource. */
  maxResources: Readonly<Record<string, string>>
}

/** VCK's default directory, no Local volumes, no endpoints on the node, no other images, and movers in the namespace of the volume. */
export const DEFAULT_VOLUME_LIMITS: VolumeLimits = {
  allowedRoots: [DEFAULT_DATA_PATH],
  localRoots: [],
  localPaths: 'below',
  allowedLocalNetworks: [],
  allowedMoverImages: [],
  movers: {
    allowedPriorityClassNames: [],
    allowedTolerationKeys: [],
    allowedServiceAccountNames: [],
    maxResources: {},
  },
}

/** The namespace of the movers of a VolumeManager. */
export function moverNamespace(
  { metadata }: Pick<VolumeManager, 'metadata'>,
  { namespace }: Pick<VolumeSettings['movers'], 'namespace'>,
): string | undefined {
  return namespace ?? metadata.namespace
}

/** The namespace of the cluster's own components, for a Lodestone that runs outside of the cluster and has no namespace in it. */
const SYSTEM_NAMESPACE = 'kube-system'

/**
 * The namespaces in which the movers of a leftover may run: the first one that exists. That of its VolumeManager may be deleted. If another
 * tenant has created it again, a mover in it would show the data to that tenant.
 */
export function leftoverNamespaces(
  { namespace: tenant }: { namespace: string },
  { namespace, ownNamespace }: Pick<VolumeSettings['movers'], 'namespace' | 'ownNamespace'>,
): readonly [string, ...string[]] {
  if (namespace !== undefined) return [namespace]
  return ownNamespace === undefined ? [tenant] : [ownNamespace, SYSTEM_NAMESPACE]
}

export interface VolumeSettings extends VolumeLimits {
  movers: MoverLimits & {
    image: string
    /** The values of `kubernetes.io/arch` for which the image is built. */
    architectures: string[]
    /** The namespace of Lodestone, for leftovers if `namespace` is not set. It is that of the Lease; the configuration has no field for it. */
    ownNamespace?: string
    /** In the namespace of the movers. Lodestone creates it, and its only right is to write Events. */
    serviceAccountName: string
    imagePullSecrets: string[]
    /** STS for the roles of ServiceAccounts. Default: that of AWS, in the region that the cluster sets. */
    stsEndpoint?: string
    priorityClassName?: string
    resources: ResourceRequirements
    /** How much disk of a node a download leaves free, as a quantity. */
    keepFree: string
    /** The limits of concurrent movers, in the cluster and on one node. */
    maxInAll: number
    maxPerNode: number
    /** How long a mover may take to start: to get a node, its image and its mount. */
    prepareTimeoutSeconds: number
    /** How long a mover may run without progress. */
    progressTimeoutSeconds: number
    /** How long a mover may run while namespaces with fewer movers wait for its slot. */
    preemptAfterSeconds: number
    /** The rate below which it gives its slot earlier; 0 for none. */
    minBytesPerSecond: number
    /** Whether a download that no node can take has a Pod that stays Pending, so that an autoscaler adds a node. */
    awaitNewNodes: boolean
    /** How many of the last lines of a mover's log Lodestone logs when the mover ends; 0 for none. */
    logLines: number
  }
  /** The replicas of a node that is not ready for this long count as lost, until it is ready again. */
  nodeLossSeconds: number
  /** The deletion of a VolumeManager does not wait for nodes that are not ready for this long. */
  deletionNodeTimeoutSeconds: number
  checks: {
    /** How often the data of each replica is checked; 0 for never. */
    intervalSeconds: number
    /** The limit of one check. */
    timeoutSeconds: number
  }
  eviction: {
    /** Whether unused replicas are evicted when a node is short of disk, for volumes that allow it. */
    enabled: boolean
    /** The pause between two evictions on one node: the kubelet reports free disk only after minutes. */
    pauseSeconds: number
    /**
     * The use of a disk in percent from which unused replicas are deleted, until it is `lowWatermarkPercent`. Absent: only a shortage of disk
     * deletes replicas, and only those of volumes that allow it.
     */
    highWatermarkPercent?: number
    lowWatermarkPercent: number
    /** How long a replica was unused at least when a watermark deletes it. */
    minUnusedSeconds: number
  }
}
