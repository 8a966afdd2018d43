/** Lines about the volumes that a pod, or the pods of a workload, request. */
import { objectKey } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { defined } from '../../base/json.ts'
import { mustWait } from '../../core/workload/decide-pod.ts'
import {
  type MountableVolumes,
  mountableVolumes,
  type VolumeManagerLookup,
} from '../../core/workload/injection/mountable-volumes.ts'
import { resolveRequests, type WantedVolume } from '../../core/workload/requests/resolve.ts'
import type { PlacedRequest } from '../../core/workload/requests/volume-requests.ts'
import { firstNames } from './lists.ts'
import type { Context } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readManager, replicaNode } from './volume.ts'

export interface RequestedVolumes {
  managers: VolumeManagerLookup
  /** One line for each volume. */
  nodes: TreeNode[]
  /** The errors of the requests and of their VolumeManagers. */
  problems: TreeNode[]
  /** Whether a required volume is not ready. */
  mustWait: boolean
}

/** Reads only the VolumeManagers that the requests name. */
export async function readRequested(
  requests: readonly PlacedRequest[],
  namespace: string | undefined,
  context: Context,
): Promise<RequestedVolumes> {
  const names = [...new Set(requests.map(({ request }) => request.name))]
  const found = await Promise.all(names.map((name) => readManager(context, namespace, name)))
  const stored = new Map(
    found.flatMap((read) => (read ? [[read.manager.metadata.name ?? '', read.manager] as const] : [])),
  )
  const managers = (name: string): MountableVolumes | undefined => {
    const manager = stored.get(name)
    return manager && mountableVolumes(manager, context.config.volumes)
  }
  const { wanted, errors, unusable } = resolveRequests(requests, managers)
  return {
    managers,
    nodes: wanted.map((volume) => requestNode(volume, stored.get(volume.request.name), namespace, context.now)),
    problems: [...errors, ...unusable].map(({ path, message }) => ({ text: `${path}: ${message}` })),
    mustWait: wanted.some(mustWait),
  }
}

/** A requested volume, how the pod mounts it, and while it is not ready its replicas. */
function requestNode(
  { request, volume, source }: WantedVolume,
  manager: VolumeManager | undefined,
  namespace: string | undefined,
  now: number,
): TreeNode {
  const status = manager?.status?.volumes?.find(({ id }) => id === volume.id)
  const place = source.hostPath?.path ?? source.persistentVolumeClaim?.claimName
  const at = request['mount-path'] ?? request.containers?.find((container) => container['mount-path'])?.['mount-path']
  const isWaiting = volume.state === 'Waiting'
  return defined({
    kind: volumeManagers.kind,
    namespace: namespace || undefined,
    name: request.name,
    text: `VolumeManager ${objectKey(namespace, request.name)}, volume ${volume.id} (${request.enforcement ?? 'Required'}): ${volume.state}`,
    state: volume.state,
    nodes: volume.nodes,
    children: [
      ...(at && place ? [{ text: `mounted at ${at} from ${place}` }] : []),
      ...(volume.nodes.length > 0 ? [{ text: `on ${firstNames(volume.nodes)}`, nodes: volume.nodes }] : []),
      ...(isWaiting ? [{ text: volume.message || 'it has no status yet' }] : []),
      ...(isWaiting ? (status?.replicas ?? []).slice(0, 10).map((replica) => replicaNode(replica, now)) : []),
    ],
  })
}
