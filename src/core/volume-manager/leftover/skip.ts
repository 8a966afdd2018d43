/** Skips nodes that are not ready when a VolumeManager is deleted: their data becomes a leftover. */
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { DeletionStatus } from '../../../api/volume-status.ts'
import type { Action } from '../../plan.ts'
import type { VolumeManagerInput } from '../input.ts'
import { earliest } from '../replica/transition.ts'
import { unreadyFor } from '../schedule/node-health.ts'
import { fromTime } from '../status/time.ts'
import { addLeftover, isLeftover } from './leftover.ts'

/** The deletions of one volume. */
interface VolumeDeletions {
  id: string
  config: VolumeConfig | undefined
  set: { deletions: readonly DeletionStatus[] }
}

export interface Skipped {
  actions: Action[]
  /** When the next node is skipped, in ms since the epoch; absent when there is none. */
  dueAt?: number | undefined
}

/**
 * Plans a leftover for each deletion on a node that is not ready for too long. The deletion ends when the node has it. Only the deletion of
 * a VolumeManager skips nodes: a VolumeManager that stays remembers its data itself, and may use the node again.
 */
export function skipNodes(
  { manager, nodes, settings, now }: VolumeManagerInput,
  plans: readonly VolumeDeletions[],
): Skipped {
  const { namespace = '', name = '', uid = '', deletionTimestamp } = manager.metadata
  if (!deletionTimestamp) return { actions: [] }
  const skipped: Skipped = { actions: [] }
  for (const { id, config, set } of plans) {
    for (const { node: nodeName, index, path } of set.deletions) {
      const node = nodes.get(nodeName)
      if (!node || isLeftover(node, path)) continue
      const at = skippedAt(node, { settings, deletionTimestamp, now })
      if (at === undefined) continue
      if (now < at) {
        skipped.dueAt = earliest(skipped.dueAt, at)
        continue
      }
      const image = config?.mover?.image
      const patch = addLeftover(node, { namespace, name, uid, id, index, path, ...(image !== undefined && { image }) })
      if (!patch) continue
      const message = `${id} on ${nodeName}: the node is not ready; its data is deleted when it is ready again`
      skipped.actions.push(patch, { kind: 'event', about: manager, type: 'Warning', reason: 'NodeSkipped', message })
    }
  }
  return skipped
}

/** When the deletion of a VolumeManager skips a node, in ms since the epoch; undefined while the node is ready. */
export function skippedAt(
  node: Node,
  { settings, deletionTimestamp, now }: Pick<VolumeManagerInput, 'settings' | 'now'> & { deletionTimestamp: string },
): number | undefined {
  return unreadyFor(node, settings.deletionNodeTimeoutSeconds, fromTime(deletionTimestamp) ?? now)
}
