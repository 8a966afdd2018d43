/** What has become of a mover, read from its pod: the phase decides, the termination message carries the result. */
import type { Pod } from '../../../api/pod.ts'
import { type ReadMoverResult, readTerminationMessage } from '../../mover/contract.ts'
import { cut } from '../../outcome.ts'
import { endTimeOf } from '../replica/pod-use.ts'

export interface MoverFailure {
  kind: 'failed'
  node?: string
  /** One CamelCase word. */
  code: string
  message: string
  /** Whether another attempt may do better although nobody changes anything. */
  retry: boolean
  /** Whether the node is to blame, so that another one should be tried. */
  elsewhere: boolean
}

export interface MoverSuccess {
  kind: 'succeeded'
  node?: string
  bytes?: number
  /** By the clock of its node. */
  endTime?: string
}

export type MoverView =
  | { kind: 'waiting'; node?: string; reason: string; message: string }
  | { kind: 'running'; node?: string }
  | MoverSuccess
  | MoverFailure

/** What is said of a mover with which nothing is wrong, before it runs. */
export const BEGINNING = { reason: 'Starting', message: 'the mover was created' } as const

/** At most so much of a message is taken over: it is somebody else's text, in a status that everybody reads. */
const MAX_MESSAGE_LENGTH = 512

/** What the kubelet or a controller says of a pod that it ended, and whether that is the node's fault (pkg/kubelet, pkg/controller). */
const POD_REASONS: Readonly<Record<string, { elsewhere: boolean }>> = {
  Evicted: { elsewhere: true },
  DeadlineExceeded: { elsewhere: false },
  NodeLost: { elsewhere: true },
  NodeShutdown: { elsewhere: true },
  NodeAffinity: { elsewhere: true },
  Preempting: { elsewhere: true },
  Shutdown: { elsewhere: true },
  Terminated: { elsewhere: true },
  UnexpectedAdmissionError: { elsewhere: true },
}

/** What a pod never recovers from by itself. */
const HOPELESS_WAITS = new Set(['InvalidImageName', 'ErrImageNeverPull', 'CreateContainerError'])

/** What it may recover from, but not soon: worth a slot for this long. */
const GRACE_WAITS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'RegistryUnavailable',
  'ImageInspectError',
  'CreateContainerConfigError',
])
const GRACE_MS = 60_000

/** Of these the node is to blame; the disk is full, or somebody left something there. */
const NODE_CODES = new Set(['NoSpace', 'TargetExists'])

/** Whether a mover with this code may end otherwise when a node is mended, or comes. */
export function isForNode(code: string | undefined): boolean {
  return code !== undefined && (code === 'NoSpace' || code === 'PrepareTimeout' || podReason(code)?.elsewhere === true)
}

function podReason(reason: string): { elsewhere: boolean } | undefined {
  return POD_REASONS[reason] ?? (/^OutOf/.test(reason) ? { elsewhere: true } : undefined)
}

/**
 * What a mover's pod says.
 *
 * @param waitedMs how long it has been there, as far as is known
 */
export function viewMover(pod: Pod, waitedMs: number): MoverView {
  const node = pod.spec?.nodeName ? { node: pod.spec.nodeName } : {}
  switch (pod.status?.phase) {
    case 'Succeeded':
      return succeeded(pod, node)
    case 'Failed':
      return { ...node, ...failureOf(pod) }
    default:
      break
  }
  if (pod.metadata.deletionTimestamp) return { ...node, ...DELETED }
  return pod.status?.phase === 'Running' ? { kind: 'running', ...node } : waiting(pod, waitedMs, node)
}

/** One that is not there although it was made: deleted by hand, by a drain, or with its node. */
export const DELETED: MoverFailure = {
  kind: 'failed',
  code: 'PodDeleted',
  message: 'the mover pod was deleted',
  retry: true,
  elsewhere: false,
}

/** One that the API server will not have: by a policy, a quota, or because something in it is wrong. */
export function refused(message: string): MoverFailure {
  return failure('CreateRefused', message, false)
}

/** A mover that takes too long is as good as failed, whoever is to blame. */
export function overdue(code: 'PrepareTimeout' | 'Stalled', message: string, node: string | undefined): MoverFailure {
  // Where it could not even begin, another node may do; where it came to a halt, its data is half there.
  const elsewhere = code === 'PrepareTimeout'
  return {
    kind: 'failed',
    ...(node && { node }),
    code,
    message: cut(message, MAX_MESSAGE_LENGTH),
    retry: true,
    elsewhere,
  }
}

function succeeded(pod: Pod, node: { node?: string }): MoverView {
  const result = resultOf(pod)
  if (result && result.outcome !== 'completed') {
    const said = result.message || result.outcome
    return { ...node, ...failure('Unexpected', `the mover ended well but said ${said}`, true) }
  }
  const endTime = endTimeOf(pod.status)
  return { kind: 'succeeded', ...node, ...(result && { bytes: result.bytes }), ...(endTime && { endTime }) }
}

function failureOf(pod: Pod): MoverFailure {
  const { reason, message } = pod.status ?? {}
  const known = reason === undefined ? undefined : podReason(reason)
  // An eviction leaves no termination message, or an old one.
  if (reason !== undefined && known) {
    const said = reason === 'DeadlineExceeded' ? 'timed out waiting for the condition' : (message ?? reason)
    return failure(reason, said, true, known.elsewhere)
  }
  const terminated = terminatedOf(pod)
  if (terminated?.reason === 'OOMKilled') return failure('OOMKilled', 'the mover ran out of memory', true)
  const result = resultOf(pod)
  if (result?.code !== undefined) {
    return failure(result.code, result.message || result.code, result.retry !== false, NODE_CODES.has(result.code))
  }
  if (result?.outcome === 'cancelled') return failure('Cancelled', 'the mover was stopped', true)
  const said = terminated?.message || message || `exit status ${terminated?.exitCode ?? 'unknown'}`
  // The same options would be as wrong the next time.
  if (terminated?.exitCode === WRONG_OPTIONS) return failure('WrongOptions', said, false)
  return failure(terminated?.reason && terminated.reason !== 'Error' ? terminated.reason : 'Unexpected', said, true)
}

/** The exit status of a mover that cannot make sense of its options (docs/movers.md). */
const WRONG_OPTIONS = 2

function failure(code: string, message: string, retry: boolean, elsewhere = false): MoverFailure {
  return { kind: 'failed', code, message: cut(message.trim(), MAX_MESSAGE_LENGTH), retry, elsewhere }
}

function waiting(pod: Pod, waitedMs: number, node: { node?: string }): MoverView {
  const { conditions = [], containerStatuses = [] } = pod.status ?? {}
  const wait = containerStatuses[0]?.state?.waiting
  const reason = wait?.reason ?? ''
  if (HOPELESS_WAITS.has(reason) || (GRACE_WAITS.has(reason) && waitedMs > GRACE_MS)) {
    return { ...node, ...failure(reason, wait?.message ?? reason, true) }
  }
  if (wait?.reason && wait.reason !== 'ContainerCreating' && wait.reason !== 'PodInitializing') {
    return { kind: 'waiting', ...node, reason, message: cut(wait.message ?? reason, MAX_MESSAGE_LENGTH) }
  }
  const unscheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (unscheduled) {
    const message = cut(unscheduled.message ?? 'no node takes the mover', MAX_MESSAGE_LENGTH)
    return { kind: 'waiting', ...node, reason: unscheduled.reason ?? 'Unschedulable', message }
  }
  // As every mover does for some seconds: not worth a write of the status each time.
  if (!pod.spec?.nodeName || waitedMs <= GRACE_MS) return { kind: 'waiting', ...node, ...BEGINNING }
  // A kubelet tells in Events only what keeps it from creating a container.
  const message = `its container is not created after a minute: kubectl describe pod ${pod.metadata.name} says why, a volume that cannot be mounted for one`
  return { kind: 'waiting', ...node, reason: 'ContainerCreating', message }
}

function terminatedOf(pod: Pod) {
  return pod.status?.containerStatuses?.[0]?.state?.terminated
}

/** What the mover said of itself, where it said something. */
function resultOf(pod: Pod): ReadMoverResult | undefined {
  return readTerminationMessage(terminatedOf(pod)?.message ?? '')
}
