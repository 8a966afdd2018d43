/** Decides on which nodes the data of a replica does not fit, by its size and by the free disk that movers reported. */
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { parseBytes } from '../../../base/quantity.ts'
import { diskOf, rootOf } from '../nodes/disk.ts'
import { parseQuantity } from '../rules/options.ts'
import type { VolumeSettings } from '../rules/settings.ts'

/**
 * The size of the data of a replica: of the replicas that are complete, or as a mover listed it. Without both, `capacity` of the volume,
 * which is that of all its parts together. Undefined when nothing is known.
 */
export function sizeOf(
  { revision, shard }: Pick<ReplicaStatus, 'revision' | 'shard'>,
  config: VolumeConfig | undefined,
  replicas: readonly ReplicaStatus[],
): number | undefined {
  const same = replicas.filter((one) => one.revision === revision && one.shard === shard)
  const known = same.flatMap(
    ({ state, bytes, totalBytes }) => totalBytes ?? (state === 'Ready' ? bytes : undefined) ?? [],
  )
  if (known.length > 0) return Math.max(...known)
  return shard === undefined && config?.capacity ? parseQuantity(config.capacity) : undefined
}

/** The nodes on which the data does not fit. A node without a report is not one of them: unknown is not too small. */
export function nodesWithoutRoom(
  candidates: readonly Node[],
  { path, bytes }: { path: string; bytes: number | undefined },
  { allowedRoots, movers }: Pick<VolumeSettings, 'allowedRoots' | 'movers'>,
): string[] {
  const root = rootOf(path, allowedRoots)
  const keepFree = parseBytes(movers.keepFree) ?? 0
  return candidates.flatMap((node) => {
    const disk = diskOf(node, root)
    return bytes !== undefined && disk && disk.freeBytes < bytes + keepFree ? (node.metadata.name ?? []) : []
  })
}
