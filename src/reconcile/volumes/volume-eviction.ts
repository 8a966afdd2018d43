/** The loop of nodes with disk pressure, or with a disk beyond the high watermark: evicts the least recently used data. */
import { type Node, nodes } from '../../api/node.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { hasDiskPressure } from '../../core/volume-manager/nodes/feasibility.ts'
import { freeingNodes, fullNodes, planEviction, rootsToCollect } from '../../core/volume-manager/plan-eviction.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { directoryUsers, lastUseEnd } from '../../queries/volume-users.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { presentOf } from '../present.ts'

export function openVolumeEvictionLoop(settings: () => VolumeSettings): ReconcileLoop {
  const isConcerned = (node: Node) =>
    hasDiskPressure(node) ||
    collecting.has(node.metadata.name ?? '') ||
    rootsToCollect(node, settings(), new Set()).size > 0
  /** When a replica was last evicted, by node. It is lost at a restart, so that one pause between evictions is skipped. */
  const evictedAt = new Map<string, number>()
  /** The roots from which unused replicas are deleted, by node. It is lost at a restart; then they are deleted from the high watermark on. */
  const collecting = new Map<string, ReadonlySet<string>>()
  return {
    name: 'volume-eviction',
    concurrency: 1,
    *keysForChange({ type, before, after }) {
      if (type.kind === nodes.kind && after && isConcerned(after as Node)) yield after.metadata.name ?? ''
      // The reconcile of a deleted node removes its entry.
      if (type.kind === nodes.kind && !after && before) yield before.metadata.name ?? ''
      if (type.kind !== volumeManagers.kind) return
      for (const object of [before, after]) if (object) yield* fullNodes(object as VolumeManager)
      // The next replica follows when other data of the node is deleted.
      if (before) yield* freeingNodes(before as VolumeManager)
    },
    *allKeys(store) {
      for (const node of store.list(nodes)) yield isConcerned(node) ? (node.metadata.name ?? '') : undefined
      for (const manager of store.list(volumeManagers)) yield* fullNodes(manager)
    },
    async reconcile(name, context) {
      const { store, events, observer } = context
      const node = store.get(nodes, undefined, name)
      if (!node) {
        evictedAt.delete(name)
        collecting.delete(name)
        return undefined
      }
      const roots = rootsToCollect(node, settings(), collecting.get(name) ?? new Set())
      if (roots.size > 0) collecting.set(name, roots)
      else collecting.delete(name)
      const plan = planEviction({
        node,
        managers: [...new Set(store.byIndex(volumeManagers, 'node', name))],
        users: (directory) => directoryUsers(store, undefined, directory),
        lastEnd: (...place) => lastUseEnd(store, ...place),
        settings: settings(),
        collecting: roots,
        lastAt: evictedAt.get(name),
        ...presentOf(context),
      })
      await applyPlan({ store, events }, plan)
      if (plan.evicted) {
        if (plan.cause === 'DiskPressure') evictedAt.set(name, context.now())
        observer.evicted?.(plan.evicted)
      }
      return plan.requeueAfterMs
    },
  }
}
