/** The order in which namespaces get slots: their turns in the cluster, and on each node. */
import type { VolumeManager } from '../../../api/volume-manager.ts'
import { compareEntries, insertEntry, type QueueEntry, RANK } from './queue.ts'

/** The key of the share that a namespace has in the slots of the cluster, or of a node. */
export function shareKey(namespace: string, node?: string): string {
  return node === undefined ? namespace : `${namespace}/${node}`
}

/** Counts one more mover of a namespace, by `shareKey`. */
export function addTo(counts: Map<string, number>, namespace: string, node: string | undefined): void {
  const keys = node === undefined ? [shareKey(namespace)] : [shareKey(namespace), shareKey(namespace, node)]
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The entries that wait, of each namespace and place in order. A place is a node, or `''` for downloads that may run on several. */
type Waiting = Map<string, Map<string, QueueEntry[]>>

const ANYWHERE = ''

/** The first `count` entries of each namespace and place that are not left out. Each plan reads all entries that wait, so they are not copied. */
export function collect(
  managers: Iterable<VolumeManager>,
  count: number,
  entriesIn: (manager: VolumeManager) => readonly QueueEntry[],
  mayUseSlot: (entry: QueueEntry) => boolean = () => true,
  isBlocked: (entry: QueueEntry) => boolean = () => false,
): Waiting {
  const places: Waiting = new Map()
  for (const manager of managers) {
    for (const entry of entriesIn(manager)) {
      if (!mayUseSlot(entry)) continue
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

interface OrderInput {
  counts: Map<string, number>
  served: ReadonlyMap<string, number>
  isFull: (node: string) => boolean
  isStartable: (entry: QueueEntry) => boolean
}

/** The movers that an entry counts with, in the cluster or on a node. The entry with the smallest share is next. */
interface Share {
  entry: QueueEntry
  count: number
  since: number
  servedAt: number
}

function compareShares(a: Share, b: Share): number {
  const [one, other] = [a.entry, b.entry]
  return (
    Number(one.rank === RANK.stuck) - Number(other.rank === RANK.stuck) ||
    a.count - b.count ||
    a.since - b.since ||
    a.servedAt - b.servedAt ||
    (one.namespace < other.namespace ? -1 : Number(one.namespace > other.namespace))
  )
}

/** The order in which namespaces get slots. `next` removes the entry that it returns, and counts it as active. */
export function openOrder(places: Waiting, { counts, served, isFull, isStartable }: OrderInput) {
  function firstOf(entries: readonly QueueEntry[], node?: string): QueueEntry | undefined {
    if (entries.length <= 1) return entries[0]
    const shares = entries.map((entry): Share => {
      const key = shareKey(entry.namespace, node)
      const servedAt = served.get(key) ?? 0
      // A namespace with thousands of old entries waits only since its last mover was started.
      return { entry, count: counts.get(key) ?? 0, since: Math.max(entry.since, servedAt), servedAt }
    })
    return shares.reduce((least, one) => (compareShares(one, least) < 0 ? one : least)).entry
  }

  function headOf(entries: QueueEntry[]): QueueEntry | undefined {
    while (entries[0] && !isStartable(entries[0])) entries.shift()
    return entries[0]
  }

  /** The entries of a place that may be next: on a node, that of one namespace. */
  function nominate(place: string): QueueEntry[] {
    if (place !== ANYWHERE && isFull(place)) return []
    const heads = [...(places.get(place)?.values() ?? [])].flatMap((entries) => headOf(entries) ?? [])
    if (place === ANYWHERE) return heads
    const first = firstOf(heads, place)
    return first ? [first] : []
  }

  const nominees = new Map<string, QueueEntry[]>()
  for (const place of places.keys()) nominateAt(place)
  /** The place of the last entry: its next nominee is known after the caller has taken the slot. */
  let last: string | undefined

  function nominateAt(place: string): void {
    const entries = nominate(place)
    if (entries.length > 0) nominees.set(place, entries)
    else nominees.delete(place)
  }

  /** The first nominee of each namespace. It runs for each granted slot, so it only compares. */
  function firstOfNamespaces(): QueueEntry[] {
    const first = new Map<string, QueueEntry>()
    let known: QueueEntry | undefined
    for (const entries of nominees.values()) {
      for (const entry of entries) {
        if (entry.namespace !== known?.namespace) known = first.get(entry.namespace)
        if (known && compareEntries(entry, known) >= 0) continue
        if (!isStartable(entry)) continue
        known = entry
        first.set(entry.namespace, entry)
      }
    }
    return [...first.values()]
  }

  return {
    counts,
    next(): QueueEntry | undefined {
      if (last !== undefined) nominateAt(last)
      const next = firstOf(firstOfNamespaces())
      if (!next) return undefined
      last = next.node ?? ANYWHERE
      places.get(last)?.get(next.namespace)?.shift()
      addTo(counts, next.namespace, next.node)
      return next
    },
  }
}
