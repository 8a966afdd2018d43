/**
 * The state machine of one replica: computes its next status from its status and the observed state. It tries other nodes before those on which
 * its movers failed.
 */
import { MAX_NODE_FAILURES } from '../../../api/schemas/volume-status.ts'
import type { NodeFailure, ReplicaState, ReplicaStatus } from '../../../api/volume-status.ts'
import { without } from '../../../base/json.ts'
import { backoffMs } from '../../../base/time/backoff.ts'
import { onPresentClock } from '../../../base/time/clock-jumps.ts'
import { MESSAGES } from '../codes.ts'
import { DELETED, isForNode, type MoverFailure, type MoverSuccess, overdue } from '../mover/observed-state.ts'
import { fromTime, toTime } from '../time.ts'
import type { Observation, Transition } from './transition.ts'
import * as transition from './transition.ts'

/** The observed state of a replica: its mover, its node and its pods. */
export interface ReplicaObservation extends Observation {
  /** Its node; undefined when it has none. */
  node: NodeState | undefined
  /** Whether another replica of the same data is ready on the node of its mover. */
  nodeHasData: boolean
  /** Whether a pod that has no node yet needs the data. */
  isDemanded: boolean
  /** The source type of its volume; undefined for a volume that is no longer in the spec. */
  sourceType: string | undefined
}

/** `gone`: the Node object does not exist. */
export type NodeState =
  | { kind: 'deleted' }
  | { kind: 'present'; uid: string | undefined; unreadySince: number | undefined; isReady: boolean }

type Step = Transition<ReplicaStatus>

const STATES: Readonly<Record<ReplicaState, (replica: ReplicaStatus, observed: ReplicaObservation) => Step>> = {
  // If a mover exists, the controller was stopped between the creation of the mover and the write of the status.
  Queued: (replica, observed) =>
    observed.mover
      ? stepMoving(start(replica, observed).next, observed)
      : transition.inQueue(unpinned(replica, observed.node), observed.now),
  Starting: stepMoving,
  Downloading: stepMoving,
  Failed: stepFailed,
  Ready: stepPlaced,
  Unreachable: stepPlaced,
  Evicted: (replica, { isDemanded, now }) =>
    isDemanded ? queueAgain(replica, 'Demanded', MESSAGES.Demanded(), now) : { next: replica },
}

/** The next status of a replica. */
export function stepReplica(replica: ReplicaStatus, observed: ReplicaObservation): Step {
  return STATES[replica.state](replica, observed)
}

/** Whether the data of a replica is complete on its node. */
export function isReady({ state }: ReplicaStatus): boolean {
  return state === 'Ready'
}

/** Whether pods can use a replica: when it is complete, and from its first bytes when it is a stream. */
export function isUsable(replica: ReplicaStatus, sourceType: string | undefined): boolean {
  const { state, bytes = 0, node } = replica
  return isReady(replica) || (sourceType === 'Stream' && state === 'Downloading' && bytes > 0 && node !== undefined)
}

/** Enters Starting, for a mover that is created now. */
export function start(replica: ReplicaStatus, present: Pick<ReplicaObservation, 'settings' | 'now' | 'jumps'>): Step {
  return starting(replica, { reason: 'Starting', message: MESSAGES.Starting() }, present)
}

function starting(
  replica: ReplicaStatus,
  explanation: { reason: string; message: string },
  { settings, now, jumps }: Pick<ReplicaObservation, 'settings' | 'now' | 'jumps'>,
): Step {
  const next = transition.enter(replica, 'Starting', now, explanation)
  const timeoutAt = sinceOf(next, { now, jumps }) + settings.movers.prepareTimeoutSeconds * 1000
  return { next, dueAt: Math.min(now + transition.PROGRESS_MS, timeoutAt) }
}

/** Queues a replica whose data a check found lost. The next mover on its node keeps only files that it has verified. */
export function lose(replica: ReplicaStatus, { code, message }: MoverFailure, now: number): Step {
  const rest = without(replica, 'inUse')
  return queueAgain({ ...rest, isDamaged: true }, code, message, now)
}

/** The replaced trees on the node of a replica after a mover. A mover that was killed may have replaced a tree without a report. */
export function treesOf(
  { oldTrees: before = 0, replacedTime }: ReplicaStatus,
  { oldTrees = 0, replaced, endTime }: MoverSuccess,
): Pick<ReplicaStatus, 'oldTrees' | 'replacedTime'> {
  if (oldTrees === 0) return {}
  const time = replaced || oldTrees > before ? endTime : replacedTime
  return { oldTrees, ...(time && { replacedTime: time }) }
}

/** Queues the replica for another mover, and drops its failures. */
function queueAgain(replica: ReplicaStatus, reason: string, message: string, now: number): Step {
  const rest = withoutProgress(withoutFailures(replica))
  const next = transition.enter({ ...rest, attempt: replica.attempt + 1 }, 'Queued', now, { reason, message })
  return transition.inQueue(next, now)
}

/** Retries at the retry time, or earlier after a change that may have repaired the cause. */
function stepFailed(replica: ReplicaStatus, { node, retryTriggers, now }: ReplicaObservation): Step {
  const { reason, message } = replica
  const isDue =
    transition.isRetryDue(replica, now) ||
    transition.hasNewInput(retryTriggers) ||
    transition.mayBeAccepted(retryTriggers, replica) ||
    (retryTriggers.has('node') && (isForNode(reason) || replica.nodeFailures !== undefined))
  const rest = unpinned(replica, node)
  if (!isDue) return transition.untilRetry(rest, now)
  // Another spec may suit nodes on which the old one failed.
  const known = retryTriggers.has('spec') ? withoutFailures(rest) : rest
  const again = { ...known, attempt: replica.attempt + 1 }
  return transition.inQueue(transition.enter(again, 'Queued', now, { reason, message }), now)
}

function stepMoving(replica: ReplicaStatus, observed: ReplicaObservation): Step {
  const { mover, now, settings } = observed
  if (!mover) return fail(replica, DELETED, now)
  switch (mover.kind) {
    case 'failed':
      return fail(replica, mover, now)
    case 'succeeded':
      return observed.nodeHasData ? queueElsewhere(replica, mover.node, now) : arrive(replica, mover, observed)
    case 'waiting': {
      if (now - sinceOf(replica, observed) > settings.movers.prepareTimeoutSeconds * 1000) {
        return fail(replica, overdue('PrepareTimeout', MESSAGES.PrepareTimeout(mover.message), mover.node), now)
      }
      return starting(replica, mover, observed)
    }
    case 'preempted':
      return transition.preempt({ ...replica, ...(mover.node && { node: mover.node }) }, now)
    default:
      return stepRunning(replica, mover.node, observed)
  }
}

function stepRunning(replica: ReplicaStatus, node: string | undefined, observed: ReplicaObservation): Step {
  const { progress, now, jumps, settings } = observed
  const running = transition.enter(replica, 'Downloading', now, { reason: 'Downloading' })
  const placed = { ...running, ...(node && { node }) }
  // While the mover lists a bucket, only the total grows.
  const { bytes, totalBytes = replica.totalBytes } = progress ?? {}
  const isNew = progress?.attempt === replica.attempt && (bytes !== replica.bytes || totalBytes !== replica.totalBytes)
  if (isNew) {
    const total = totalBytes === undefined ? {} : { totalBytes }
    return downloading({ ...placed, bytes: progress.bytes, ...total, progressTime: toTime(now) }, observed)
  }
  const since = sinceOf(placed, observed)
  const lastProgress = Math.max(fromTime(replica.progressTime, jumps) ?? since, since)
  return now - lastProgress > settings.movers.progressTimeoutSeconds * 1000
    ? fail(placed, overdue('Stalled', MESSAGES.Stalled(), node), now)
    : downloading(placed, observed)
}

/** How often a stream without bytes is checked. Its pods wait only for the first bytes. */
const FIRST_BYTES_MS = 5_000

function downloading(next: ReplicaStatus, { sourceType, now }: ReplicaObservation): Step {
  const isAwaited = sourceType === 'Stream' && !isUsable(next, sourceType)
  return { next, dueAt: now + (isAwaited ? FIRST_BYTES_MS : transition.PROGRESS_MS) }
}

function arrive(replica: ReplicaStatus, mover: MoverSuccess, observed: ReplicaObservation): Step {
  const { node, bytes, endTime } = mover
  const rest = without(
    withoutFailures(replica),
    'progressTime',
    'totalBytes',
    'lastEndTime',
    'isDamaged',
    'oldTrees',
    'replacedTime',
  )
  const uid = observed.node?.kind === 'present' ? observed.node.uid : undefined
  const endMs = fromTime(endTime)
  const arrived = {
    ...rest,
    ...(node && { node }),
    ...(uid && { nodeUID: uid }),
    ...(bytes !== undefined && { bytes }),
    ...treesOf(replica, mover),
    // Pods that ended before this time used other data. Times are exact to one second, so a pod that ended in the same second may have used
    // this data.
    ...(endMs !== undefined && { lastEndTime: toTime(endMs - 1000) }),
  }
  return { next: transition.enter(arrived, 'Ready', observed.now), dueAt: lossAt(observed) }
}

/** Steps a replica whose data is on a node. Its state follows the state of the node. */
function stepPlaced(replica: ReplicaStatus, observed: ReplicaObservation): Step {
  const { node, now } = observed
  const { node: name, nodeUID, inUse: _inUse, ...rest } = replica
  if (name === undefined) return { next: replica }
  if (node === undefined || node.kind === 'deleted') return queueAgain(rest, 'NodeGone', MESSAGES.NodeGone(name), now)
  if (node.uid !== undefined && nodeUID !== undefined && node.uid !== nodeUID) {
    // The disk of the new node may be the old one. A mover checks it, and downloads only missing data.
    const { nodeUID: _, ...onNode } = replica
    return queueAgain(onNode, 'NodeReplaced', MESSAGES.NodeReplaced(name), now)
  }
  if (node.isReady) return { next: transition.enter(replica, 'Ready', now) }
  const lostAt = lossAt(observed) ?? now
  if (now < lostAt) return { next: replica, ...(isReady(replica) && { dueAt: lostAt }) }
  const explanation = { reason: 'NodeNotReady', message: MESSAGES.NodeNotReady(name) }
  return { next: transition.enter(replica, 'Unreachable', now, explanation) }
}

/** When the replica counts as lost because its node is not ready; undefined while the node is ready. */
function lossAt({ node, settings, now, jumps }: ReplicaObservation): number | undefined {
  if (node?.kind !== 'present' || node.isReady) return undefined
  return onPresentClock(node.unreadySince ?? now, jumps) + settings.nodeLossSeconds * 1000
}

function fail(replica: ReplicaStatus, failure: MoverFailure, now: number): Step {
  const rest = without(replica, 'node', 'nodeUID', 'isPermanent')
  const node = failure.node ?? replica.node
  const isPermanent = !failure.retry && { isPermanent: true }
  // The size of the data decides on which nodes the next attempt may be.
  const size = failure.totalBytes !== undefined && { totalBytes: failure.totalBytes }
  if (node === undefined || failure.nodeFault === 'no') {
    return transition.fail({ ...rest, ...(node && { node }), ...size, ...isPermanent }, failure, now)
  }
  const bytes = failure.bytes ?? replica.bytes ?? 0
  const nodeFailures = recordNodeFailure(replica.nodeFailures, { node, reason: failure.code, bytes }, now)
  const continues = failure.nodeFault === 'maybe' && mayContinue(nodeFailures)
  const placed = continues ? { ...rest, node } : withoutProgress(rest)
  return transition.fail({ ...placed, ...size, nodeFailures, ...isPermanent }, failure, now)
}

function withoutProgress(replica: ReplicaStatus): ReplicaStatus {
  return without(replica, 'bytes', 'totalBytes', 'progressTime')
}

/** Queues the replica for another node, because this node has another replica of the same data. This is not a failure. */
function queueElsewhere(replica: ReplicaStatus, node: string | undefined, now: number): Step {
  const rest = without(withoutProgress(replica), 'node', 'nodeUID')
  const explanation = { reason: 'NodeTaken', message: MESSAGES.NodeTaken(node ?? '') }
  return transition.inQueue(
    transition.enter({ ...rest, attempt: replica.attempt + 1 }, 'Queued', now, explanation),
    now,
  )
}

function withoutFailures(replica: ReplicaStatus): ReplicaStatus {
  return without(replica, 'failures', 'nodeFailures', 'isPermanent', 'retryTime', 'preemptions')
}

/** Drops the node of a replica if the node does not exist any more. Otherwise the replica continues on it. */
function unpinned(replica: ReplicaStatus, node: NodeState | undefined): ReplicaStatus {
  if (replica.node === undefined || node?.kind !== 'deleted') return replica
  return without(withoutProgress(replica), 'node', 'nodeUID')
}

function sinceOf({ since }: ReplicaStatus, { now, jumps }: Pick<ReplicaObservation, 'now' | 'jumps'>): number {
  return fromTime(since, jumps) ?? now
}

const BACKOFF = { firstMs: 60_000, lastMs: 3_600_000 }

/** The failures without progress after which a replica leaves a node that has a part of its data. */
const MAX_FAILURES_WITH_DATA = 3

/** Adds a failure on a node. Beyond `MAX_NODE_FAILURES`, the oldest entries are dropped. */
export function recordNodeFailure(
  known: readonly NodeFailure[] = [],
  { node, reason, bytes }: Pick<NodeFailure, 'node' | 'reason'> & { bytes: number },
  now: number,
): NodeFailure[] {
  const isSame = (one: NodeFailure) => one.node === node && one.reason === reason
  const hasProgress = known.every((one) => one.node !== node || bytes > (one.bytes ?? 0))
  const failures = hasProgress ? 1 : (known.find(isSame)?.failures ?? 0) + 1
  const retryTime = toTime(now + backoffMs(BACKOFF, failures))
  const added = { node, reason, failures, ...(bytes > 0 && { bytes }), retryTime }
  return [...known.filter((one) => !isSame(one)), added].slice(-MAX_NODE_FAILURES)
}

/** Whether the next attempt continues on the node of the last failure: it has a part of the data, and attempts still add to it. */
export function mayContinue(failures: readonly NodeFailure[]): boolean {
  const last = failures.at(-1)
  return last?.bytes !== undefined && last.failures < MAX_FAILURES_WITH_DATA
}

/**
 * The nodes that the next mover must not use: all nodes with failures while another node is free. If every free node has failures, these are
 * the nodes whose back-off is not over. If no back-off is over, only the node whose back-off ends first remains.
 *
 * @param free the nodes that can take the replica now
 */
export function nodesToAvoid(
  failures: readonly NodeFailure[],
  free: ReadonlySet<string>,
  now: number,
): ReadonlySet<string> {
  const retryAt = new Map<string, number>()
  for (const { node, retryTime } of failures) {
    retryAt.set(node, Math.max(retryAt.get(node) ?? 0, fromTime(retryTime) ?? 0))
  }
  const failed = new Set(retryAt.keys())
  if ([...free].some((node) => !failed.has(node))) return failed
  const earliest = Math.min(...[...free].map((node) => retryAt.get(node) ?? 0))
  return new Set([...failed].filter((node) => (retryAt.get(node) ?? 0) > Math.max(now, earliest)))
}
