/**
 * Derives the state of a mover from its Pod. The phase gives the state, and the termination message gives the result. The conditions show how
 * far it has come before its container starts.
 */
import type { Pod } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { onPresentClock, type Present } from '../../../base/time/clock-jumps.ts'
import { MOVER_CONTAINER } from '../../mover-contract/contract.ts'
import { type ReadMoverResult, readTerminationMessage } from '../../mover-contract/termination-message.ts'
import { cut } from '../../outcome.ts'
import { MESSAGES } from '../codes.ts'
import type { MoverProgress, RetryTrigger, VolumeManagerInput } from '../input.ts'
import { isEnded, podEndTime } from '../pod-use.ts'
import { fromTime } from '../time.ts'
import { VOLUME } from './affinity.ts'

/**
 * Whether the node is the cause of a failure. `yes`: the next attempt is on another node. `maybe`: the next attempt is on another node unless
 * this node has a part of the data. `no`: another node would not help.
 */
export type NodeFault = 'yes' | 'maybe' | 'no'

export interface MoverFailure {
  kind: 'failed'
  node?: string
  /** One CamelCase word. */
  code: string
  message: string
  /** Whether another attempt may succeed without any change. */
  retry: boolean
  nodeFault: NodeFault
  /** The bytes of the data that are on the node, where the mover reported them. */
  bytes?: number
  /** The bytes of all data, when the mover listed the source. */
  totalBytes?: number
}

export interface MoverSuccess {
  kind: 'succeeded'
  node?: string
  bytes?: number
  /** The replaced trees that it kept, and whether it replaced one itself. */
  oldTrees?: number
  replaced?: true
  /** By the clock of its node. */
  endTime?: string
  /** When the scheduler placed it, in ms since the epoch. */
  scheduledAt?: number
}

export type MoverState =
  | { kind: 'waiting'; node?: string; reason: string; message: string }
  /** preempted: it runs, and is stopped so that a mover of another namespace gets its slot. */
  | { kind: 'running' | 'preempted'; node?: string }
  | MoverSuccess
  | MoverFailure

/** The state of a mover that waits without a problem. */
const STARTING = { reason: 'Starting', message: MESSAGES.Starting() } as const

/** In characters. Images and components that Lodestone does not control write these messages. */
const MAX_MESSAGE_LENGTH = 512

/** The `status.reason` of Pods that the kubelet or a controller ended (pkg/kubelet, pkg/controller), and whether the node is the cause. */
const POD_REASONS: Readonly<Record<string, NodeFault>> = {
  Evicted: 'yes',
  DeadlineExceeded: 'maybe',
  NodeLost: 'yes',
  NodeShutdown: 'yes',
  NodeAffinity: 'yes',
  Preempting: 'yes',
  Shutdown: 'yes',
  Terminated: 'yes',
  UnexpectedAdmissionError: 'yes',
}

/** Waiting reasons from which a Pod never recovers by itself, and whether the node is the cause. */
const FINAL_WAITS: Readonly<Record<string, NodeFault>> = {
  InvalidImageName: 'no',
  ErrImageNeverPull: 'yes',
  CreateContainerError: 'yes',
}

/**
 * Waiting reasons from which a Pod recovers late or never: they fail the mover after `GRACE_MS`. A missing Secret, or a key of it, is missing
 * on every node. A registry may be away for every node.
 */
const GRACE_WAITS: Readonly<Record<string, NodeFault>> = {
  ErrImagePull: 'maybe',
  ImagePullBackOff: 'maybe',
  RegistryUnavailable: 'maybe',
  ImageInspectError: 'yes',
  CreateContainerConfigError: 'no',
}
const GRACE_MS = 60_000

/** The codes of failed movers for which the node is the cause, or cannot be. Every other code may have its cause in the node. */
const NODE_FAULTS: Readonly<Record<string, NodeFault>> = {
  // The disk is full, or the directory has files of a pod.
  NoSpace: 'yes',
  TargetExists: 'yes',
  ClockSkew: 'yes',
  // The source changed during the download.
  SourceChanged: 'no',
}

/** Whether a mover that failed with this code may succeed when a node is added, recovers or gets free disk. */
export function isForNode(code: string | undefined): boolean {
  return code !== undefined && (code === 'NoSpace' || code === 'PrepareTimeout' || podReason(code) === 'yes')
}

/** Whether the kubelet, a controller or the runtime gives this reason to a Pod that fails or does not start. */
export function isKnownPodReason(reason: string): boolean {
  return podReason(reason) !== undefined || waitFault(reason, GRACE_MS + 1) !== undefined || reason === 'Unexpected'
}

/** Whether the node is the cause of a waiting reason that fails the mover; undefined while it does not fail it. */
function waitFault(reason: string, waitedMs: number): NodeFault | undefined {
  if (Object.hasOwn(FINAL_WAITS, reason)) return FINAL_WAITS[reason]
  return waitedMs > GRACE_MS && Object.hasOwn(GRACE_WAITS, reason) ? GRACE_WAITS[reason] : undefined
}

function podReason(reason: string): NodeFault | undefined {
  return POD_REASONS[reason] ?? (/^OutOf/.test(reason) ? 'yes' : undefined)
}

export interface ObservedMover {
  /** Undefined when there is no mover. */
  mover: MoverState | undefined
  /** The last report of the mover; undefined before its first report. */
  progress: MoverProgress | undefined
  /** The retry triggers since the mover was created. With one of them, a failed mover is retried before its retry time. */
  retryTriggers: ReadonlySet<RetryTrigger>
}

/** The memory about movers beside their Pods, and the time. */
type MoverReports = Pick<VolumeManagerInput, 'refusals' | 'progress' | 'preempted' | 'retryTriggers' | 'terminating'> &
  Present

const NO_TRIGGERS: ReadonlySet<RetryTrigger> = new Set()

/**
 * Observes a mover.
 *
 * @param name the name of its Pod
 * @param pod undefined when it does not exist
 * @param since when the replica, the upload or the deletion entered its state
 */
export function observeMover(
  { refusals, progress, preempted, retryTriggers, terminating, now, jumps }: MoverReports,
  name: string,
  pod: Pod | undefined,
  since: string | undefined,
): ObservedMover {
  // A namespace that is being deleted takes no new Pods. To ask for each of them would change nothing.
  const refusal = refusals.get(name) ?? terminating?.refusal
  const observed = { progress: pod && progress.get(name), retryTriggers: retryTriggers.get(name) ?? NO_TRIGGERS }
  if (!pod) return { ...observed, mover: refusal === undefined ? undefined : failure(REJECTED, refusal, false) }
  const mover = moverState(pod, now - Math.max(fromTime(since, jumps) ?? now, onPresentClock(scheduledAt(pod), jumps)))
  return { ...observed, mover: preempted === name ? preemptedState(mover) : mover }
}

/** The state of a mover that gives its slot to another namespace. One that waits has done nothing, so the reason of its wait is its failure. */
function preemptedState(mover: MoverState): MoverState {
  if (mover.kind === 'running') return { ...mover, kind: 'preempted' }
  if (mover.kind !== 'waiting') return mover
  // A part of the data is not left at once: another node may have no room either.
  return { ...overdue('PrepareTimeout', MESSAGES.PrepareTimeout(mover.message), mover.node), nodeFault: 'maybe' }
}

/**
 * The state of a mover's Pod.
 *
 * @param waitedMs time since the replica, the upload or the deletion entered its state, and since the Pod has a node
 */
export function moverState(pod: Pod, waitedMs: number): MoverState {
  const node = pod.spec?.nodeName ? { node: pod.spec.nodeName } : {}
  switch (pod.status?.phase) {
    case 'Succeeded':
      return succeeded(pod, node)
    case 'Failed':
      return endedWell(pod) ? succeeded(pod, node) : { ...node, ...moverFailure(pod) }
    default:
      break
  }
  // The container of a sidecar may run on.
  if (hasMoverEnded(pod)) return endedWell(pod) ? succeeded(pod, node) : { ...node, ...moverFailure(pod) }
  if (pod.metadata.deletionTimestamp) return { ...node, ...DELETED }
  return pod.status?.phase === 'Running' ? { kind: 'running', ...node } : waiting(pod, waitedMs, node)
}

/** The failure of a mover whose Pod was deleted by a user, by a drain, or with its node. */
export const DELETED: MoverFailure = {
  kind: 'failed',
  code: 'PodDeleted',
  message: MESSAGES.PodDeleted(),
  retry: true,
  nodeFault: 'no',
}

/** The code of a mover whose Pod the API server rejected: because of a policy or a quota, or because the Pod is invalid. */
export const REJECTED = 'CreateRefused'

/** The failure of a mover that exceeded a timeout. */
export function overdue(code: 'PrepareTimeout' | 'Stalled', message: string, node: string | undefined): MoverFailure {
  return defined({
    kind: 'failed' as const,
    node,
    code,
    message: cut(message, MAX_MESSAGE_LENGTH),
    retry: true,
    // A mover that did not start may start on another node. A mover that stalled may have left data on its node.
    nodeFault: code === 'PrepareTimeout' ? ('yes' as const) : ('maybe' as const),
  })
}

function succeeded(pod: Pod, node: { node?: string }): MoverState {
  const result = moverResult(pod)
  if (result && result.outcome !== 'completed') {
    const said = result.message || result.outcome
    return { ...node, ...failure('Unexpected', `the mover succeeded but reported ${said}`, true, 'no') }
  }
  const { bytes, oldTrees, replaced } = result ?? {}
  return defined({
    kind: 'succeeded' as const,
    ...node,
    bytes,
    oldTrees: oldTrees || undefined,
    replaced: replaced === true ? replaced : undefined,
    endTime: podEndTime(pod.status),
    scheduledAt: scheduledAt(pod) || undefined,
  })
}

function moverFailure(pod: Pod): MoverFailure {
  const { reason, message } = pod.status ?? {}
  const known = reason === undefined ? undefined : podReason(reason)
  // After an eviction, the termination message is missing or outdated.
  if (reason !== undefined && known) {
    const said = reason === 'DeadlineExceeded' ? 'timed out waiting for the condition' : (message ?? reason)
    return failure(reason, said, true, known)
  }
  const terminated = terminatedState(pod)
  // The limit of the container is the same on every node.
  if (terminated?.reason === 'OOMKilled') return failure('OOMKilled', MESSAGES.OOMKilled(), true)
  const result = moverResult(pod)
  if (result?.code !== undefined) {
    const { code, message: said, retry, bytes, totalBytes } = result
    // Without a retry, the mover found a fault of the source or of the options.
    const nodeFault = NODE_FAULTS[code] ?? (retry === false ? 'no' : 'maybe')
    const failed = failure(code, said || code, retry !== false, nodeFault)
    return defined({ ...failed, bytes, totalBytes })
  }
  if (result?.outcome === 'canceled') return failure('Canceled', MESSAGES.Canceled(), true, 'no')
  const said = terminated?.message || message || initFailure(pod) || `exit status ${terminated?.exitCode ?? 'unknown'}`
  // A retry would have the same options.
  if (terminated?.exitCode === WRONG_OPTIONS) return failure('WrongOptions', said, false)
  const code = terminated?.reason && terminated.reason !== 'Error' ? terminated.reason : 'Unexpected'
  return failure(code, said, true, 'maybe')
}

/** The exit status of a mover with invalid options (docs/guides/movers.md). */
const WRONG_OPTIONS = 2

function failure(code: string, message: string, retry: boolean, nodeFault: NodeFault = 'no'): MoverFailure {
  return { kind: 'failed', code, message: cut(message.trim(), MAX_MESSAGE_LENGTH), retry, nodeFault }
}

function waiting(pod: Pod, waitedMs: number, node: { node?: string }): MoverState {
  const { conditions = [] } = pod.status ?? {}
  const wait = waitOf(pod)
  if (wait) {
    const { reason = '', message = reason } = wait
    const fault = waitFault(reason, waitedMs)
    if (fault !== undefined) return { ...node, ...failure(reason, message, true, fault) }
    return { kind: 'waiting', ...node, reason, message: cut(message, MAX_MESSAGE_LENGTH) }
  }
  const unscheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (unscheduled) {
    const message = cut(unscheduled.message ?? 'no node can take the mover', MAX_MESSAGE_LENGTH)
    return { kind: 'waiting', ...node, reason: unscheduled.reason ?? 'Unschedulable', message }
  }
  const path = unmountedDirectory(pod)
  if (path !== undefined && waitedMs > GRACE_MS) {
    const said = MESSAGES.PathNotMounted(path, pod.spec?.nodeName ?? '', pod.metadata.name ?? '')
    return { ...node, ...failure('PathNotMounted', said, false) }
  }
  // Every mover waits for some seconds. This is not worth a write of the status.
  if (!pod.spec?.nodeName || waitedMs <= GRACE_MS) return { kind: 'waiting', ...node, ...STARTING }
  // The kubelet reports only in Events why it does not create a container.
  const message = `its container was not created within a minute, for example because a volume cannot be mounted; see kubectl describe pod ${pod.metadata.name}`
  return { kind: 'waiting', ...node, reason: 'ContainerCreating', message }
}

/** When the scheduler placed a Pod, in ms since the epoch; 0 if it is not known. */
export function scheduledAt({ status }: Pod): number {
  const placed = status?.conditions?.find(({ type, status: holds }) => type === 'PodScheduled' && holds === 'True')
  return fromTime(placed?.lastTransitionTime ?? undefined) ?? 0
}

/**
 * The directory of a `Local` volume for which a Pod waits, since the kubelet mounts it only if it exists. The kubelet reports that it has
 * mounted all volumes with the condition PodReadyToStartContainers, since Kubernetes 1.29.
 */
export function unmountedDirectory({ spec, status }: Pod): string | undefined {
  const isWaiting = status?.conditions?.some(
    ({ type, status: holds }) => type === 'PodReadyToStartContainers' && holds === 'False',
  )
  const { path, type } = spec?.volumes?.find(({ name }) => name === VOLUME)?.hostPath ?? {}
  return isWaiting && type === 'Directory' ? path : undefined
}

/** The state of the container of a mover. The kubelet sorts the containers by name, and a sidecar may be the first one. */
function containerState({ status }: Pod) {
  return status?.containerStatuses?.find(({ name }) => name === MOVER_CONTAINER)?.state
}

/** The waiting reasons of every container that starts. */
const BEGINNING: readonly (string | undefined)[] = [undefined, '', 'ContainerCreating', 'PodInitializing']

/** Why the container of a mover does not start, or an init container before it; undefined while they only begin. */
function waitOf(pod: Pod): { reason?: string; message?: string } | undefined {
  const own = containerState(pod)?.waiting
  if (!BEGINNING.includes(own?.reason)) return own
  for (const { name, state } of pod.status?.initContainerStatuses ?? []) {
    const { reason, message = reason } = state?.waiting ?? {}
    if (!BEGINNING.includes(reason)) return defined({ reason, message: `init container ${name}: ${message}` })
  }
  return undefined
}

/** Which init container failed; undefined if none did. Movers have none themselves: an admission webhook added it. */
function initFailure({ metadata, status }: Pod): string | undefined {
  const failed = status?.initContainerStatuses?.find(({ state }) => state?.terminated?.exitCode)
  if (!failed) return undefined
  const { name, state: { terminated } = {} } = failed
  const said = `init container ${name} failed with exit status ${terminated?.exitCode}`
  return terminated?.message
    ? `${said}: ${terminated.message}`
    : `${said}; see kubectl logs ${metadata.name} -c ${name}`
}

/** How the container of a mover ended; undefined while it runs. */
export function terminatedState(pod: Pod) {
  return containerState(pod)?.terminated
}

/** Whether a mover has ended. Another container of its Pod, which an admission webhook added, may still run. */
export function hasMoverEnded(pod: Pod): boolean {
  return isEnded(pod.status) || terminatedState(pod)?.exitCode !== undefined
}

/** Whether the container of a mover ended without an error, and no controller ended its Pod. */
function endedWell(pod: Pod): boolean {
  return terminatedState(pod)?.exitCode === 0 && podReason(pod.status?.reason ?? '') === undefined
}

/** The result that the mover wrote; undefined when it wrote none. */
export function moverResult(pod: Pod): ReadMoverResult | undefined {
  return readTerminationMessage(terminatedState(pod)?.message ?? '')
}
