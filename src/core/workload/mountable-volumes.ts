/** The volumes of a VolumeManager for pods: whether each can be used, how it is mounted, and where its data is. */
import type { NodeAffinity } from '../../api/node.ts'
import type { VolumeSource } from '../../api/pod.ts'
import type { VolumeConfig, VolumeManager, VolumeStatus } from '../../api/volume-manager.ts'
import { isUsable } from '../volume-manager/replica/replica.ts'
import { type HostRoots, hostPathFault } from '../volume-manager/spec/host-paths.ts'
import { isReadOnly, publishShards, publishVolume } from '../volume-manager/spec/published.ts'
import { revisionOf } from '../volume-manager/spec/source-types.ts'
import { isDeployed } from '../volume-manager/status/codes.ts'

/** Part of a volume that has nodes of its own (`distributionStrategy`). */
export interface VolumeShard {
  name: string
  nodeAffinity: NodeAffinity
  /** The nodes that have it now. */
  nodes: readonly string[]
}

export interface UsableVolume {
  id: string
  /** `Waiting`: its data is on the way. */
  state: 'Ready' | 'Waiting'
  /** The message of its status; empty without a status. */
  message: string
  /** How a pod mounts it; known before its data is there. Absent for an invalid source. */
  source?: VolumeSource
  /** Where its data is or will be; without required terms it is everywhere. */
  nodeAffinity: NodeAffinity
  /** Whether pods can only read it: then all of their mounts are read-only. */
  readOnly: boolean
  bytes?: number
  /** The nodes that have it now; empty also where the nodes are not recorded. */
  nodes: readonly string[]
  /** The parts of the volume. They are computed on demand: most pods request none, and each name takes a digest. */
  shards: () => readonly VolumeShard[]
}

export interface MountableVolumes {
  name: string
  /** Why none of its volumes can be used: it failed, was completed, or is being deleted. */
  refusal?: string
  /** In the order of its spec: a request without an id gets the first. */
  volumes: readonly UsableVolume[]
}

/** Finds a VolumeManager of the pod's own namespace; undefined when there is none. */
export type VolumeManagerLookup = (name: string) => MountableVolumes | undefined

/**
 * Reads the volumes of a VolumeManager from its status, and from its spec where the status has no entry yet.
 *
 * @param roots where `Local` volumes may be; one that was stored elsewhere before is not mounted
 */
export function mountableVolumes(manager: VolumeManager, roots?: HostRoots): MountableVolumes {
  const refusal = refusalOf(manager)
  return {
    name: manager.metadata.name ?? '',
    ...(refusal && { refusal }),
    volumes: (manager.spec?.volumeConfigs ?? []).map((config) => {
      const status = manager.status?.volumes?.find(({ id }) => id === config.id)
      // The pod does not request data of an older source than the one in the spec.
      const isCurrent = status?.revision === undefined || status.revision === revisionOf(config)
      return mountableVolume(manager, config, isCurrent ? status : undefined, roots)
    }),
  }
}

function refusalOf({ metadata, spec, status }: VolumeManager): string | undefined {
  if (metadata.deletionTimestamp) return 'it is being deleted'
  if (spec?.state === 'Completed' || status?.state === 'Completed') return 'it is Completed, and its data is deleted'
  if (spec?.state === 'Failed') return 'its spec.state is Failed'
  const { generation } = metadata
  const isOld = generation !== undefined && (status?.observedGeneration ?? generation) < generation
  return status?.state === 'Failed' && !isOld ? (status.message ?? 'it has failed') : undefined
}

function mountableVolume(
  manager: VolumeManager,
  config: VolumeConfig,
  status: VolumeStatus | undefined,
  roots: HostRoots | undefined,
): UsableVolume {
  const published = publishVolume(manager, config)
  const source = status?.volumeSource ?? published.volumeSource
  const ready = (status?.replicas ?? []).filter((replica) => isUsable(replica, config.sourceType))
  const nodesOf = (replicas: typeof ready) => replicas.flatMap(({ node }) => node ?? [])
  const mountableShards = () =>
    publishShards(manager, config).map(({ name, nodeAffinity }) => ({
      name,
      nodeAffinity: status?.shards?.find((shard) => shard.name === name)?.nodeAffinity ?? nodeAffinity,
      nodes: nodesOf(ready.filter(({ shard }) => shard === name)),
    }))
  let shards: VolumeShard[] | undefined
  return {
    id: config.id,
    state: isDeployed(status) && status?.volumeSource ? 'Ready' : 'Waiting',
    message: status?.message ?? '',
    ...(source.hostPath?.path !== '' && mayMount(config, roots) && { source }),
    nodeAffinity: status?.volumeSource ? status.nodeAffinity : published.nodeAffinity,
    readOnly: isReadOnly(config),
    ...(status?.bytes !== undefined && { bytes: status.bytes }),
    nodes: nodesOf(ready),
    shards() {
      shards ??= mountableShards()
      return shards
    },
  }
}

function mayMount({ sourceType, options }: VolumeConfig, roots: HostRoots | undefined): boolean {
  if (sourceType !== 'Local' || roots === undefined) return true
  return hostPathFault(options?.['path'] ?? '', 'local', roots) === undefined
}
