/**
 * Per-node slots limit the movers of each node exactly, although the scheduler chooses the nodes. A node has as many slots as it may have
 * movers, and each mover has one slot. The scheduler puts no two movers of one slot on one node (mover/affinity.ts).
 */
import type { Pod } from '../../../api/pod.ts'
import { isUnschedulable, nodeOfMover, slotOfMover } from '../mover/affinity.ts'

export interface NodeSlots {
  /** Whether a node has as many movers as it may have. */
  isFull(node: string): boolean
  /** Takes a slot of this node, if possible one that no mover without a node has; undefined when the node is full. */
  takeOn(node: string): number | undefined
  /** Takes the slot that is free on most of these nodes, for a mover that may run on any of them. Undefined when all are full. */
  takeAmong(nodes: ReadonlySet<string>): number | undefined
}

/**
 * Creates the slots of all nodes. The active movers occupy theirs.
 *
 * @param active the movers that have not ended, including movers that the cache does not have yet
 * @param perNode how many movers a node may have
 */
export function openNodeSlots(active: readonly Pod[], perNode: number): NodeSlots {
  const taken = new Map<string, (number | undefined)[]>()
  /** Slots of movers that the scheduler has not placed yet. An unschedulable mover occupies no slot. */
  const unplaced: (number | undefined)[] = []
  for (const pod of active) {
    const node = nodeOfMover(pod)
    if (node !== undefined) slotsOf(node).push(slotOfMover(pod))
    else if (!isUnschedulable(pod)) unplaced.push(slotOfMover(pod))
  }
  const numbers = Array.from({ length: perNode }, (_, slot) => slot)

  function slotsOf(node: string): (number | undefined)[] {
    const slots = taken.get(node) ?? []
    taken.set(node, slots)
    return slots
  }

  function isFull(node: string): boolean {
    const slots = taken.get(node) ?? []
    return slots.length >= perNode || numbers.every((slot) => slots.includes(slot))
  }

  return {
    isFull,
    takeOn(node) {
      const slots = slotsOf(node)
      const allFree = isFull(node) ? [] : numbers.filter((slot) => !slots.includes(slot))
      // A mover that is not placed yet may come to this node. kube-scheduler retries a Pod that it blocks only after minutes: it expects that
      // one deleted Pod matches all anti-affinity terms (isSchedulableAfterPodChange of its plugin InterPodAffinity).
      const free = allFree.find((slot) => !unplaced.includes(slot)) ?? allFree[0]
      if (free !== undefined) slots.push(free)
      return free
    },
    takeAmong(nodes) {
      const among = [...unplaced, ...[...taken].flatMap(([node, slots]) => (nodes.has(node) ? slots : []))]
      if (nodes.size * perNode <= among.length) return undefined
      const counts = Map.groupBy(among, (slot) => slot)
      const countOf = (slot: number) => counts.get(slot)?.length ?? 0
      const emptiest = numbers.reduce((best, slot) => (countOf(slot) < countOf(best) ? slot : best), 0)
      unplaced.push(emptiest)
      return emptiest
    },
  }
}
