/** Makes leftovers of the data of a deleted VolumeManager whose own movers cannot delete it. */
import type { Node } from '../../../api/node.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { DeletionStatus } from '../../../api/volume-status.ts'
import { sortedUnique } from '../../../base/json.ts'
import { onPresentClock } from '../../../base/time/clock-jumps.ts'
import { namesColumn } from '../../columns.ts'
import type { Action, EventAction } from '../../plan.ts'
import type { VolumeManagerInput } from '../input.ts'
import { LABEL_GRACE_MS } from '../replica/deletion.ts'
import { earliest, fromTime } from '../time.ts'
import { addLeftover, isLeftover, MAX_LEFTOVERS } from './leftovers.ts'
import { unreadyFor } from './node-health.ts'

/** The deletions of one volume. */
interface VolumeDeletions {
  id: string
  config: VolumeConfig | undefined
  set: { deletions: readonly DeletionStatus[] }
}

export interface Skipped {
  actions: Action[]
  /** When the next deletion becomes a leftover, in ms since the epoch; absent when there is none. */
  dueAt?: number | undefined
}

/**
 * Plans a leftover for each deletion on a node that is not ready for too long. In a namespace that is being deleted, every deletion gets one.
 * The deletion ends when the node has it. Only the deletion of a VolumeManager makes leftovers: a VolumeManager that stays remembers its data
 * itself, and may use the node again.
 */
export function skipNodes(input: VolumeManagerInput, plans: readonly VolumeDeletions[]): Skipped {
  const { manager, nodes, now } = input
  const { namespace = '', name = '', uid = '', deletionTimestamp } = manager.metadata
  if (!deletionTimestamp) return { actions: [] }
  const skipped: Skipped = { actions: [] }
  const events = new Map<string, { cause: Cause; id: string; nodes: string[] }>()
  const added = new Map<string, number>()
  for (const { id, config, set } of plans) {
    for (const deletion of set.deletions) {
      const { node: nodeName, index, path } = deletion
      const node = nodes.get(nodeName)
      if (!node || isLeftover(node, path)) continue
      const cause = causeOf(input, node, deletion, deletionTimestamp)
      if (cause === undefined) continue
      if (now < cause.at) {
        skipped.dueAt = earliest(skipped.dueAt, cause.at)
        continue
      }
      const image = config?.mover?.image
      const leftover = { namespace, name, uid, id, index, path, ...(image !== undefined && { image }) }
      const patch = addLeftover(node, leftover, MAX_LEFTOVERS - (added.get(nodeName) ?? 0))
      if (!patch) continue
      added.set(nodeName, (added.get(nodeName) ?? 0) + 1)
      skipped.actions.push(patch)
      const key = `${id}: ${cause.message}`
      const { nodes: others = [] } = events.get(key) ?? {}
      events.set(key, { cause, id, nodes: [...others, nodeName] })
    }
  }
  for (const { cause, id, nodes: names } of events.values()) {
    const message = `${id} on ${namesColumn(sortedUnique(names))}: ${cause.message}`
    skipped.actions.push({ kind: 'event', about: manager, ...cause.event, message })
  }
  return skipped
}

interface Cause {
  /** When the deletion becomes a leftover, in ms since the epoch. */
  at: number
  event: Pick<EventAction, 'type' | 'reason'>
  message: string
}

/** Why and when a deletion becomes a leftover; undefined while a mover of the VolumeManager can delete the data. */
function causeOf(
  { terminating, settings, now, jumps }: VolumeManagerInput,
  node: Node,
  { nodeLabels, since, state }: DeletionStatus,
  deletionTimestamp: string,
): Cause | undefined {
  if (terminating) {
    // The patch of the node that removes the label is the next change.
    if (nodeLabels.some((label) => node.metadata.labels?.[label] !== undefined)) return undefined
    return {
      // Every other state begins after that time.
      at: state === 'Waiting' ? (fromTime(since, jumps) ?? now) + LABEL_GRACE_MS : now,
      event: { type: 'Normal', reason: 'DataLeft' },
      message: 'the namespace is being deleted; a mover in another namespace deletes the data',
    }
  }
  const at = skippedAt(node, { settings, deletionTimestamp, now, jumps })
  const message = 'the node is not ready; its data is deleted when it is ready again'
  return at === undefined ? undefined : { at, event: { type: 'Warning', reason: 'NodeSkipped' }, message }
}

/** When the deletion of a VolumeManager skips a node, in ms since the epoch; undefined while the node is ready. */
export function skippedAt(
  node: Node,
  {
    settings,
    deletionTimestamp,
    now,
    jumps,
  }: Pick<VolumeManagerInput, 'settings' | 'now' | 'jumps'> & { deletionTimestamp: string },
): number | undefined {
  const at = unreadyFor(node, settings.deletionNodeTimeoutSeconds, fromTime(deletionTimestamp) ?? now)
  return at && onPresentClock(at, jumps)
}
