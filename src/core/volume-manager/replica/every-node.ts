/** The number of replicas of a volume with `onEveryNode`: one for each node that may have the data. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { allowsNode } from '../nodes/node-affinity.ts'
import { healthOf } from '../nodes/node-health.ts'
import { runsMovers } from '../nodes/platform.ts'
import { isClosedTo } from '../nodes/taints.ts'
import { MAX_REPLICAS } from '../rules/volume-rules.ts'

export interface EveryNode {
  /** The number of replicas; at least 1, since a volume without a copy is not usable. */
  replicas: number
  /** The number of nodes that get no copy because of the limit. */
  beyond: number
}

/**
 * Counts the nodes that may have the data: those that can take it now, and those that have a replica. A node that is not ready keeps its
 * replica until the node counts as lost. The volumes of a VolumeManager share a limit, because they share one status.
 */
export function countEveryNode(
  { manager, nodes, settings }: Pick<VolumeManagerInput, 'manager' | 'nodes' | 'settings'>,
  config: VolumeConfig,
  replicas: readonly ReplicaStatus[],
): EveryNode {
  const placed = new Set(replicas.filter(({ state }) => state !== 'Unreachable').map(({ node }) => node))
  const { architectures } = settings.movers
  let count = 0
  for (const node of nodes.all()) {
    if (!allowsNode(config.nodeAffinity, node)) continue
    const isFree = healthOf(node).isReady && runsMovers(node, architectures) && !isClosedTo(config.tolerations, node)
    if (isFree || placed.has(node.metadata.name)) count++
  }
  const sharing = manager.spec.volumeConfigs.filter(({ onEveryNode }) => onEveryNode).length
  const limit = Math.max(1, Math.floor(MAX_REPLICAS / sharing))
  return { replicas: Math.min(limit, Math.max(1, count)), beyond: Math.max(0, count - limit) }
}
