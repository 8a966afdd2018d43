/** Finds what Events report about the new status of a volume: replicas that fail, are lost or are evicted, and uploads and deletions that fail. */

import type { DeletionStatus, ReplicaState, ReplicaStatus, VolumeStatus } from '../../../api/volume-status.ts'
import type { EventReason } from '../../signal-tables.ts'
import { preemptedWork, type StateStatus } from '../replica/transition.ts'
import { isLeftForNext, lastFailure } from '../replica/upload.ts'

/** What one Event reports. */
export interface Change {
  node: string | undefined
  reason: EventReason
  text: string
}

/** Returns the changes of a volume that Events report. A new volume, replica or deletion has none. */
export function listChanges(
  before: VolumeStatus | undefined,
  { replicas = [], deletions = [] }: VolumeStatus,
): Change[] {
  return [
    ...pairByIndex(before?.replicas, replicas).flatMap(([old, replica]) => replicaChanges(old, replica)),
    ...pairByIndex(before?.deletions, deletions).flatMap(([old, deletion]) => deletionChanges(old, deletion)),
  ]
}

/** The statuses that existed before, each with its new one. */
function pairByIndex<T extends { index: number }>(before: readonly T[] = [], after: readonly T[]): [T, T][] {
  return after.flatMap((one): [T, T][] => {
    const old = before.find(({ index }) => index === one.index)
    return old === undefined ? [] : [[old, one]]
  })
}

/** The new state of a replica, an upload that failed, and work whose mover was preempted. */
function replicaChanges(old: ReplicaStatus, replica: ReplicaStatus): Change[] {
  const isLost = old.state === 'Ready' && replica.state === 'Queued'
  const reason = EVENT_REASONS[replica.state] ?? (isLost ? 'ReplicaLost' : undefined)
  const { upload } = replica
  const node = replica.node ?? old.node
  const isNews = old.state !== replica.state && !isRepeated(old.message, replica.message)
  const isNewFailure = upload?.state === 'Failed' && old.upload?.state !== 'Failed' && !isLeftForNext(upload)
  const before = old.upload && lastFailure(old.upload)
  return [
    ...preemptedWork(old, replica).map((work) => ({ node, reason: 'MoverPreempted' as const, text: stateText(work) })),
    ...(reason !== undefined && isNews ? [{ node, reason, text: stateText(replica) }] : []),
    ...(isNewFailure && !isRepeated(before, lastFailure(upload))
      ? [{ node, reason: 'WriteBackFailed' as const, text: stateText(upload) }]
      : []),
  ]
}

function deletionChanges(old: DeletionStatus, deletion: DeletionStatus): Change[] {
  const isNews = deletion.state === 'Failed' && old.state !== 'Failed' && !isRepeated(old.message, deletion.message)
  return isNews ? [{ node: deletion.node, reason: 'DeletionFailed', text: stateText(deletion) }] : []
}

function stateText({ state, reason, message }: StateStatus): string {
  return `${reason ?? state}${message ? `: ${message}` : ''}`
}

/** Whether two attempts failed in the same way. The API server names the Pod, whose name has the number of the attempt, and the used quota. */
export function isRepeated(before: string | undefined, after: string | undefined): boolean {
  const withoutNumbers = (text = '') => text.replaceAll(/\d+/g, '')
  return before !== undefined && withoutNumbers(before) === withoutNumbers(after)
}

const EVENT_REASONS: Readonly<Partial<Record<ReplicaState, EventReason>>> = {
  Failed: 'MoverFailed',
  Unreachable: 'ReplicaUnreachable',
  Evicted: 'ReplicaEvicted',
}
