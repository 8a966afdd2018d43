/** The status of a VolumeManager: VCK's states and messages, the conditions, and the Events about their changes. */

import { DELETE_IN_USE_ANNOTATION } from '../../../api/lodestone.ts'
import type { VolumeManager, VolumeManagerState, VolumeManagerStatus } from '../../../api/volume-manager.ts'
import { type ConditionState, condition, findCondition, withConditions } from '../../../base/conditions.ts'
import { defined, sortedUnique } from '../../../base/json.ts'
import { namesColumn, sizeColumn } from '../../columns.ts'
import { cut } from '../../outcome.ts'
import { type EventAction, eventAbout } from '../../plan.ts'
import { readiness, STALLED } from '../../readiness.ts'
import type { VolumeManagerInput } from '../input.ts'
import { REJECTED } from '../mover/observed-state.ts'
import type { Waiting } from '../persistent-volumes.ts'
import { areBlocking, type RejectedWrite } from '../rejected-writes.ts'
import { isWrittenBack } from '../replica/upload.ts'
import { isRepeated, listChanges } from './changes.ts'
import { withShortMessages } from './short-messages.ts'
import type { VolumeSummary } from './summary.ts'

/** VCK's messages: users and scripts wait for them. */
const MESSAGES = {
  begun: 'Beginning sub-resource deployment',
  done: 'successfully deployed all sub-resources',
  failed: 'failed to deploy all the sub-resources',
  notWrittenBack: 'failed to write back changes',
  wantedFailed: 'Added with desired state as failed and controller marked volume manager as Failed',
} as const

const ALTHOUGH_USED = `annotate ${DELETE_IN_USE_ANNOTATION}=true to delete it although it is used`
/** The way out for changes that cannot be written back. */
const WITHOUT_CHANGES = `annotate ${DELETE_IN_USE_ANNOTATION}=true to delete the data without its changes`

/** The most characters of a condition's message. */
const MOST = 1024

interface State {
  state: VolumeManagerState
  message: string
  reason: string
  /** The message of the condition, when it differs from VCK's message. */
  detail?: string
}

/**
 * The whole status.
 *
 * @param waiting the PersistentVolumes and claims that still exist although they are not wanted.
 * @param rejected the writes of other objects than movers that the API server rejects.
 */
export function buildManagerStatus(
  { manager, now }: VolumeManagerInput,
  summaries: readonly VolumeSummary[],
  waiting: readonly Waiting[],
  rejected: readonly RejectedWrite[] = [],
): VolumeManagerStatus {
  const { generation } = manager.metadata
  const { state, message, reason, detail = message } = managerState(manager, summaries, waiting, rejected)
  const usable = summaries.filter(({ state }) => state === 'usable').length
  // The data is usable although changes are not written back.
  const present = listPresent(summaries)
  const isUsable = present.length > 0 && usable === present.length
  const isReady = state === 'Running' || (reason === 'WriteBackFailed' && isUsable)
  const isComplete = isReady && rejected.length === 0 && summaries.every((summary) => summary.isComplete)
  const details = joinParts([...rejected.map(({ message }) => message), replicasMessage(summaries)])
  const states = [
    ...readiness({ isReady, isStalled: state === 'Failed' && !isReady, reason, message: detail }),
    ...writtenBack(manager, summaries),
    condition('ReplicasReady', isComplete, isComplete ? 'Complete' : reason, details),
  ]
  return {
    state,
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
    ready: `${usable}/${summaries.length}`,
    nodes: readyNodesColumn(summaries),
    ...printerColumns(summaries),
    volumes: withShortMessages(summaries.flatMap(({ status, hasNoEntry }) => (hasNoEntry ? [] : [status]))),
    conditions: withConditions(manager.status?.conditions, states, generation, now, [STALLED]),
  }
}

/** The status of a VolumeManager whose volumes cannot be read. Their own status stays. */
export function unreadableStatus(
  { metadata, status }: VolumeManager,
  detail: string,
  now: number,
): VolumeManagerStatus {
  const states = readiness({ isReady: false, isStalled: true, reason: 'InvalidSpec', message: detail })
  return defined({
    ...status,
    state: 'Failed' as const,
    message: MESSAGES.failed,
    observedGeneration: metadata.generation,
    conditions: withConditions(status?.conditions, states, metadata.generation, now, [STALLED]),
  })
}

/** The condition of data that is written back; absent for other data. */
function writtenBack({ spec }: VolumeManager, summaries: readonly VolumeSummary[]): ConditionState[] {
  const failing = notWrittenBack(summaries)
  if (failing !== undefined) return [condition('WrittenBack', false, 'WriteBackFailed', failing)]
  const hasWriteBack = spec?.volumeConfigs?.some(isWrittenBack)
  return hasWriteBack ? [condition('WrittenBack', true, 'NoFailure', 'no write-back keeps failing')] : []
}

function notWrittenBack(summaries: readonly VolumeSummary[]): string | undefined {
  const failing = summaries.flatMap(({ status, writeBack }) => (writeBack ? [`${status.id}: ${writeBack}`] : []))
  return failing.length > 0 ? joinParts(failing) : undefined
}

/** The columns of kubectl. */
function printerColumns(summaries: readonly VolumeSummary[]): Pick<VolumeManagerStatus, 'replicas' | 'size'> {
  const sum = (numberOf: (summary: VolumeSummary) => number) =>
    summaries.reduce((total, summary) => total + numberOf(summary), 0)
  const bytes = sum(({ status }) => status.bytes ?? 0)
  return defined({
    replicas: `${sum(({ status }) => status.readyReplicas ?? 0)}/${sum(({ wanted }) => wanted)}`,
    size: bytes > 0 ? sizeColumn(bytes) : undefined,
  })
}

function managerState(
  manager: VolumeManager,
  summaries: readonly VolumeSummary[],
  waiting: readonly Waiting[],
  rejected: readonly RejectedWrite[],
): State {
  const { metadata, spec } = manager
  if (metadata.deletionTimestamp || spec?.state === 'Completed') return deletionState(summaries, waiting, rejected)
  return spec?.state === 'Failed'
    ? { state: 'Failed', message: MESSAGES.wantedFailed, reason: 'WantedFailed' }
    : deploymentState(summaries, rejected)
}

/** The state of a VolumeManager whose data is deleted. */
function deletionState(
  summaries: readonly VolumeSummary[],
  waiting: readonly Waiting[],
  rejected: readonly RejectedWrite[],
): State {
  const deleting = summaries.filter(({ state }) => state !== 'deleted')
  const [first] = deleting
  const refusal = rejected[0]?.message
  if (refusal !== undefined)
    return { state: 'Failed', message: `the data is not deleted: ${refusal}`, reason: REJECTED }
  if (deleting.length + waiting.length === 0) {
    return { state: 'Completed', message: 'the data is deleted', reason: 'Deleted' }
  }
  const notWritten = notWrittenBack(deleting)
  if (notWritten !== undefined) {
    // Half of it: an Event about the Namespace has the name of the VolumeManager too, and must not lose the way out.
    const message = `the data is not deleted: ${cut(notWritten, MOST / 2)}; ${WITHOUT_CHANGES}`
    return { state: 'Failed', message, reason: 'WriteBackFailed' }
  }
  const what = first ? `${first.status.id}: ${first.status.message}` : waiting[0]?.message
  const { reason } = first ?? waiting[0] ?? {}
  const isUsed = reason === 'InUse'
  // The replicas that are left have changes.
  const isUnreachable = first?.status.replicas?.some(({ state }) => state === 'Unreachable')
  // The annotation has no effect on claims, which Kubernetes protects.
  const wayOut = isUsed && first ? `; ${ALTHOUGH_USED}` : isUnreachable ? `; ${WITHOUT_CHANGES}` : ''
  return {
    state: 'Pending',
    message: `the data is being deleted: ${what}${wayOut}`,
    reason: isUsed || reason === REJECTED ? reason : 'Deleting',
  }
}

/** The state of a VolumeManager whose data is wanted. */
function deploymentState(summaries: readonly VolumeSummary[], rejected: readonly RejectedWrite[]): State {
  const present = listPresent(summaries)
  const replicas = present.flatMap(({ status }) => status.replicas ?? [])
  const failures = areBlocking(rejected, replicas)
    ? rejected.map(({ message }) => message)
    : present.filter(({ state }) => state === 'failed').map(({ status }) => `${status.id}: ${status.message}`)
  if (failures.length > 0) {
    return { state: 'Failed', message: MESSAGES.failed, reason: 'DeploymentFailed', detail: joinParts(failures) }
  }
  const notWritten = notWrittenBack(summaries)
  if (notWritten !== undefined) {
    return { state: 'Failed', message: `${MESSAGES.notWrittenBack}: ${notWritten}`, reason: 'WriteBackFailed' }
  }
  if (present.every(({ state }) => state === 'usable')) {
    return { state: 'Running', message: MESSAGES.done, reason: 'Deployed' }
  }
  return { state: 'Pending', message: MESSAGES.begun, reason: 'Deploying', detail: replicasMessage(present) }
}

/** The volumes whose data is wanted. */
function listPresent(summaries: readonly VolumeSummary[]): VolumeSummary[] {
  return summaries.filter(({ state }) => state !== 'deleting' && state !== 'deleted')
}

/** The names of the nodes with complete data, sorted and cut. */
function readyNodesColumn(summaries: readonly VolumeSummary[]): string {
  const ready = summaries.flatMap(({ status }) => (status.replicas ?? []).filter(({ state }) => state === 'Ready'))
  const nodes = sortedUnique(ready.flatMap(({ node }) => node ?? []))
  return namesColumn(nodes)
}

function replicasMessage(summaries: readonly VolumeSummary[]): string {
  const parts = summaries.map(({ status, remarks }) => {
    const { id, readyReplicas = 0, replicas = [] } = status
    const missing = replicas.find(({ state }) => state !== 'Ready')
    const why = missing ? ` (${missing.reason ?? missing.state}${missing.message ? `: ${missing.message}` : ''})` : ''
    return `${id}: ${readyReplicas} ready${why}${remarks.map((remark) => ` (${remark})`).join('')}`
  })
  return joinParts(parts)
}

/** Joins the parts of a message of a condition, and cuts it. */
function joinParts(parts: readonly string[]): string {
  return cut(parts.join('; '), MOST)
}

/** The Events about a new status: when the state changes, when a replica fails, is lost or is evicted, and when a deletion fails. */
export function statusEvents(
  manager: VolumeManager,
  status: VolumeManagerStatus,
  summaries: readonly VolumeSummary[],
): EventAction[] {
  const before = manager.status
  const { state = 'Pending', message = '' } = status
  const failed = state === 'Failed' ? summaries.find(({ state }) => state === 'failed') : undefined
  // A VolumeManager that failed before may need another remedy now, as when it is deleted.
  const isNewState = before?.state !== state || (state === 'Failed' && !isRepeated(before.message, message))
  // Without a failed volume, it is another object that the API server rejects.
  const detail = state === 'Failed' ? findCondition(status.conditions, 'Ready')?.message : undefined
  const other = detail === undefined || detail === message ? message : `${message}: ${detail}`
  const text = failed ? `${message}: ${failed.status.id}: ${failed.status.message}` : other
  return [
    ...(isNewState ? [eventAbout(manager, state === 'Failed' ? 'Warning' : 'Normal', state, text)] : []),
    ...(status.volumes ?? []).flatMap((volume) =>
      listChanges(
        before?.volumes?.find(({ id }) => id === volume.id),
        volume,
      ).map(({ node, reason, text }) =>
        eventAbout(manager, 'Warning', reason, `${volume.id}${node ? ` on ${node}` : ''}: ${text}`),
      ),
    ),
  ]
}
