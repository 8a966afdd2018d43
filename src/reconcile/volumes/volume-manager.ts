/** The loop of VolumeManagers: applies their movers, node labels, PersistentVolumes and status. */
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Plan } from '../../core/plan.ts'
import type { VolumeManagerInput } from '../../core/volume-manager/input.ts'
import { planVolumeManager, planWithoutOwner } from '../../core/volume-manager/plan.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { terminatingNamespace } from '../../queries/terminating.ts'
import { gatherVolumeManager } from '../../queries/volume-manager.ts'
import { concernedManagers } from '../../queries/volume-manager-changes.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { presentOf } from '../present.ts'
import { type ApplyContext, applyOthers, whileStopping } from './apply-movers.ts'
import { createMovers } from './create-movers.ts'
import {
  currentRetryMemory,
  emptyMemory,
  forgetCreated,
  knownSlots,
  observeChange,
  readMovers,
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
      observeChange(memory, change, store, settings().movers)
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
    async reconcile(key, context) {
      const { store, events } = context
      const { movers: moverSettings } = settings()
      const { namespace = '', name } = splitObjectKey(key)
      const manager = store.get(volumeManagers, namespace, name)
      if (!manager) {
        // While an API server restarts, it serves no CRDs for a moment. This does not mean that their objects were deleted.
        if (!store.serves(volumeManagers)) return undefined
        memory.retries.delete(key)
        const movers = await readMovers(key, store, moverSettings, memory)
        await applyPlan({ store, events }, planWithoutOwner(movers))
        forgetCreated(key, memory)
        return undefined
      }
      const uncached = await readUncached(manager, store, moverSettings, memory)
      const progress = await readProgresses(key, store, moverSettings, memory, presentOf(context))
      const retries = currentRetryMemory(manager, memory)
      const known = { uncached, ...knownSlots(memory), progress, ...retries }
      const input = gatherVolumeManager(manager, known, { store, settings: settings(), ...presentOf(context) })
      const plan = planVolumeManager(input)
      return apply(plan, input, {
        store,
        events,
        memory,
        retries,
        access,
        settings: moverSettings,
        now: input.now,
        logs,
      })
    },
  }
}

/**
 * Applies a plan: its movers first, then all else. This is the only loop that plans again in the middle of a plan. Only the creation of a mover
 * shows whether the API server rejects it, and the rest of the plan has the reason in the status. A dry run does not show it: another client
 * may use the quota after that.
 */
async function apply(plan: Plan, input: VolumeManagerInput, context: ApplyContext): Promise<number | undefined> {
  return whileStopping(plan, context.memory, async (unstopped) => {
    const { created, isRejected } = await createMovers(plan, context)
    const rest = isRejected ? planVolumeManager(inputAfterRejection(input, created, context)) : plan
    return applyOthers(rest, context, unstopped)
  })
}

/** Gathers again what the rejection of movers changes. No other mover takes their place at once. */
function inputAfterRejection(
  input: VolumeManagerInput,
  created: readonly Pod[],
  { store, retries, settings }: ApplyContext,
): VolumeManagerInput {
  const { manager, movers, allowance } = input
  return {
    ...input,
    refusals: retries.refusals,
    movers: new Map([...created.map((pod) => [pod.metadata.name ?? '', pod] as const), ...movers]),
    allowance: { ...allowance, slots: 0 },
    terminating: terminatingNamespace(manager, retries.isTerminating, { store, settings }),
  }
}
