/** The state machine of a deletion: data is deleted only after its node label is removed and no pod uses it. */
import { DELETE_IN_USE_ANNOTATION } from '../../../api/lodestone.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { DeletionState, DeletionStatus } from '../../../api/volume-status.ts'
import { listNames } from '../../../base/names.ts'
import { MESSAGES } from '../codes.ts'
import type { VolumeUser } from '../input.ts'
import { type MoverFailure, overdue, REJECTED } from '../mover/observed-state.ts'
import { fromTime } from '../time.ts'
import {
  enter,
  inQueue,
  isRetryDue,
  mayBeAccepted,
  type Observation,
  ROOM_MS,
  stepWork,
  type Transition,
  untilRetry,
  withoutProgress,
} from './transition.ts'

export interface DeletionObservation extends Observation {
  /** Whether the Node object does not exist any more. Then the data counts as deleted. */
  nodeGone: boolean
  /** Whether the node has the data as a leftover (nodes/leftovers.ts). Then another loop deletes the data. */
  isLeftover: boolean
  /** Whether the node is ready. A mover on a node that is not ready would only occupy a slot. */
  nodeReady: boolean
  /** Whether the node still has a label for the data, so that pods may be scheduled to it. */
  labelled: boolean
  /** The pods on that node that have the data mounted. */
  users: readonly VolumeUser[]
  /** Whether a PersistentVolume for the data exists: its claim is deleted first. */
  claimed: boolean
  /** Whether the data may be deleted although pods use it. */
  evenInUse: boolean
  /** The mover that writes the data; undefined if none does. */
  writer: DataWriter | undefined
}

/** A mover whose Pod exists, and whose task is to write data. */
export interface DataWriter {
  /** `namespace/name`. */
  pod: string
  hasEnded: boolean
}

type Step = Transition<DeletionStatus> | undefined

/** The next status of a deletion; undefined when the data is gone, or a leftover of its node. */
export function stepDeletion(deletion: DeletionStatus, observed: DeletionObservation): Step {
  return observed.nodeGone || observed.isLeftover ? undefined : STATES[deletion.state](deletion, observed)
}

const STATES: Readonly<Record<DeletionState, (deletion: DeletionStatus, observed: DeletionObservation) => Step>> = {
  Waiting: stepWaiting,
  Queued: stepWaiting,
  Deleting: stepDeleting,
  Failed: (deletion, observed) => {
    const isDue =
      isRetryDue(deletion, observed.now) ||
      mayBeAccepted(observed.retryTriggers, deletion) ||
      (['node', 'spec'] as const).some((trigger) => observed.retryTriggers.has(trigger))
    if (!isDue) return untilRetry(deletion, observed.now)
    return queueOrWait({ ...deletion, attempt: deletion.attempt + 1 }, observed)
  },
}

/** Whether an annotation allows the deletion of data that pods use. */
export function isDeletedInUse({ metadata }: VolumeManager): boolean {
  return metadata.annotations?.[DELETE_IN_USE_ANNOTATION] === 'true'
}

/** Enters Deleting, for a mover that is created now. */
export function startDeleting(deletion: DeletionStatus, now: number): DeletionStatus {
  return enter(withoutProgress(deletion) as DeletionStatus, 'Deleting', now)
}

/**
 * Steps a deletion that waits. If it has a mover, the controller was stopped between the creation of the mover and the write of the status.
 */
function stepWaiting(deletion: DeletionStatus, observed: DeletionObservation): Step {
  return observed.mover
    ? stepDeleting(startDeleting(deletion, observed.now), observed)
    : queueOrWait(deletion, observed)
}

/**
 * How often a waiting deletion is checked, and how long it waits after its node label was removed. The cache may receive a pod that was
 * scheduled before that with such a delay.
 */
export const LABEL_GRACE_MS = 3_000

function queueOrWait(deletion: DeletionStatus, observed: DeletionObservation): Step {
  const { now } = observed
  const obstacle = deletionObstacle(deletion, observed)
  const rest = withoutProgress(deletion) as DeletionStatus
  // A rejection stays visible until the next attempt.
  const { reason, message } = deletion
  if (!obstacle) return inQueue(enter(rest, 'Queued', now, reason === REJECTED ? { reason, message } : {}), now)
  const next = enter(rest, 'Waiting', now, obstacle)
  return obstacle.reason === 'NodeUnready' ? inQueue(next, now) : { next, dueAt: now + LABEL_GRACE_MS }
}

function deletionObstacle(
  { nodeLabels, since, state }: DeletionStatus,
  { labelled, users, claimed, evenInUse, writer, nodeReady, now, jumps }: DeletionObservation,
): { reason: string; message: string } | undefined {
  if (users.length > 0 && !evenInUse)
    return { reason: 'InUse', message: MESSAGES.InUse(listNames(users.map(({ pod }) => pod).sort(), MAX_NAMED)) }
  if (claimed && !evenInUse) return { reason: 'Claim', message: MESSAGES.Claim() }
  const isRecent =
    state === 'Waiting' && nodeLabels.length > 0 && now < (fromTime(since, jumps) ?? now) + LABEL_GRACE_MS
  if (labelled || (isRecent && !evenInUse)) return { reason: 'NodeLabel', message: MESSAGES.NodeLabel() }
  // The pods of a node that is not ready do not end until it returns, so the node is the reason.
  if (!nodeReady) return { reason: 'NodeUnready', message: MESSAGES.NodeUnready() }
  if (!writer) return undefined
  return { reason: 'MoverRunning', message: MESSAGES.MoverRunning(writer.hasEnded ? writer.pod : undefined) }
}

const MAX_NAMED = 3

/** Steps a deletion with a mover. The retry delay is the same for all failures, permanent ones too: other data may need the disk. */
function stepDeleting(deletion: DeletionStatus, observed: DeletionObservation): Step {
  const { mover, writer } = observed
  // A mover that the scheduler placed meanwhile may have written data after the deletion.
  if (mover?.kind === 'succeeded' && writer)
    return queueOrWait({ ...deletion, attempt: deletion.attempt + 1 }, observed)
  const failure = mover?.kind === 'failed' ? { ...mover, retry: true } : withoutRoom(deletion, observed)
  return stepWork(deletion, failure ? { ...observed, mover: failure } : observed)
}

/** The failure of a mover for which its node has had no room for too long; undefined for any other. Other deletions need its slot. */
function withoutRoom({ since }: DeletionStatus, { mover, now, jumps }: DeletionObservation): MoverFailure | undefined {
  // The scheduler has not looked yet at a mover that only starts.
  if (mover?.kind !== 'waiting' || mover.node !== undefined || mover.reason === 'Starting') return undefined
  const waitedMs = now - (fromTime(since, jumps) ?? now)
  return waitedMs > ROOM_MS ? overdue('PrepareTimeout', MESSAGES.PrepareTimeout(mover.message), undefined) : undefined
}
