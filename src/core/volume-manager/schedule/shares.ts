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
import type { VolumeSettings } from '../spec/settings.ts'
import { compareEntries, entriesOf, insertEntry, type QueueEntry, RANK } from './queue.ts'
import { openNodeSlots } from './slots.ts'

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

/** The key of the share that a namespace has in the slots of the cluster, or of a node. */
export function shareKey(namespace: string, node?: string): string {
  return node === undefined ? namespace : `${namespace}/${node}`
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

function addTo(counts: Map<string, number>, namespace: string, node: string | undefined): void {
  const keys = node === undefined ? [shareKey(namespace)] : [shareKey(namespace), shareKey(namespace, node)]
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The share of all movers that may be checks and refreshes, so that downloads have slots. */
const MAINTENANCE_SHARE = 4

/** How many checks and refreshes may run at once. */
export function maxMaintenances({ maxInAll }: Pick<VolumeSettings['movers'], 'maxInAll'>): number {
  return Math.max(1, Math.floor(maxInAll / MAINTENANCE_SHARE))
}

/** The entries that wait, of each namespace and place in order. A place is a node, or `''` for downloads that may run on several. */
type Waiting = Map<string, Map<string, QueueEntry[]>>

const ANYWHERE = ''

/** The first `count` entries of each namespace and place. */
function collect(
  managers: Iterable<VolumeManager>,
  count: number,
  entriesIn: (manager: VolumeManager) => readonly QueueEntry[],
  isBlocked: (entry: QueueEntry) => boolean = () => false,
): Waiting {
  const places: Waiting = new Map()
  for (const manager of managers) {
    for (const entry of entriesIn(manager)) {
      const namespaces = getOrAdd(places, entry.node ?? ANYWHERE, () => new Map<string, QueueEntry[]>())
      const first = getOrAdd(namespaces, entry.namespace, () => [])
      insertEntry(first, entry, count, isBlocked)
    }
  }
  return places
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const added = create()
  map.set(key, added)
  return added
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
  const mayStart = (entry: QueueEntry) => entry.notBefore <= now && mayUseSlot(entry)
  const entriesIn = (manager: VolumeManager) => entriesOf(manager).filter(mayStart)
  const places = collect(free === 0 ? [] : waiting, free, entriesIn, isBlocked)
  const isStartable = ({ rank }: QueueEntry) => rank !== RANK.maintenance || maintenances > 0
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

interface OrderInput {
  counts: Map<string, number>
  served: ReadonlyMap<string, number>
  isFull: (node: string) => boolean
  isStartable: (entry: QueueEntry) => boolean
}

/** The order in which namespaces get slots. `next` removes the entry that it returns, and counts it as active. */
function openOrder(places: Waiting, { counts, served, isFull, isStartable }: OrderInput) {
  const countOf = ({ namespace }: QueueEntry, node?: string) => counts.get(shareKey(namespace, node)) ?? 0
  // A namespace with thousands of old entries waits only since its last mover was started.
  const servedAt = ({ namespace }: QueueEntry, node?: string) => served.get(shareKey(namespace, node)) ?? 0
  const sinceOf = (entry: QueueEntry, node?: string) => Math.max(entry.since, servedAt(entry, node))
  const compareShares = (a: QueueEntry, b: QueueEntry, node?: string) =>
    Number(a.rank === RANK.stuck) - Number(b.rank === RANK.stuck) ||
    countOf(a, node) - countOf(b, node) ||
    sinceOf(a, node) - sinceOf(b, node) ||
    servedAt(a, node) - servedAt(b, node) ||
    (a.namespace < b.namespace ? -1 : Number(a.namespace > b.namespace))

  function headOf(entries: QueueEntry[]): QueueEntry | undefined {
    while (entries[0] && !isStartable(entries[0])) entries.shift()
    return entries[0]
  }

  /** The entries of a place that may be next: on a node, that of one namespace. */
  function nominate(place: string): QueueEntry[] {
    if (place !== ANYWHERE && isFull(place)) return []
    const heads = [...(places.get(place)?.values() ?? [])].flatMap((entries) => headOf(entries) ?? [])
    const first = leastOf(heads, (a, b) => compareShares(a, b, place))
    return place === ANYWHERE || first === undefined ? heads : [first]
  }

  const nominees = new Map([...places.keys()].map((place) => [place, nominate(place)]))
  /** The place of the last entry: its next nominee is known after the caller has taken the slot. */
  let last: string | undefined
  return {
    counts,
    next(): QueueEntry | undefined {
      if (last !== undefined) nominees.set(last, nominate(last))
      const own = new Map<string, QueueEntry>()
      for (const entry of [...nominees.values()].flat()) {
        const known = own.get(entry.namespace)
        const isNext = !known || compareEntries(entry, known) < 0
        if (isNext && isStartable(entry)) own.set(entry.namespace, entry)
      }
      const next = leastOf([...own.values()], compareShares)
      if (!next) return undefined
      last = next.node ?? ANYWHERE
      places.get(last)?.get(next.namespace)?.shift()
      addTo(counts, next.namespace, next.node)
      return next
    },
  }
}

function leastOf<T>(all: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return all.length === 0 ? undefined : all.reduce((least, one) => (compare(one, least) < 0 ? one : least))
}

/**
 * How many movers a VolumeManager may start now. Movers of full nodes and stuck downloads of other VolumeManagers keep no slot free.
 * Otherwise a single VolumeManager that matches no node could stop all others.
 *
 * @param manager `namespace/name`
 */
export function allowanceOf(manager: string, input: SharesInput): MoverAllowance {
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
    entriesOf(manager)
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
