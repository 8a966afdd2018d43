/** The volumes of a VolumeManager for pods: whether a pod can mount each, how it is mounted, and which nodes have its data. */

import { NOT_OBSERVED } from '../../../api/meta.ts'
import type { NodeAffinity } from '../../../api/node.ts'
import type { VolumeSource } from '../../../api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { isTrue } from '../../../base/conditions.ts'
import { defined } from '../../../base/json.ts'
import { isDeployed } from '../../volume-manager/codes.ts'
import { listConfigs, listVolumes } from '../../volume-manager/known-status.ts'
import { isUsable } from '../../volume-manager/replica/download.ts'
import { wantedReplicas } from '../../volume-manager/rules/distribution.ts'
import { type HostRoots, hostPathFault } from '../../volume-manager/rules/host-paths.ts'
import { replicaClaimName } from '../../volume-manager/rules/names.ts'
import { hasReplicaClaims, isReadOnly, publishShards, publishVolume } from '../../volume-manager/rules/published.ts'
import { revisionOf } from '../../volume-manager/rules/source-types.ts'

/** A shard of a volume with its own nodes (`distributionStrategy`). */
export interface VolumeShard {
  name: string
  nodeAffinity: NodeAffinity
  /** The nodes that have the shard now. */
  nodes: readonly string[]
}

/** The claim for one replica of a volume. Its PersistentVolume is on the node of the replica. */
export interface ReplicaClaim {
  claimName: string
  shard?: string
  /** The node of the replica, if pods can use it there now. */
  node?: string
}

export interface UsableVolume {
  id: string
  /** `Waiting`: its data is not ready yet. */
  state: 'Ready' | 'Waiting'
  /** Whether it has data that was deleted for free disk, which returns when a pod waits for it; absent if not. */
  isEvicted?: true
  /** The message of its status; empty if it has no status. */
  message: string
  /** How a pod mounts it; known before the data is ready. Absent if the source is invalid. */
  source?: VolumeSource
  /** The nodes that have or will have the data; without required terms, these are all nodes. */
  nodeAffinity: NodeAffinity
  /** Whether pods can only read it. Then all of their mounts are read-only. */
  readOnly: boolean
  bytes?: number
  /** The nodes that have it now; empty if the status does not record nodes. */
  nodes: readonly string[]
  /** One for each replica, ready or not. Absent for a volume that pods mount from the directory of their node, or by one claim (NFS). */
  claims?: readonly ReplicaClaim[]
  /** The shards of the volume, computed on demand: most pods request no shard, and each name needs a digest. */
  shards: () => readonly VolumeShard[]
}

export interface MountableVolumes {
  name: string
  /** Why no pod can use its volumes: it failed, was completed, or is being deleted. */
  refusal?: string
  /** In the order of the spec: a request without an id gets the first volume. */
  volumes: readonly UsableVolume[]
}

/** A volume has at most this many replicas (volume-rules.ts), also if its spec was never validated. */
const MAX_PLANNED = 1000

/** Finds a VolumeManager in the pod's own namespace; undefined if none exists. */
export type VolumeManagerLookup = (name: string) => MountableVolumes | undefined

/**
 * Reads the volumes of a VolumeManager from its status. If the status has no entry for a volume yet, its spec is used.
 *
 * @param roots the allowed paths of `Local` volumes; a volume that was stored outside of them earlier is not mounted
 */
export function mountableVolumes(manager: VolumeManager, roots?: HostRoots): MountableVolumes {
  const refusal = managerRefusal(manager)
  const known = listVolumes(manager)
  return defined({
    name: manager.metadata.name ?? '',
    refusal: refusal || undefined,
    volumes: listConfigs(manager).map((config) => {
      const status = known.find(({ id }) => id === config.id)
      // The status of an older source is ignored: the pod requests the data of the source in the spec.
      const isCurrent = status?.revision === undefined || status.revision === revisionOf(config)
      return mountableVolume(manager, config, isCurrent ? status : undefined, roots)
    }),
  })
}

function managerRefusal({ metadata, spec, status }: VolumeManager): string | undefined {
  if (metadata.deletionTimestamp) return 'it is being deleted'
  if (spec?.state === 'Completed' || status?.state === 'Completed') return 'it is Completed, and its data is deleted'
  if (spec?.state === 'Failed') return 'its spec.state is Failed'
  const { generation } = metadata
  const { observedGeneration = NOT_OBSERVED } = status ?? {}
  // Another controller, such as that of VCK, does not write it.
  const isObserved = observedGeneration !== NOT_OBSERVED
  const isOld = generation !== undefined && isObserved && observedGeneration < generation
  // Data whose changes are not written back is Failed and Ready.
  const hasFailed = status?.state === 'Failed' && !isTrue(status.conditions, 'Ready')
  return hasFailed && !isOld ? (status.message ?? 'it has failed') : undefined
}

function mountableVolume(
  manager: VolumeManager,
  config: VolumeConfig,
  status: VolumeStatus | undefined,
  roots: HostRoots | undefined,
): UsableVolume {
  const published = publishVolume(manager, config)
  const claims = hasReplicaClaims(config) ? replicaClaims(manager, config, status) : undefined
  const source = claims ? published.volumeSource : (status?.volumeSource ?? published.volumeSource)
  const ready = (status?.replicas ?? []).filter((replica) => isUsable(replica, config.sourceType))
  const replicaNodes = (replicas: typeof ready) => replicas.flatMap(({ node }) => node ?? [])
  const mountableShards = () =>
    publishShards(manager, config).map(({ name, nodeAffinity }) => ({
      name,
      nodeAffinity: status?.shards?.find((shard) => shard.name === name)?.nodeAffinity ?? nodeAffinity,
      nodes: replicaNodes(ready.filter(({ shard }) => shard === name)),
    }))
  let shards: VolumeShard[] | undefined
  return defined({
    id: config.id,
    state: isDeployed(status) && status?.volumeSource ? 'Ready' : 'Waiting',
    isEvicted: status?.replicas?.some(({ state }) => state === 'Evicted') || undefined,
    message: status?.message ?? '',
    source: source.hostPath?.path !== '' && mayMount(config, roots) ? source : undefined,
    nodeAffinity: status?.volumeSource ? status.nodeAffinity : published.nodeAffinity,
    readOnly: isReadOnly(config),
    bytes: status?.bytes,
    nodes: replicaNodes(ready),
    claims,
    shards() {
      shards ??= mountableShards()
      return shards
    },
  })
}

/**
 * The claims of the replicas in the status. Before the first status, they are those that the controller will add: their numbers follow
 * from the spec.
 */
function replicaClaims(manager: VolumeManager, config: VolumeConfig, status: VolumeStatus | undefined): ReplicaClaim[] {
  const revision = revisionOf(config)
  const claimName = (index: number) => replicaClaimName(manager, config.id, revision, index)
  const replicas = (status?.replicas ?? []).filter((replica) => replica.revision === revision)
  if (replicas.length > 0) {
    return replicas.map((replica) => {
      const { index, shard, node } = replica
      const isThere = node !== undefined && isUsable(replica, config.sourceType)
      return defined({ claimName: claimName(index), shard, node: isThere ? node : undefined })
    })
  }
  const shards = [...wantedReplicas(config)].flatMap(([shard, count]) =>
    Array<string | undefined>(Math.min(count, MAX_PLANNED)).fill(shard),
  )
  return shards
    .slice(0, MAX_PLANNED)
    .map((shard, i) => defined({ claimName: claimName((status?.nextIndex ?? 0) + i), shard }))
}

function mayMount({ sourceType, options }: VolumeConfig, roots: HostRoots | undefined): boolean {
  if (sourceType !== 'Local' || roots === undefined) return true
  return hostPathFault(options?.['path'] ?? '', 'local', roots) === undefined
}
