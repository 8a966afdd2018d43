/**
 * The state machine of a download: how the data of a replica comes to a node, and whether it is still there. It tries other nodes before
 * those on which its movers failed.
 *
 * | State | Event | Next |
 * | --- | --- | --- |
 * | Queued | its mover gets a slot | Starting |
 * | Starting, Downloading | the mover runs | Downloading |
 * | Starting, Downloading | the mover succeeded | Ready, or Queued if another replica has the data on that node |
 * | Starting, Downloading | the mover failed, was rejected, did not start in time, or stalled | Failed |
 * | Starting, Downloading | the mover was preempted | Queued |
 * | Failed | its retry time has passed, or a change may have repaired the cause | Queued |
 * | Ready, Unreachable | the node was deleted or replaced | Queued |
 * | Ready | the node is not ready for `volumes.nodeLossSeconds` | Unreachable |
 * | Unreachable | the node is ready | Ready |
 * | Ready | a check found that data is lost | Queued |
 * | Ready | its node is short of disk (plan-eviction.ts) | Evicted |
 * | Evicted | a workload needs the data | Queued |
 */
import type { ReplicaDownload, ReplicaState } from '../../../api/volume-status.ts'
import { defined, without } from '../../../base/json.ts'
import { onPresentClock } from '../../../base/time/clock-jumps.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { type EvictionCause, MESSAGES } from '../codes.ts'
import { DELETED, isForNode, type MoverFailure, type MoverSuccess, overdue } from '../mover/observed-state.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { fromTime } from '../time.ts'
import { mayContinue, recordNodeFailure } from './node-failures.ts'
import type { Observation, Transition } from './transition.ts'
import * as transition from './transition.ts'

/** The observed state of a download: its mover, its node and the pods that need it. */
export interface DownloadObservation extends Observation {
  /** Its node; undefined when it has none. */
  node: NodeState | undefined
  /** Whether another replica of the same data is ready on the node of its mover. */
  nodeHasData: boolean
  /** Whether earlier data in the directory is being deleted on the node of its mover. That deletion would delete new data too. */
  isDeletionPending: boolean
  /** Whether a pod that has no node yet needs the data, or work that has no pods yet. */
  isDemanded: boolean
  /** The source type of its volume; undefined for a volume that is no longer in the spec. */
  sourceType: string | undefined
  /** Whether changes of pods are lost with the data, if it is still there. */
  hasChanges: boolean
}

/** `deleted`: the Node object does not exist. */
export type NodeState =
  | { kind: 'deleted' }
  | {
      kind: 'present'
      uid: string | undefined
      /** In ms since the epoch. */
      createdAt?: number | undefined
      unreadySince: number | undefined
      isReady: boolean
    }

/** The next download, and what it means for the use and the maintenance of the data. */
export interface DownloadStep extends Transition<ReplicaDownload> {
  /** The mover with which new data arrived; undefined if none did. */
  arrived?: MoverSuccess
  /** Whether the data is gone with its node. */
  isGone?: true
}

type StepFrom = (download: ReplicaDownload, observed: DownloadObservation) => DownloadStep

const STATES: Readonly<Record<ReplicaState, StepFrom>> = {
  Queued: stepQueued,
  Starting: stepMoving,
  Downloading: stepMoving,
  Failed: stepFailed,
  Ready: stepPlaced,
  Unreachable: stepPlaced,
  Evicted: stepEvicted,
}

/** Computes the next status of a download. */
export function stepDownload(download: ReplicaDownload, observed: DownloadObservation): DownloadStep {
  return STATES[download.state](download, observed)
}

/** If a mover exists, the controller was stopped between the creation of the mover and the write of the status. */
function stepQueued(download: ReplicaDownload, observed: DownloadObservation): DownloadStep {
  return observed.mover
    ? stepMoving(startDownload(download, observed).next, observed)
    : transition.inQueue(unpinned(download, observed.node), observed.now)
}

function stepEvicted(download: ReplicaDownload, { isDemanded, now }: DownloadObservation): DownloadStep {
  return isDemanded ? queueAgain(download, 'Demanded', MESSAGES.Demanded(), now) : { next: download }
}

/** Whether the data of a replica is complete on its node. */
export function isReady({ state }: Pick<ReplicaDownload, 'state'>): boolean {
  return state === 'Ready'
}

/**
 * Whether a replaced node may still have the data, and with it the only copy of changes. A mover that has listed the source did not find it. Before
 * that, a mover reports a total of 0.
 */
export function mayHaveData({ isUnchecked, totalBytes = 0 }: Pick<ReplicaDownload, 'isUnchecked' | 'totalBytes'>) {
  return isUnchecked === true && totalBytes === 0
}

/** Whether pods can use a replica: when it is complete, and from its first bytes when it is a stream. */
export function isUsable(download: ReplicaDownload, sourceType: string | undefined): boolean {
  const { state, bytes = 0, node } = download
  return isReady(download) || (sourceType === 'Stream' && state === 'Downloading' && bytes > 0 && node !== undefined)
}

/** Enters Starting, for a mover that is created now. */
export function startDownload<T extends ReplicaDownload>(download: T, present: StartTime): Transition<T> {
  return starting(download, { reason: 'Starting', message: MESSAGES.Starting() }, present)
}

type StartTime = Pick<DownloadObservation, 'settings' | 'now' | 'jumps'>

function starting<T extends ReplicaDownload>(
  download: T,
  explanation: { reason: string; message: string },
  { settings, now, jumps }: StartTime,
): Transition<T> {
  const next = transition.enter(download, 'Starting', now, explanation)
  const timeoutAt = stateBegin(next, { now, jumps }) + settings.movers.prepareTimeoutSeconds * 1000
  return { next, dueAt: Math.min(now + transition.PROGRESS_MS, timeoutAt) }
}

/** Queues a replica whose data a check found lost. The next mover on its node keeps only files that it has verified. */
export function loseData(
  download: ReplicaDownload,
  { code, message }: MoverFailure,
  now: number,
): Transition<ReplicaDownload> {
  return queueAgain({ ...download, isDamaged: true }, code, message, now)
}

/** Enters Evicted, for data that is deleted because its node is short of disk. */
export function evictData(download: ReplicaDownload, cause: EvictionCause, now: number): ReplicaDownload {
  const { node = '' } = download
  const rest = without(download, 'node', 'nodeUID', 'bytes')
  return { ...rest, state: 'Evicted', reason: cause, message: MESSAGES[cause](node), since: toTime(now) }
}

/** Queues the replica for another mover, and drops its failures. */
function queueAgain(
  download: ReplicaDownload,
  reason: string,
  message: string,
  now: number,
): Transition<ReplicaDownload> {
  const rest = withoutProgress(withoutFailures(download))
  const next = transition.enter({ ...rest, attempt: download.attempt + 1 }, 'Queued', now, { reason, message })
  return transition.inQueue(next, now)
}

/** Retries at the retry time, or earlier after a change that may have repaired the cause. */
function stepFailed(download: ReplicaDownload, { node, retryTriggers, now }: DownloadObservation): DownloadStep {
  const { reason, message } = download
  const isDue =
    transition.isRetryDue(download, now) ||
    transition.hasNewInput(retryTriggers) ||
    transition.mayBeAccepted(retryTriggers, download) ||
    (retryTriggers.has('node') && (isForNode(reason) || download.nodeFailures !== undefined))
  const rest = unpinned(download, node)
  if (!isDue) return transition.untilRetry(rest, now)
  // Another spec may suit nodes on which the old one failed.
  const known = retryTriggers.has('spec') ? withoutFailures(rest) : rest
  const again = { ...known, attempt: download.attempt + 1 }
  return transition.inQueue(transition.enter(again, 'Queued', now, { reason, message }), now)
}

function stepMoving(download: ReplicaDownload, observed: DownloadObservation): DownloadStep {
  const { mover, now, settings } = observed
  if (!mover) return fail(download, DELETED, observed)
  // The scheduler placed the mover after the data of another replica lost its node label there.
  if (mover.kind !== 'failed' && observed.isDeletionPending) {
    return queueElsewhere(download, 'DeletionPending', mover.node, now)
  }
  switch (mover.kind) {
    case 'failed':
      return fail(download, mover, observed)
    case 'succeeded':
      if (observed.nodeHasData) return queueElsewhere(download, 'NodeTaken', mover.node, now)
      return isOfFormerNode(mover, observed)
        ? checkReplaced(onNode(download, mover.node), mover.node ?? '', now)
        : arrive(download, mover, observed)
    case 'waiting': {
      if (now - stateBegin(download, observed) > settings.movers.prepareTimeoutSeconds * 1000) {
        return fail(download, overdue('PrepareTimeout', MESSAGES.PrepareTimeout(mover.message), mover.node), observed)
      }
      return starting(download, mover, observed)
    }
    case 'preempted':
      return transition.preempt(onNode(download, mover.node), now)
    default:
      return stepRunning(download, mover.node, observed)
  }
}

function stepRunning(
  download: ReplicaDownload,
  node: string | undefined,
  observed: DownloadObservation,
): Transition<ReplicaDownload> {
  const { progress, now, jumps, settings } = observed
  const placed = onNode(transition.enter(download, 'Downloading', now, { reason: 'Downloading' }), node)
  // While the mover lists a bucket, only the total grows. It has not counted what an earlier one left on the node.
  const { bytes: counted, totalBytes = download.totalBytes } = progress ?? {}
  const bytes = counted || (download.bytes ?? counted)
  const isNew =
    progress?.attempt === download.attempt && (bytes !== download.bytes || totalBytes !== download.totalBytes)
  if (isNew) return downloading(defined({ ...placed, bytes, totalBytes, progressTime: toTime(now) }), observed)
  const since = stateBegin(placed, observed)
  const lastProgress = Math.max(fromTime(download.progressTime, jumps) ?? since, since)
  return now - lastProgress > settings.movers.progressTimeoutSeconds * 1000
    ? fail(
        placed,
        overdue('Stalled', MESSAGES.Stalled(progress !== undefined || download.progressTime !== undefined), node),
        observed,
      )
    : downloading(placed, observed)
}

/** How often a stream without bytes is checked. Its pods wait only for the first bytes. */
const FIRST_BYTES_MS = 5_000

function downloading(next: ReplicaDownload, { sourceType, now }: DownloadObservation): Transition<ReplicaDownload> {
  const isAwaited = sourceType === 'Stream' && !isUsable(next, sourceType)
  return { next, dueAt: now + (isAwaited ? FIRST_BYTES_MS : transition.PROGRESS_MS) }
}

function arrive(download: ReplicaDownload, mover: MoverSuccess, observed: DownloadObservation): DownloadStep {
  const rest = without(withoutFailures(download), 'progressTime', 'totalBytes', 'isDamaged', 'isUnchecked')
  const whole = defined({ ...rest, bytes: mover.bytes ?? download.bytes })
  if (isOnNoNode(observed)) return { next: withoutNode(whole, observed.now), arrived: mover }
  const uid = observed.node?.kind === 'present' ? observed.node.uid : undefined
  const arrived = defined({ ...onNode(whole, mover.node), nodeUID: uid ?? download.nodeUID })
  return { next: transition.enter(arrived, 'Ready', observed.now), dueAt: lossAt(observed), arrived: mover }
}

/** Whether the data is mounted over the network (NFS). Then the node on which a mover mounted it once means nothing for pods. */
function isOnNoNode({ sourceType = '' }: DownloadObservation): boolean {
  return sourceTypeOf(sourceType).delivery === 'mounted'
}

function withoutNode(download: ReplicaDownload, now: number): ReplicaDownload {
  return transition.enter(without(download, 'node', 'nodeUID'), 'Ready', now)
}

/** Steps a replica whose data is on a node. Its state follows the state of the node. */
function stepPlaced(download: ReplicaDownload, observed: DownloadObservation): DownloadStep {
  const { node, now } = observed
  // An earlier version recorded the node.
  if (isOnNoNode(observed)) return { next: withoutNode(download, now) }
  const { node: name, nodeUID } = download
  if (name === undefined) return { next: download }
  if (node === undefined || node.kind === 'deleted') {
    const rest = without(download, 'node', 'nodeUID')
    return { ...queueAgain(rest, 'NodeGone', MESSAGES.NodeGone(name), now), isGone: true }
  }
  if (node.uid !== undefined && nodeUID !== undefined && node.uid !== nodeUID) {
    return checkReplaced(download, name, now)
  }
  if (node.isReady) return { next: transition.enter(download, 'Ready', now) }
  const lostAt = lossAt(observed) ?? now
  if (now < lostAt) return { next: download, dueAt: isReady(download) ? lostAt : undefined }
  const explanation = { reason: 'NodeNotReady', message: MESSAGES.NodeNotReady(name) }
  return { next: transition.enter(download, 'Unreachable', now, explanation) }
}

/**
 * Queues a replica whose node has the name of the node that had its data. Its disk may be the old one: a mover checks it, and downloads only
 * missing data. A node that may have the data is not left because this mover does not start.
 */
function checkReplaced(download: ReplicaDownload, node: string, now: number): Transition<ReplicaDownload> {
  const queued = queueAgain(without(download, 'nodeUID'), 'NodeReplaced', MESSAGES.NodeReplaced(node), now)
  return { ...queued, next: defined({ ...queued.next, bytes: download.bytes, isUnchecked: true }) }
}

/**
 * Whether a mover ran on an earlier node of the same name. The API server writes both times. A creation in the future is by a clock that was
 * ahead.
 */
function isOfFormerNode({ scheduledAt }: MoverSuccess, { node, now }: DownloadObservation): boolean {
  if (node?.kind !== 'present' || node.createdAt === undefined || scheduledAt === undefined) return false
  return scheduledAt < node.createdAt && node.createdAt <= now
}

/** When the replica counts as lost because its node is not ready; undefined while the node is ready. */
function lossAt({ node, settings, now, jumps }: DownloadObservation): number | undefined {
  if (node?.kind !== 'present' || node.isReady) return undefined
  return onPresentClock(node.unreadySince ?? now, jumps) + settings.nodeLossSeconds * 1000
}

function fail(
  download: ReplicaDownload,
  failure: MoverFailure,
  { hasChanges, now }: Pick<DownloadObservation, 'hasChanges' | 'now'>,
): Transition<ReplicaDownload> {
  const node = failure.node ?? download.node
  const rest = defined({
    ...without(download, 'node', 'nodeUID'),
    isPermanent: failure.retry ? undefined : true,
    // The size of the data decides on which nodes the next attempt may be.
    totalBytes: failure.totalBytes ?? download.totalBytes,
  })
  if (node === undefined || failure.nodeFault === 'no' || (hasChanges && mayHaveData(rest)))
    return transition.fail(onNode(rest, node), failure, now)
  const bytes = failure.bytes || (download.bytes ?? 0)
  const nodeFailures = recordNodeFailure(download.nodeFailures, { node, reason: failure.code, bytes }, now)
  const continues = failure.nodeFault === 'maybe' && mayContinue(nodeFailures)
  const left = defined({ ...without(withoutProgress(rest), 'isUnchecked'), totalBytes: failure.totalBytes })
  return transition.fail({ ...(continues ? onNode(rest, node) : left), nodeFailures }, failure, now)
}

/** The download on the node of its mover, if the mover has one. */
function onNode<T extends ReplicaDownload>(download: T, node: string | undefined): T {
  return node === undefined ? download : { ...download, node }
}

function withoutProgress<T extends ReplicaDownload>(download: T) {
  return without(download, 'bytes', 'totalBytes', 'progressTime')
}

/** Queues the replica for another node, because this node has, or had, another replica of the same data. This is not a failure. */
function queueElsewhere(
  download: ReplicaDownload,
  reason: 'NodeTaken' | 'DeletionPending',
  node: string | undefined,
  now: number,
): Transition<ReplicaDownload> {
  const rest = without(withoutProgress(download), 'node', 'nodeUID', 'isUnchecked')
  const explanation = { reason, message: MESSAGES[reason](node ?? '') }
  return transition.inQueue(
    transition.enter({ ...rest, attempt: download.attempt + 1 }, 'Queued', now, explanation),
    now,
  )
}

function withoutFailures(download: ReplicaDownload): ReplicaDownload {
  return without(download, 'failures', 'nodeFailures', 'isPermanent', 'retryTime', 'preemptions')
}

/** Drops the node of a replica if the node does not exist any more. Otherwise the replica continues on it. */
function unpinned(download: ReplicaDownload, node: NodeState | undefined): ReplicaDownload {
  if (download.node === undefined || node?.kind !== 'deleted') return download
  return without(withoutProgress(download), 'node', 'nodeUID', 'isUnchecked')
}

/** When the state began, in ms since the epoch. */
function stateBegin({ since }: ReplicaDownload, { now, jumps }: Pick<DownloadObservation, 'now' | 'jumps'>): number {
  return fromTime(since, jumps) ?? now
}
