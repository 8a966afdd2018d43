/** The loop of leftovers: deletes data of deleted VolumeManagers when its node is ready again. */
import { type Node, nodes } from '../../api/node.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { leftoverKey, leftoversOf, splitLeftoverKey } from '../../core/volume-manager/leftover/leftover.ts'
import { planLeftover } from '../../core/volume-manager/leftover/plan.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import type { VolumeSettings } from '../../core/volume-manager/spec/settings.ts'
import { activeMovers, moversOfLeftover } from '../../queries/own-movers.ts'
import { usersOf } from '../../queries/volume-users.ts'
import type { ObjectStore } from '../../store/store.ts'
import { applyPlan } from '../apply.ts'
import type { ReconcileLoop } from '../define.ts'
import { openMoverAccess } from './mover-access.ts'

export function openVolumeLeftoverLoop(settings: () => VolumeSettings): ReconcileLoop {
  const access = openMoverAccess()
  return {
    name: 'volume-leftover',
    concurrency: 1,
    *keysOf({ type, before, after }, store) {
      if (type.kind === nodes.kind && after) yield* keysOfNode(after as Node)
      // While its VolumeManager exists, a leftover is not deleted.
      if (type.kind === volumeManagers.kind && !after) yield* keysOfNodes(store)
      if (type.kind !== pods.kind) return
      for (const pod of [before, after]) {
        const task = pod && readTask(pod as Pod)
        if (task?.role === 'leftover') yield task.manager
      }
    },
    *allKeys(store) {
      yield* keysOfNodes(store)
    },
    async reconcile(key, { store, events, now }) {
      const { node: name, digest } = splitLeftoverKey(key)
      const node = store.get(nodes, undefined, name)
      if (!node || !store.serves(volumeManagers)) return undefined
      const plan = planLeftover({
        node,
        digest,
        movers: moversOfLeftover(store, key, settings()),
        active: activeMovers(store, settings()),
        users: (directory) => usersOf(store, undefined, directory),
        isManaged: (uid) => store.byIndex(volumeManagers, 'owner', uid.replaceAll('-', '')).length > 0,
        settings: settings(),
        now: now(),
      })
      const { serviceAccountName } = settings().movers
      for (const action of plan.actions) {
        if (action.kind === 'create')
          await access.grant(action.object.metadata.namespace ?? '', serviceAccountName, store)
      }
      await applyPlan({ store, events }, plan)
      return plan.requeueAfterMs
    },
  }
}

function* keysOfNodes(store: ObjectStore): Generator<string> {
  for (const node of store.byIndex(nodes, 'leftover', 'all')) yield* keysOfNode(node)
}

function keysOfNode(node: Node): string[] {
  return leftoversOf(node).map((digest) => leftoverKey(node.metadata.name ?? '', digest))
}
