/** The loop of nodes with disk pressure: evicts the least recently used data. */
import { type Node, nodes } from '../api/node.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { fullNodes, planEviction } from '../core/volume-manager/replica/eviction.ts'
import { hasDiskPressure } from '../core/volume-manager/schedule/node-health.ts'
import type { VolumeSettings } from '../core/volume-manager/spec/settings.ts'
import { lastEndOf, usersOf } from '../queries/volume-users.ts'
import { applyPlan } from './apply.ts'
import type { ReconcileLoop } from './define.ts'

export function openVolumeEvictionLoop(settings: () => VolumeSettings): ReconcileLoop {
  /** When a replica was last evicted, by node. It is lost at a restart, so that one pause between evictions is skipped. */
  const evictedAt = new Map<string, number>()
  return {
    name: 'volume-eviction',
    concurrency: 1,
    *keysOf({ type, before, after }) {
      if (type.kind === nodes.kind && after && hasDiskPressure(after as Node)) yield after.metadata.name ?? ''
      // The reconcile of a deleted node removes its entry.
      if (type.kind === nodes.kind && !after && before) yield before.metadata.name ?? ''
      if (type.kind !== volumeManagers.kind) return
      for (const object of [before, after]) if (object) yield* fullNodes(object as VolumeManager)
    },
    *allKeys(store) {
      for (const node of store.list(nodes)) yield hasDiskPressure(node) ? (node.metadata.name ?? '') : undefined
      for (const manager of store.list(volumeManagers)) yield* fullNodes(manager)
    },
    async reconcile(name, { store, events, now, observer }) {
      const node = store.get(nodes, undefined, name)
      if (!node) {
        evictedAt.delete(name)
        return undefined
      }
      const plan = planEviction({
        node,
        managers: [...new Set(store.byIndex(volumeManagers, 'node', name))],
        users: (directory) => usersOf(store, undefined, directory),
        lastEnd: (...place) => lastEndOf(store, ...place),
        settings: settings().eviction,
        lastAt: evictedAt.get(name),
        now: now(),
      })
      await applyPlan({ store, events }, plan)
      if (plan.evicted) {
        evictedAt.set(name, now())
        observer.evicted?.(plan.evicted)
      }
      return plan.requeueAfterMs
    },
  }
}
