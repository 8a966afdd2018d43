/** Replicas of volumes on nodes: their progress, the pods that use them, and why they wait. */
import { keyOfObject, objectKey } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../api/volume-status.ts'
import { defined } from '../../base/json.ts'
import type { CachedUse } from '../../store/kinds/volumes.ts'
import type { ObjectStore } from '../../store/store.ts'

type Fields = 'index' | 'state' | 'bytes' | 'totalBytes' | 'reason' | 'message' | 'since' | 'progressTime' | 'retryTime'

/** The data of a volume, or of a part of it, on one node. */
export interface ReplicaRow extends Pick<ReplicaStatus, Fields> {
  namespace: string
  /** The name of the VolumeManager. */
  volumeManager: string
  /** The id of the volume. */
  volume: string
  shard?: string
  /** Absent while no node is chosen. */
  node?: string
  /** The number of pods that mount it now, and the first of their names. */
  podCount: number
  pods: string[]
}

const PODS_SHOWN = 5

/** Reports the replicas of all VolumeManagers. */
export function replicaRows(store: ObjectStore): ReplicaRow[] {
  return [...store.list(volumeManagers)].flatMap((manager) => rowsOfManager(manager, store))
}

function rowsOfManager({ metadata, status }: VolumeManager, store: ObjectStore): ReplicaRow[] {
  const { namespace = '', name = '' } = metadata
  // The CRD of VCK allows any content.
  const volumes = Array.isArray(status?.volumes) ? status.volumes : []
  return volumes.flatMap(({ id, replicas }) =>
    (Array.isArray(replicas) ? replicas : []).map((replica) => {
      const { index, shard, node, state, bytes, totalBytes, reason, message, since, progressTime, retryTime } = replica
      const users = podsUsing(replica, namespace, store)
      return {
        namespace,
        volumeManager: name,
        volume: id,
        index,
        state,
        ...defined({ shard, node: node || undefined, bytes, totalBytes }),
        ...defined({ reason: reason || undefined, message: message || undefined, since, progressTime, retryTime }),
        podCount: users.length,
        pods: users.slice(0, PODS_SHOWN),
      }
    }),
  )
}

/** The pods on the node of a replica that mount its directory, or its claim. */
function podsUsing({ path, node, claimName }: ReplicaStatus, namespace: string, store: ObjectStore): string[] {
  const mounting: readonly (Pod & CachedUse)[] =
    claimName !== undefined
      ? store.byIndex(pods, 'claim', objectKey(namespace, claimName))
      : path === undefined
        ? []
        : store.byIndex(pods, 'directory', path)
  return mounting.filter(({ use }) => use?.node === node).map(keyOfObject)
}
