/**
 * Shares slots fairly between namespaces. A free slot of the cluster goes to the waiting namespace with the fewest active movers. A free
 * slot of a node goes to the one with the fewest movers there. Among equals, the one that waits longest is next. Priorities order only the
 * movers of a namespace.
 */
import { splitObjectKey } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { MoverAllowance } from '../input.ts'
import { nodeOfMover } from '../mover/affinity.ts'
import { readTask } from '../mover/task.ts'
import { isBackoffOver } from '../replica/transition.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { type QueueEntry, queueEntries, RANK } from './queue.ts'
import { openNodeSlots } from './slots.ts'
import { addTo, collect, openOrder } from './turns.ts'

export interface SharesInput {
  /** The VolumeManagers with waiting movers. */
  waiting: readonly VolumeManager[]
  /** The movers of all VolumeManagers that have not ended, including movers that the cache does not have yet. */
  active: readonly Pod[]
  /** When a mover was last started, in ms since the epoch, by `shareKey`. */
  served: ReadonlyMap<string, number>
  settings: Pick<VolumeSettings['movers'], 'maxInAll' | 'maxPerNode'>
  now: number
  /** Whether an entry cannot start, because the Pod of its previous mover exists. */
  isBlocked?: (entry: QueueEntry) => boolean
}

/** The namespace of the VolumeManager of a mover; that of the Pod for the mover of a leftover. */
export function namespaceOfMover(pod: Pod): string {
  const task = readTask(pod)
  const owner = task && task.role !== 'leftover' ? splitObjectKey(task.manager).namespace : pod.metadata.namespace
  return owner ?? ''
}

/** How many movers each namespace has, in the cluster and on each node, by `shareKey`. */
function countShares(active: readonly Pod[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const pod of active) addTo(counts, namespaceOfMover(pod), nodeOfMover(pod))
  return counts
}

/** The share of all movers that may be checks and refreshes, so that downloads have slots. */
const MAINTENANCE_SHARE = 4

/** How many checks and refreshes may run at once. */
export function maxMaintenances({ maxInAll }: Pick<VolumeSettings['movers'], 'maxInAll'>): number {
  return Math.max(1, Math.floor(maxInAll / MAINTENANCE_SHARE))
}

interface Grants {
  granted: QueueEntry[]
  /** The number of movers of each share with the granted ones. */
  counts: ReadonlyMap<string, number>
  /** Whether a node has as many movers as it may have, with the granted ones. */
  isFull(node: string): boolean
}

/**
 * Grants free slots, one after the other, each to the entry that is next. Entries for which there is no slot on their node are left out.
 *
 * @param mayUseSlot other entries are left out
 */
export function grantSlots(
  { waiting, active, served, settings, now, isBlocked = () => false }: SharesInput,
  mayUseSlot: (entry: QueueEntry) => boolean,
): Grants {
  const free = Math.max(0, settings.maxInAll - active.length)
  const slots = openNodeSlots(active, settings.maxPerNode)
  const maintained = active.filter((pod) => readTask(pod)?.role === 'maintenance').length
  let maintenances = Math.max(0, maxMaintenances(settings) - maintained)
  const isStartable = ({ rank }: QueueEntry) => rank !== RANK.maintenance || maintenances > 0
  const mayStart = (entry: QueueEntry) => isBackoffOver(entry.notBefore, now) && isStartable(entry) && mayUseSlot(entry)
  const places = collect(free === 0 ? [] : waiting, free, queueEntries, mayStart, isBlocked)
  const order = openOrder(places, { counts: countShares(active), served, isFull: slots.isFull, isStartable })
  const granted: QueueEntry[] = []
  while (granted.length < free) {
    const entry = order.next()
    if (!entry) break
    if (entry.node !== undefined) slots.takeOn(entry.node)
    if (entry.rank === RANK.maintenance) maintenances--
    granted.push(entry)
  }
  return { granted, counts: order.counts, isFull: slots.isFull }
}

/**
 * How many movers a VolumeManager may start now. Movers of full nodes and stuck downloads of other VolumeManagers keep no slot free.
 * Otherwise a single VolumeManager that matches no node could stop all others.
 *
 * @param manager `namespace/name`
 */
export function moverAllowance(manager: string, input: SharesInput): MoverAllowance {
  const { namespace, name } = splitObjectKey(manager)
  const isWaiting = input.waiting.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
  // Most plans are of VolumeManagers whose movers run or have ended.
  if (!isWaiting) return { slots: 0, onNodes: new Map(), active: input.active }
  const { granted } = grantSlots(input, (entry) => entry.rank !== RANK.stuck || entry.manager === manager)
  const own = granted.filter((entry) => entry.manager === manager)
  const onNodes = new Map<string, number>()
  for (const { node } of own) if (node !== undefined) onNodes.set(node, (onNodes.get(node) ?? 0) + 1)
  return { slots: own.length, onNodes, active: input.active }
}

/** The VolumeManagers that get the next free slots, as `namespace/name`, each once. Stuck ones are last. */
export function firstManagers(
  { waiting, active, served }: Pick<SharesInput, 'waiting' | 'active' | 'served'>,
  count: number,
): string[] {
  const first = (manager: VolumeManager) =>
    queueEntries(manager)
      .slice(0, 1)
      .map((entry) => ({ ...entry, node: undefined }))
  const counts = countShares(active)
  const order = openOrder(collect(waiting, count, first), {
    counts,
    served,
    isFull: () => false,
    isStartable: () => true,
  })
  return Array.from({ length: count }, () => order.next()?.manager).filter((manager) => manager !== undefined)
}
