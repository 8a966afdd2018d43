/** The loop of leftovers: deletes data of deleted VolumeManagers when its node is ready and its pods have ended. */
import { objectKey } from '../../api/meta.ts'
import { type Node, nodes } from '../../api/node.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import type { Plan } from '../../core/plan.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import {
  type Leftover,
  leftoverDigests,
  leftoverKey,
  readLeftover,
  splitLeftoverKey,
} from '../../core/volume-manager/nodes/leftovers.ts'
import { planWithoutOwner } from '../../core/volume-manager/plan.ts'
import {
  type LeftoverInput,
  planLeftover,
  planRefusal,
  type RefusedLeftover,
} from '../../core/volume-manager/plan-leftover.ts'
import { isEnded } from '../../core/volume-manager/pod-use.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import {
  activeMovers,
  managerMovers,
  moversOfLeftover,
  moversWithoutLeftover,
  moversWithSlot,
  namespaceForLeftover,
  type SlotContext,
} from '../../queries/own-movers.ts'
import { directoryUsers } from '../../queries/volume-users.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileContext, ReconcileLoop } from '../define.ts'
import { presentOf } from '../present.ts'
import { openMoverAccess } from './mover-access.ts'
import { refusalOfMover } from './mover-refusal.ts'

export function openVolumeLeftoverLoop(settings: () => VolumeSettings): ReconcileLoop {
  const access = openMoverAccess()
  /** By the key of the leftover. A restart loses them, which costs one more request and Event for each. */
  const refused = new Map<string, RefusedLeftover>()
  return {
    name: 'volume-leftover',
    concurrency: 1,
    *keysForChange({ type, before, after }, store) {
      if (type.kind === nodes.kind && after) yield* keysOfNode(after as Node)
      // While its VolumeManager exists and stays, a leftover is not deleted.
      if (type.kind === volumeManagers.kind && !after) yield* keysOfNodes(store)
      if (type.kind !== pods.kind) return
      for (const pod of [before, after]) {
        const task = pod && readTask(pod as Pod)
        if (task?.role === 'leftover') yield task.manager
      }
    },
    *allKeys(store) {
      yield* keysOfNodes(store)
      for (const pod of store.list(pods)) {
        const task = readTask(pod)
        yield task?.role === 'leftover' ? task.manager : undefined
      }
    },
    async reconcile(key, context) {
      const { store, now } = context
      const { node: name, digest } = splitLeftoverKey(key)
      const node = store.get(nodes, undefined, name)
      const leftover = node && readLeftover(node, digest, settings())
      if (!leftover) {
        refused.delete(key)
        // The process may have ended between the removal of the leftover and that of its mover.
        await applyPlan(context, planWithoutOwner(moversWithoutLeftover(store, key, settings().movers)))
        return undefined
      }
      const gathered = gatherLeftover(key, node, leftover, {
        store,
        settings: settings(),
        ...presentOf(context),
      })
      const input = { ...gathered, refused: refused.get(key) }
      const plan = planLeftover(input)
      if (!plan.actions.some(({ kind }) => kind === 'create')) {
        if (plan.refused) refused.set(key, plan.refused)
        await applyPlan(context, plan)
        return plan.requeueAfterMs
      }
      const refusal = await applyCreation(plan, input.namespace, context)
      // The number of earlier attempts stays, since this mover may not start either.
      if (refusal === undefined) return plan.requeueAfterMs
      const next = planRefusal({ ...input, now: now() }, refusal)
      refused.set(key, next.refused)
      await applyPlan(context, next)
      return next.requeueAfterMs
    },
  }

  /** Applies a plan that creates a mover. Returns why the API server rejected the mover; undefined if it accepted it. */
  async function applyCreation(
    plan: Plan,
    namespace: string,
    { store, events, now }: ReconcileContext,
  ): Promise<string | undefined> {
    const { serviceAccountName } = settings().movers
    try {
      await access.grant(namespace, serviceAccountName, { store, now: now() })
      await applyPlan({ store, events }, plan)
      return undefined
    } catch (error) {
      const refusal = refusalOfMover(error)
      if (refusal === undefined) throw error
      // The ServiceAccount may have been deleted, for example with its namespace.
      access.forget(namespace, serviceAccountName)
      return refusal
    }
  }
}

function gatherLeftover(key: string, node: Node, leftover: Leftover, context: SlotContext): LeftoverInput {
  const { store, settings, now } = context
  return {
    node,
    digest: splitLeftoverKey(key).digest,
    namespace: namespaceForLeftover(store, leftover, settings.movers),
    movers: moversOfLeftover(store, key, settings),
    active: activeAround(leftover, context),
    users: (directory) => directoryUsers(store, undefined, directory),
    // While an API server restarts, it serves no CRDs for a moment. Each VolumeManager may exist then.
    isManaged: (uid) =>
      !store.serves(volumeManagers) ||
      store
        .byIndex(volumeManagers, 'owner', uid.replaceAll('-', ''))
        .some(({ metadata }) => metadata.deletionTimestamp === undefined),
    settings,
    now,
  }
}

/**
 * The movers that have not ended. Those of the VolumeManager count although its status has them no more: while they are being stopped, they
 * may still write the data.
 */
function activeAround({ namespace, name }: Leftover, context: SlotContext): Pod[] {
  const { store, settings } = context
  const stopping = managerMovers(store, objectKey(namespace, name), settings.movers).filter(
    ({ status }) => !isEnded(status),
  )
  return [...new Set([...moversWithSlot(activeMovers(store, settings), context), ...stopping])]
}

function* keysOfNodes(store: ObjectStore): Generator<string> {
  for (const node of store.byIndex(nodes, 'leftover', 'all')) yield* keysOfNode(node)
}

function keysOfNode(node: Node): string[] {
  return leftoverDigests(node).map((digest) => leftoverKey(node.metadata.name ?? '', digest))
}
