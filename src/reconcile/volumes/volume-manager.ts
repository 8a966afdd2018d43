/** The loop of VolumeManagers: applies their movers, node labels, PersistentVolumes and status. */
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Plan } from '../../core/plan.ts'
import type { VolumeManagerInput } from '../../core/volume-manager/input.ts'
import { planVolumeManager } from '../../core/volume-manager/plan.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { terminatingNamespace } from '../../queries/terminating.ts'
import { concernedManagers, gatherVolumeManager } from '../../queries/volume-manager.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { ReconcileLoop } from '../define.ts'
import { applyMovers, deleteMovers } from './apply-movers.ts'
import {
  currentRetryMemory,
  emptyMemory,
  knownSlots,
  observeChange,
  type RetryMemory,
  readProgresses,
  readUncached,
} from './memory.ts'
import { openMoverAccess } from './mover-access.ts'
import type { MoverLogs } from './mover-logs.ts'

/**
 * Opens the loop.
 * @param settings read in every run, so that a changed configuration applies immediately.
 * @param logs reads the logs of movers before they are deleted; absent if there are none
 */
export function openVolumeManagerLoop(settings: () => VolumeSettings, logs?: MoverLogs): ReconcileLoop {
  const memory = emptyMemory()
  const access = openMoverAccess()
  return {
    name: 'volume-manager',
    concurrency: 8,
    observe(change, store) {
      observeChange(memory, change, store)
      const { type, after, before } = change
      if (type.kind === namespaces.kind && before && !after) access.forgetNamespace(before.metadata.name ?? '')
      if (type.kind === pods.kind && before && !after) logs?.forget(before as Pod)
    },
    keysForChange: (change, store) => [
      ...concernedManagers(change, store, settings(), knownSlots(memory)),
      ...memory.triggered,
    ],
    *allKeys(store) {
      for (const manager of store.list(volumeManagers)) yield keyOfObject(manager)
    },
    async reconcile(key, { store, events, now, jumps }) {
      const { namespace = '', name } = splitObjectKey(key)
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        // While an API server restarts, it serves no CRDs for a moment. This does not mean that their objects were deleted.
        if (!store.serves(volumeManagers)) return undefined
        memory.retries.delete(key)
        await deleteMovers(key, store, settings().movers, memory)
        return undefined
      }
      const { movers: moverSettings } = settings()
      const uncached = await readUncached(manager, store, moverSettings, memory)
      const progress = await readProgresses(key, store, moverSettings, memory, { now: now(), jumps: jumps?.() })
      const retries = currentRetryMemory(manager, memory)
      const known = { uncached, ...knownSlots(memory), progress, ...retries }
      const context = { store, settings: settings(), now: now(), jumps: jumps?.() }
      const input = gatherVolumeManager(manager, known, context)
      const plan = planVolumeManager(input)
      return applyMovers(plan, {
        store,
        events,
        memory,
        retries,
        access,
        settings: moverSettings,
        now: context.now,
        logs,
        planAgain: (created) => planAgain(input, created, retries, context),
      })
    },
  }
}

/** Plans again after the API server rejected movers, so that the status has the reason. No other mover takes their place at once. */
function planAgain(
  { manager, movers, allowance, ...input }: VolumeManagerInput,
  created: readonly Pod[],
  { refusals, isTerminating }: RetryMemory,
  { store, settings }: { store: ObjectStore; settings: VolumeSettings },
): Plan {
  return planVolumeManager({
    ...input,
    manager,
    refusals,
    movers: new Map([...created.map((pod) => [pod.metadata.name ?? '', pod] as const), ...movers]),
    allowance: { ...allowance, slots: 0 },
    terminating: terminatingNamespace(manager, isTerminating, { store, settings: settings.movers }),
  })
}
