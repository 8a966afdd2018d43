/**
 * How many movers a node may have at once, kept exactly although the scheduler chooses the nodes: a node has as many lanes as it may have
 * movers, each mover is in one lane, and the scheduler puts no two of one lane on one node (mover-affinity.ts).
 */
import type { Pod } from '../../../api/pod.ts'
import { isUnschedulable, laneOfMover, nodeOfMover } from '../mover/place.ts'

export interface Lanes {
  /** Whether a node has as many movers as it may have. */
  isFull(node: string): boolean
  /** Takes a lane of this node; undefined when it is full. */
  takeOn(node: string): number | undefined
  /** Takes the lane that is free on most of these nodes, for a mover that may come to any of them; undefined when there is no room. */
  takeAmong(nodes: ReadonlySet<string>): number | undefined
}

/**
 * The lanes as they are taken now.
 *
 * @param active the movers that have not ended, those that are in no cache yet included
 * @param perNode how many a node may have
 */
export function openLanes(active: readonly Pod[], perNode: number): Lanes {
  const placed = new Map<string, (number | undefined)[]>()
  /** Of movers that the scheduler has still to place. Those for which it found nothing take nothing away from others. */
  const coming: (number | undefined)[] = []
  for (const pod of active) {
    const node = nodeOfMover(pod)
    if (node !== undefined) lanesOf(node).push(laneOfMover(pod))
    else if (!isUnschedulable(pod)) coming.push(laneOfMover(pod))
  }
  const numbers = Array.from({ length: perNode }, (_, lane) => lane)

  function lanesOf(node: string): (number | undefined)[] {
    const lanes = placed.get(node) ?? []
    placed.set(node, lanes)
    return lanes
  }

  function isFull(node: string): boolean {
    const lanes = placed.get(node) ?? []
    return lanes.length >= perNode || numbers.every((lane) => lanes.includes(lane))
  }

  return {
    isFull,
    takeOn(node) {
      const lanes = lanesOf(node)
      const free = isFull(node) ? undefined : numbers.find((lane) => !lanes.includes(lane))
      if (free !== undefined) lanes.push(free)
      return free
    },
    takeAmong(nodes) {
      const taken = [...coming, ...[...placed].flatMap(([node, lanes]) => (nodes.has(node) ? lanes : []))]
      if (nodes.size * perNode <= taken.length) return undefined
      const counts = Map.groupBy(taken, (lane) => lane)
      const countOf = (lane: number) => counts.get(lane)?.length ?? 0
      const emptiest = numbers.reduce((best, lane) => (countOf(lane) < countOf(best) ? lane : best), 0)
      coming.push(emptiest)
      return emptiest
    },
  }
}
