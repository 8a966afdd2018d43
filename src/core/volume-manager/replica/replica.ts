/** One replica, one step: from its state and what is seen of its mover and its node to the state that it is in now. */
import type { ReplicaState, ReplicaStatus } from '../../../api/volume-manager.ts'
import type { MoverSight } from '../mover/observed-mover.ts'
import {
  BEGINNING,
  DELETED,
  isForNode,
  type MoverFailure,
  type MoverSuccess,
  overdue,
} from '../mover/observed-state.ts'
import { retryDelayMs } from '../schedule/backoff.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { fromTime, toTime } from '../status/time.ts'

/** What is seen around a replica. */
export interface ReplicaSight extends MoverSight {
  /** Its node; undefined when it has none. `gone`: the Node object is. */
  node: NodeSight | undefined
  /** Whether another replica of the same data is ready on the node of its mover. */
  nodeHasData: boolean
  settings: VolumeSettings
  now: number
}

export type NodeSight =
  | { kind: 'gone' }
  | { kind: 'present'; uid: string | undefined; unreadySince: number | undefined; isReady: boolean }

/** Whether the data of a replica can be used. */
export function isReady({ state }: ReplicaStatus): boolean {
  return state === 'Ready'
}

/** The replica as it is now. What is to be done about it is decided elsewhere. */
export function stepReplica(replica: ReplicaStatus, sight: ReplicaSight): ReplicaStatus {
  const step = STEPS[replica.state]
  return step(replica, sight)
}

type Step = (replica: ReplicaStatus, sight: ReplicaSight) => ReplicaStatus

const STEPS: Readonly<Record<ReplicaState, Step>> = {
  // A mover that is there although none was noted: whoever made it was stopped before it could write that down.
  Queued: (replica, sight) =>
    sight.mover ? stepMoving(start(replica, sight.now), sight) : unpinned(replica, sight.node),
  Starting: stepMoving,
  Downloading: stepMoving,
  Failed: (replica, sight) => {
    if (!isDue(replica, sight)) return unpinned(replica, sight.node)
    const { retryTime: _, ...rest } = unpinned(replica, sight.node)
    return enter({ ...rest, attempt: replica.attempt + 1 }, 'Queued', sight.now, replica.reason, replica.message)
  },
  Ready: stepPlaced,
  Unreachable: stepPlaced,
  Evicted: (replica) => replica,
}

/** When its time has come, or what it failed for may have been mended. */
function isDue({ retryTime, reason }: ReplicaStatus, { mended, now }: ReplicaSight): boolean {
  if (now >= (fromTime(retryTime) ?? 0) || mended.has('secret')) return true
  return mended.has('node') && isForNode(reason)
}

/** A mover was made for it. */
export function start(replica: ReplicaStatus, now: number): ReplicaStatus {
  return enter(replica, 'Starting', now, BEGINNING.reason, BEGINNING.message)
}

/** It is needed again, or anew: the next mover is another one. */
export function queueAgain(replica: ReplicaStatus, now: number, reason: string, message: string): ReplicaStatus {
  const { bytes: _bytes, totalBytes: _total, progressTime: _progress, ...rest } = withoutFailures(replica)
  return enter({ ...rest, attempt: replica.attempt + 1 }, 'Queued', now, reason, message)
}

function stepMoving(replica: ReplicaStatus, sight: ReplicaSight): ReplicaStatus {
  const { mover, now, settings } = sight
  if (!mover) return fail(replica, { ...DELETED, ...(replica.node && { node: replica.node }) }, now)
  switch (mover.kind) {
    case 'failed':
      return fail(replica, mover, now)
    case 'succeeded':
      return sight.nodeHasData ? lookElsewhere(replica, mover.node, now) : arrive(replica, mover, sight)
    case 'waiting': {
      if (now - sinceOf(replica, now) > settings.movers.prepareTimeoutSeconds * 1000) {
        return fail(replica, overdue('PrepareTimeout', `not begun in time: ${mover.message}`, mover.node), now)
      }
      return enter(replica, 'Starting', now, mover.reason, mover.message)
    }
    default:
      return stepRunning(replica, mover.node, sight)
  }
}

function stepRunning(replica: ReplicaStatus, node: string | undefined, sight: ReplicaSight): ReplicaStatus {
  const { progress, now, settings } = sight
  const running = replica.state === 'Downloading' ? replica : enter(replica, 'Downloading', now, 'Downloading', '')
  const placed = { ...running, ...(node && { node }) }
  // While it lists a bucket it is the total that grows.
  const { bytes, totalBytes = replica.totalBytes } = progress ?? {}
  const isNews = progress?.attempt === replica.attempt && (bytes !== replica.bytes || totalBytes !== replica.totalBytes)
  if (isNews) {
    return {
      ...placed,
      bytes: progress.bytes,
      ...(totalBytes !== undefined && { totalBytes }),
      progressTime: toTime(now),
    }
  }
  const heard = fromTime(replica.progressTime) ?? sinceOf(placed, now)
  if (now - Math.max(heard, sinceOf(placed, now)) > settings.movers.progressTimeoutSeconds * 1000) {
    return fail(placed, overdue('Stalled', 'no byte came for too long', node), now)
  }
  return placed
}

function arrive(
  replica: ReplicaStatus,
  { node, bytes, endTime }: MoverSuccess,
  { now, node: seen }: ReplicaSight,
): ReplicaStatus {
  const { progressTime: _progress, totalBytes: _total, lastEndTime: _end, ...rest } = withoutFailures(replica)
  const uid = seen?.kind === 'present' ? seen.uid : undefined
  const endMs = fromTime(endTime)
  return enter(
    {
      ...rest,
      ...(node && { node }),
      ...(uid && { nodeUID: uid }),
      ...(bytes !== undefined && { bytes }),
      // Pods that ended before had other data, or none. In that very second, which is as exact as these times are, one may have had these.
      ...(endMs !== undefined && { lastEndTime: toTime(endMs - 1000) }),
    },
    'Ready',
    now,
  )
}

/** Data that is on a node: it is as safe as the node. */
function stepPlaced(replica: ReplicaStatus, { node, now, settings }: ReplicaSight): ReplicaStatus {
  if (replica.node === undefined) return replica
  if (node === undefined || node.kind === 'gone') {
    const { node: name, nodeUID: _, inUse: _inUse, ...rest } = replica
    return queueAgain(rest, now, 'NodeGone', `node ${name} is gone`)
  }
  if (node.uid !== undefined && replica.nodeUID !== undefined && node.uid !== replica.nodeUID) {
    // The disk may be the old one or an empty one; a mover finds out, and downloads only what is not there.
    const { nodeUID: _, ...rest } = replica
    return queueAgain(rest, now, 'NodeReplaced', `node ${replica.node} was made anew; its data is looked at`)
  }
  const lostAt = node.isReady ? undefined : (node.unreadySince ?? now) + settings.nodeLossSeconds * 1000
  if (lostAt !== undefined && now >= lostAt) {
    return enter(replica, 'Unreachable', now, 'NodeNotReady', `node ${replica.node} does not answer`)
  }
  return node.isReady && replica.state === 'Unreachable' ? enter(replica, 'Ready', now) : replica
}

function fail(replica: ReplicaStatus, failure: MoverFailure, now: number): ReplicaStatus {
  const { node: _node, nodeUID: _uid, isPermanent: _permanent, ...rest } = replica
  const node = failure.node ?? replica.node
  const failures = (replica.failures ?? 0) + 1
  const failed = enter(
    // Where it can go on, it does: what came so far is there.
    {
      ...(failure.elsewhere ? rest : { ...rest, ...(node && { node }) }),
      failures,
      ...(!failure.retry && { isPermanent: true }),
    },
    'Failed',
    now,
    failure.code,
    failure.message,
  )
  return { ...failed, retryTime: toTime(now + retryDelayMs(failures, failure.retry)) }
}

/** Two movers of one volume on one node, one after the other: the data is there, and counts once. Nothing failed, and nobody waits. */
function lookElsewhere(replica: ReplicaStatus, node: string | undefined, now: number): ReplicaStatus {
  const { node: _node, nodeUID: _uid, bytes: _bytes, totalBytes: _total, progressTime: _progress, ...rest } = replica
  const message = `node ${node} has the data already`
  return enter({ ...rest, attempt: replica.attempt + 1 }, 'Queued', now, 'NodeTaken', message)
}

function withoutFailures(replica: ReplicaStatus): ReplicaStatus {
  const { failures: _failures, isPermanent: _permanent, retryTime: _retry, ...rest } = replica
  return rest
}

/** A replica that is to go on where it was, unless that node is no more. */
function unpinned(replica: ReplicaStatus, node: NodeSight | undefined): ReplicaStatus {
  if (replica.node === undefined || node?.kind !== 'gone') return replica
  const { node: _node, nodeUID: _uid, bytes: _bytes, ...rest } = replica
  return rest
}

function sinceOf({ since }: ReplicaStatus, now: number): number {
  return fromTime(since) ?? now
}

/** The time changes with the state and not with its reason. */
function enter(
  replica: ReplicaStatus,
  state: ReplicaState,
  now: number,
  reason?: string,
  message?: string,
): ReplicaStatus {
  const { reason: _reason, message: _message, ...rest } = replica
  return {
    ...rest,
    state,
    ...(reason && { reason }),
    ...(message && { message }),
    since: replica.state === state ? (replica.since ?? toTime(now)) : toTime(now),
  }
}
