/** Gathers the slots of movers from the cache: which movers wait for them, which movers have them, and which VolumeManagers are next. */
import { keyOfObject, splitObjectKey } from '../api/meta.ts'
import { type Node, nodes } from '../api/node.ts'
import type { Pod } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { listConfigs } from '../core/volume-manager/known-status.ts'
import { isUnschedulable, nodeOfMover } from '../core/volume-manager/mover/affinity.ts'
import { readTask } from '../core/volume-manager/mover/task.ts'
import { allowsNode, toleratesNode } from '../core/volume-manager/nodes/feasibility.ts'
import { isEnded } from '../core/volume-manager/pod-use.ts'
import type { VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import type { PreemptionInput } from '../core/volume-manager/schedule/preemption.ts'
import type { QueueEntry } from '../core/volume-manager/schedule/queue.ts'
import { firstManagers } from '../core/volume-manager/schedule/shares.ts'
import type { ObjectStore } from '../store/store.ts'
import { activeMovers, managerMovers, moversWithSlot, type SlotContext } from './own-movers.ts'

/** The memory about the slots of all VolumeManagers. */
export interface KnownSlots {
  /** Movers that were created or are being created, and are not cached yet. */
  created: readonly Pod[]
  /** The movers that are being deleted and have not ended, by `namespace/name`. */
  stopping: ReadonlySet<string>
  /** When a mover was last started, in ms since the epoch, by `shareKey`. */
  served: ReadonlyMap<string, number>
}

/** The movers that wait for slots, and those that have them. */
export function slotShares({ created, stopping, served }: KnownSlots, context: SlotContext): PreemptionInput {
  const { store, settings, now } = context
  return {
    waiting: store.byIndex(volumeManagers, 'waiting', 'all'),
    active: moversWithSlot(activeMovers(store, settings, created), context),
    served,
    settings: settings.movers,
    now,
    isBlocked: (entry) => hasPreviousMover(entry, store, settings),
    isStopping: (pod) => stopping.has(keyOfObject(pod)),
    couldRunOn: (entry, node) => couldRunOn(entry, node, store),
  }
}

/**
 * Whether a Pod of an earlier mover exists, which its user may keep by a finalizer, and its node by not answering. A download without a node
 * also waits until the scheduler has placed the mover before it.
 */
function hasPreviousMover(
  { manager, id, role, index, node }: QueueEntry,
  store: ObjectStore,
  settings: VolumeSettings,
) {
  if (role === 'deletion') return false
  return managerMovers(store, manager, settings.movers).some((pod) => {
    const task = readTask(pod)
    if (task?.id !== id || task.role === 'deletion') return false
    const isSearching = !isEnded(pod.status) && nodeOfMover(pod) === undefined && !isUnschedulable(pod)
    if (node === undefined && task.role === role && isSearching) return true
    return task.index === index && (role === 'maintenance' || task.role === role)
  })
}

/** Whether a download that found no node could run on this one if it had a free slot. */
function couldRunOn({ manager: key, id, index }: QueueEntry, name: string, store: ObjectStore): boolean {
  const { namespace, name: managerName } = splitObjectKey(key)
  const manager = store.get(volumeManagers, namespace, managerName)
  const config = manager && listConfigs(manager).find((one) => one.id === id)
  const { replicas = [], deletions = [] } = manager?.status?.volumes?.find((volume) => volume.id === id) ?? {}
  const node = store.get(nodes, undefined, name)
  const isWithoutNode = replicas.some((one) => one.index === index && one.reason === 'NoNode' && one.node === undefined)
  if (!config || !node || !isWithoutNode || [...replicas, ...deletions].some((one) => one.node === name)) return false
  return allowsNode(config.nodeAffinity, node) && toleratesNode(config.tolerations, node)
}

/** How many waiting VolumeManagers are enqueued when a slot may be free: more than one, since the first may not be able to start. */
const MAX_ENQUEUED = 4

/** Returns the VolumeManagers that get the next slots. If a slot of a node is free now, also the first ones that may use that node. */
export function nextManagers(
  store: ObjectStore,
  settings: VolumeSettings,
  { created, served }: KnownSlots,
  freedNode: string | undefined,
): string[] {
  const all = store.byIndex(volumeManagers, 'waiting', 'all')
  if (all.length === 0) return []
  const active = activeMovers(store, settings, created)
  const node = freedNode === undefined ? undefined : store.get(nodes, undefined, freedNode)
  const forNode = node ? managersFor(node, all, store) : []
  return [all, forNode].flatMap((waiting) => firstManagers({ waiting, active, served }, MAX_ENQUEUED))
}

/** Returns the VolumeManagers that may store data on the node, or have data there that is to be deleted. */
export function managersFor(node: Node, managers: readonly VolumeManager[], store: ObjectStore): VolumeManager[] {
  const stored = new Set(store.byIndex(volumeManagers, 'node', node.metadata.name ?? ''))
  const isAllowed = (manager: VolumeManager) =>
    listConfigs(manager).some(
      ({ nodeAffinity, tolerations }) => allowsNode(nodeAffinity, node) && toleratesNode(tolerations, node),
    )
  return managers.filter((manager) => stored.has(manager) || isAllowed(manager))
}
