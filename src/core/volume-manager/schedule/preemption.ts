/**
 * Preempts movers: one that is slow, or that has run long, gives its slot to a namespace that waits and has fewer movers. So does one for which no
 * node has room. Without such a namespace, each mover runs until it ends.
 */
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { Present } from '../../../base/time/clock-jumps.ts'
import type { MoverProgress } from '../input.ts'
import { isUnschedulable, nodeOfMover } from '../mover/affinity.ts'
import { buildTask, findMover } from '../mover/task.ts'
import { ROOM_MS } from '../replica/transition.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { fromTime } from '../time.ts'
import { type QueueEntry, queueEntries, RANK } from './queue.ts'
import { grantSlots, namespaceOfMover, type SharesInput } from './shares.ts'
import { shareKey } from './turns.ts'

/** Over how long the rate of a mover is measured, in ms. */
export const RATE_WINDOW_MS = 300_000

/** Each preemption doubles the time of the next mover for the same work, so that work that begins again each time ends too. */
const MAX_DOUBLINGS = 3

export interface OverdueInput extends Present {
  manager: VolumeManager
  /** The movers of the VolumeManager, by name. */
  movers: ReadonlyMap<string, Pod>
  progress: ReadonlyMap<string, MoverProgress>
  settings: Pick<VolumeSettings['movers'], 'preemptAfterSeconds' | 'minBytesPerSecond'>
}

/**
 * The movers of a VolumeManager that may be preempted. Deletions and checks are none of them: they need no server, and a check begins again.
 * An upload that is stopped loses nothing: the next one compares the files with their objects.
 */
export function overdueMovers(input: OverdueInput): Pod[] {
  const { manager, movers } = input
  return (manager.status?.volumes ?? []).flatMap(({ id, replicas = [] }) =>
    replicas.flatMap(({ upload, maintenance, ...replica }) => {
      const { index } = replica
      const works = [
        ...(replica.state === 'Downloading' || replica.state === 'Starting'
          ? [{ ...replica, role: 'replica' as const }]
          : []),
        ...(upload?.state === 'Uploading' ? [{ ...upload, role: 'upload' as const }] : []),
        ...(maintenance?.state === 'Running' && maintenance.kind === 'Refresh'
          ? [{ ...maintenance, role: 'maintenance' as const }]
          : []),
      ]
      return works.flatMap(({ role, attempt, ...work }) => {
        const pod = findMover(manager, buildTask(manager, id, role, { index, attempt }), movers)
        return pod && isOverdue(pod, work, input) ? [pod] : []
      })
    }),
  )
}

/** Whether a mover has had its slot for long enough. One for which no node has room has done nothing, so its time is short and never doubled. */
function isOverdue(
  pod: Pod,
  { since, preemptions = 0 }: { since?: string; preemptions?: number },
  { progress, settings, now, jumps }: OverdueInput,
): boolean {
  if (pod.metadata.deletionTimestamp) return false
  const sinceMs = now - (fromTime(since, jumps) ?? now)
  if (isUnschedulable(pod)) return sinceMs > ROOM_MS
  if (pod.status?.phase !== 'Running') return false
  const ranMs = sinceMs / 2 ** Math.min(preemptions, MAX_DOUBLINGS)
  const { bytesPerSecond = Number.POSITIVE_INFINITY } = progress.get(pod.metadata.name ?? '') ?? {}
  const isSlow = ranMs >= RATE_WINDOW_MS && bytesPerSecond < settings.minBytesPerSecond
  return isSlow || ranMs >= settings.preemptAfterSeconds * 1000
}

export interface PreemptionInput extends SharesInput {
  /** Whether a Pod that has not ended is being stopped: its slot is free soon. */
  isStopping: (pod: Pod) => boolean
  /** Whether a download that found no node could run on this one. */
  couldRunOn: (entry: QueueEntry, node: string) => boolean
}

/**
 * The first of these movers whose slot another namespace waits for; undefined if there is none. The other namespace has fewer movers: in the
 * cluster if it has no free slot, or on the node if that has none.
 */
export function moverToPreempt(overdue: readonly Pod[], input: PreemptionInput): Pod | undefined {
  if (overdue.length === 0) return undefined
  const { waiting, settings, isBlocked = () => false, isStopping, couldRunOn } = input
  const staying = input.active.filter((pod) => !pod.metadata.deletionTimestamp && !isStopping(pod))
  const { granted, counts, isFull } = grantSlots({ ...input, active: staying }, ({ rank }) => rank !== RANK.stuck)
  const served = new Set(granted)
  const isClusterFull = staying.length + granted.length >= settings.maxInAll
  const countOf = (namespace: string, node?: string) => counts.get(shareKey(namespace, node)) ?? 0
  const left = waiting.flatMap(queueEntries).filter((entry) => entry.rank !== RANK.maintenance && !served.has(entry))

  function isClaimed(pod: Pod): boolean {
    const own = namespaceOfMover(pod)
    const node = nodeOfMover(pod)
    return left.some((entry) => {
      const { namespace, rank } = entry
      if (namespace === own || isBlocked(entry)) return false
      const isStuck = rank === RANK.stuck
      const hasNode = entry.node === undefined || entry.node === node || !isFull(entry.node)
      if (!isStuck && isClusterFull && hasNode && countOf(namespace) < countOf(own)) return true
      if (node === undefined || !isFull(node) || countOf(namespace, node) >= countOf(own, node)) return false
      return isStuck ? couldRunOn(entry, node) : entry.node === node
    })
  }
  return overdue.find(isClaimed)
}
