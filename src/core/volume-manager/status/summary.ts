/** Summarizes one volume: its entry in the status, and its state for the conditions. */

import type { NodeAffinity } from '../../../api/node.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, ShardStatus, UploadStatus, VolumeStatus } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { cut } from '../../outcome.ts'
import { isDeployed, MESSAGES, SUCCESS_MESSAGE } from '../codes.ts'
import type { VolumeManagerInput } from '../input.ts'
import { REJECTED } from '../mover/observed-state.ts'
import type { ClaimConflict } from '../persistent-volumes.ts'
import { isReady, isUsable, mayHaveData } from '../replica/download.ts'
import { requestedCheckAt, requestedMaintenance } from '../replica/maintenance.ts'
import { isCurrent } from '../replica/replica-set.ts'
import type { StateStatus } from '../replica/transition.ts'
import { hasChanges, hasUploadSource, keepsChanges, lastFailure, readSpecSource } from '../replica/upload.ts'
import type { VolumePlan } from '../replica/volume-plan.ts'
import { wantedReplicas } from '../rules/distribution.ts'
import { moverName, replicaClaimName } from '../rules/names.ts'
import { statusMessage } from '../rules/option-rules.ts'
import { hasReplicaClaims, publishShards, publishVolume } from '../rules/published.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { storedProblems } from '../rules/volume-rules.ts'

export interface VolumeSummary {
  status: VolumeStatus
  state: 'usable' | 'pending' | 'failed' | 'deleting' | 'deleted'
  /** The number of wanted replicas. */
  wanted: number
  /** Whether the volume has as many replicas as wanted. */
  isComplete: boolean
  /** Remarks for the condition about what is no failure, such as a missing copy. */
  remarks: string[]
  /** Why changes of the volume are not written back; absent unless it keeps failing. */
  writeBack?: string
  /** The code of the deletion that is not finished. */
  reason?: string
  /** Whether the status has no entry for the volume yet. */
  hasNoEntry?: true
}

/** Failures in a row after which a volume is Failed. A failure that only the user can repair fails it at once. */
const FAILED_AFTER = 3
const MAX_MESSAGE_LENGTH = 2048

/** Summarizes a volume. `conflict`: why its PersistentVolumes or claims cannot be created. */
export function summarize(
  input: VolumeManagerInput,
  plan: VolumePlan,
  { message: conflict, isUnclaimed = false }: Partial<ClaimConflict> = {},
): VolumeSummary {
  const { config, set, wanted, problems } = plan
  if (!config || (!wanted && problems.length === 0)) return summarizeDeletion(input, plan)
  const current = set.replicas.filter((one) => wanted && isCurrent(one, wanted))
  const usable = current.filter((one) => isUsable(one, config.sourceType))
  const counted = countShards(plan, usable)
  const { beyond = 0 } = wanted?.everyNode ?? {}
  const hasAll = counted.every(({ wanted: count, existing }) => existing >= count)
  const failure =
    problems.length > 0 ? problems.join('; ') : (conflict ?? plan.shortage ?? downloadFailure(input.manager, plan))
  // A failed replica does not make a usable volume fail. The condition ReplicasReady reports it.
  const isFine = wanted !== undefined && (hasAll || staysUsable(plan, counted)) && !isUnclaimed
  const message = isFine ? SUCCESS_MESSAGE : failure && cut(failure, MAX_MESSAGE_LENGTH)
  // The message of a volume that is not usable has the conflict already.
  const remarks = [
    ...(isFine && conflict ? [conflict] : []),
    ...(beyond > 0 ? [MESSAGES.BeyondLimit(beyond)] : []),
    ...checkThatWaits(input, usable),
  ]
  return {
    status: entryOf(input, plan, { config, current, usable, message }),
    state: isFine ? 'usable' : failure ? 'failed' : 'pending',
    wanted: counted.reduce((sum, { wanted: count }) => sum + count, 0),
    isComplete: isFine && hasAll && beyond === 0 && conflict === undefined,
    remarks,
    ...writeBackFailure(set.replicas, changesOfOtherSource(config)),
  }
}

/** Whether a volume that lacks copies is usable with those that it has: each shard has one, and the volume was usable before. */
function staysUsable({ before, wanted }: VolumePlan, counted: readonly ShardCount[]): boolean {
  // Nodes come and go. A volume with a copy on every node is usable with the first one.
  const wasUsable = wanted?.everyNode !== undefined || (isDeployed(before) && before?.revision === wanted?.revision)
  return wasUsable && counted.every(({ wanted: count, existing }) => existing >= Math.min(count, 1))
}

interface EntryParts {
  config: VolumeConfig
  /** The replicas of the present revision, and those of them that pods can use. */
  current: readonly ReplicaStatus[]
  usable: readonly ReplicaStatus[]
  message: string | undefined
}

/** The entry of a volume that is not being deleted. */
function entryOf(input: VolumeManagerInput, plan: VolumePlan, parts: EntryParts): VolumeStatus {
  const { id, before, wanted } = plan
  const { config, current, usable, message } = parts
  const index = Math.min(...current.map((replica) => replica.index))
  const published = wanted ? publishVolume(input.manager, config, current.length > 0 ? index : 0) : undefined
  const shards = wanted ? publishShards(input.manager, config) : []
  const bytes = Math.max(0, ...usable.map((one) => one.bytes ?? 0))
  return defined({
    id,
    message: message || undefined,
    ...(published
      ? { volumeSource: published.volumeSource, nodeAffinity: published.nodeAffinity }
      : keptSource(before)),
    shards: shards.length > 0 ? shards.map((shard) => countShard(shard, usable)) : undefined,
    ...(wanted ? { revision: wanted.revision, readyReplicas: usable.length } : {}),
    bytes: bytes || undefined,
    ...replicaLists(input, plan),
  })
}

/** Summarizes a volume that begins when the status has room for its entry. */
export function summarizeWaiting(id: string, config: VolumeConfig | undefined): VolumeSummary {
  const wanted = config ? [...wantedReplicas(config).values()].reduce((sum, count) => sum + count, 0) : 0
  const remarks = [MESSAGES.NoEntry()]
  return { status: { id, nodeAffinity: {} }, state: 'pending', wanted, isComplete: false, remarks, hasNoEntry: true }
}

/**
 * The uploads that keep failing, or that only the user can repair.
 *
 * @param obstacleOf why no upload of a replica can start
 */
function writeBackFailure(
  replicas: readonly ReplicaStatus[],
  obstacleOf: (replica: ReplicaStatus) => string | undefined,
): Pick<VolumeSummary, 'writeBack'> {
  const failing = replicas.flatMap((replica) => {
    const { node, upload, inUse } = replica
    const isFailing = upload !== undefined && keepsFailing(upload)
    const failure = isFailing ? (lastFailure(upload) ?? `failed ${upload.failures} times`) : uncheckedFailure(replica)
    const why = failure ?? (inUse ? undefined : obstacleOf(replica))
    return why === undefined ? [] : [`${node}: changes are not written back: ${why}`]
  })
  return failing.length > 0 ? { writeBack: cut(failing.join('; '), MAX_MESSAGE_LENGTH) } : {}
}

/** Why no mover finds out whether a replaced node has the data, and with it changes; undefined if none keeps failing. */
function uncheckedFailure(replica: ReplicaStatus): string | undefined {
  if (!mayHaveData(replica) || !hasChanges(replica) || !keepsFailing(replica)) return undefined
  return explain(replica).message
}

/** Returns why no mover can write the changes of a replica back that has data of another source; undefined if one can, or without changes. */
function changesOfOtherSource(config: VolumeConfig | undefined): (replica: ReplicaStatus) => string | undefined {
  const source = readSpecSource(config)
  // A mover that looks for data on a replaced node finds only the data of the spec.
  const hasSource = (replica: ReplicaStatus) =>
    hasUploadSource(replica, source) && (!mayHaveData(replica) || replica.revision === source?.revision)
  const isLeft = (replica: ReplicaStatus) => keepsChanges(replica, source) && hasChanges(replica) && !hasSource(replica)
  return (replica) => (isLeft(replica) ? MESSAGES.OtherSource() : undefined)
}

/** Why no mover can write the changes of a volume back; undefined if one can. */
function uploadObstacle(
  { terminating, settings }: VolumeManagerInput,
  { config, moverConfig }: VolumePlan,
): string | undefined {
  if (terminating?.refusal !== undefined) return `${REJECTED}: ${terminating.refusal}`
  const [problem] = config && !moverConfig ? storedProblems(config, settings) : []
  return problem && `InvalidSpec: ${statusMessage(problem)}`
}

function keepsFailing({ isPermanent, failures = 0 }: Pick<UploadStatus, 'isPermanent' | 'failures'>): boolean {
  return failures >= FAILED_AFTER || (isPermanent === true && failures > 0)
}

/** Summarizes a volume whose data is to be deleted. */
function summarizeDeletion(input: VolumeManagerInput, plan: VolumePlan): VolumeSummary {
  const { id, set, stopping } = plan
  const isDeleted = set.replicas.length + set.deletions.length + stopping.length === 0
  const { reason, message: why } = deletionProgress(plan)
  const message = isDeleted ? 'deleted' : cut(`deleting: ${why}`, MAX_MESSAGE_LENGTH)
  const obstacle = uploadObstacle(input, plan)
  const otherSource = changesOfOtherSource(plan.config)
  return defined({
    status: { id, message, nodeAffinity: {}, ...replicaLists(input, plan) },
    state: isDeleted ? 'deleted' : 'deleting',
    wanted: 0,
    isComplete: false,
    remarks: [],
    // The replicas that are left have changes.
    ...writeBackFailure(set.replicas, (replica) => obstacle ?? otherSource(replica)),
    reason,
  })
}

function replicaLists({ manager }: VolumeManagerInput, plan: VolumePlan) {
  const { replicas, deletions, nextIndex } = plan.set
  return defined({
    replicas: replicas.length > 0 ? replicas.map((replica) => withClaim(manager, plan, replica)) : undefined,
    deletions: deletions.length > 0 ? deletions : undefined,
    nextIndex,
  })
}

/** The remark about a requested check that does not begin yet, because the last one was too recent. */
function checkThatWaits({ manager, now }: VolumeManagerInput, ready: readonly ReplicaStatus[]): string[] {
  const requests = requestedMaintenance(manager)
  const at = Math.min(...ready.flatMap((replica) => requestedCheckAt(replica, { requests, now }) ?? []))
  return at > now && Number.isFinite(at) ? [MESSAGES.CheckWaits(toTime(at))] : []
}

/** The replica with the name of its claim, for users that write the volumes of pods themselves. */
function withClaim(manager: VolumeManager, { id, config }: VolumePlan, replica: ReplicaStatus): ReplicaStatus {
  const { claimName: _, ...rest } = replica
  if (!config || !hasReplicaClaims(config)) return rest
  return { ...rest, claimName: replicaClaimName(manager, id, replica.revision, replica.index) }
}

/** The volume source stays published when the spec becomes invalid, because pods use it. */
function keptSource(
  before: VolumeStatus | undefined,
): Pick<VolumeStatus, 'volumeSource' | 'nodeAffinity' | 'revision'> {
  const { volumeSource, nodeAffinity = {}, revision } = before ?? {}
  return defined({ volumeSource, nodeAffinity, revision })
}

function countShard(
  { name, nodeAffinity }: { name: string; nodeAffinity: NodeAffinity },
  usable: readonly ReplicaStatus[],
): ShardStatus {
  return { name, nodeAffinity, readyReplicas: usable.filter(({ shard }) => shard === name).length }
}

interface ShardCount {
  /** In replicas. */
  wanted: number
  existing: number
}

function countShards({ config, wanted }: VolumePlan, usable: readonly ReplicaStatus[]): ShardCount[] {
  if (!wanted || !config) return []
  if (sourceTypeOf(config.sourceType).delivery === 'present') {
    return [{ wanted: config.replicas ?? 1, existing: usable.length }]
  }
  return [...wanted.counts].map(([shard, count]) => ({
    wanted: count,
    existing: usable.filter((one) => one.shard === shard).length,
  }))
}

/** VCK's message for a volume that failed, with the reason and message of its mover; undefined while the volume is not Failed. */
function downloadFailure(manager: VolumeManager, { id, set }: VolumePlan): string | undefined {
  const first = set.replicas.find((one) => !isReady(one) && keepsFailing(one))
  if (!first) return undefined
  const { index, attempt, failures = 0, state } = first
  const last = state === 'Failed' ? attempt : attempt - 1
  const pod = moverName(manager, { id, role: 'replica', index, attempt: last })
  const reason = first.reason ? `${first.reason}: ${first.message ?? ''}` : `failed ${failures} times`
  return `error during data download using pod [name: ${pod}]: ${reason}`
}

/** Why the data of a volume is not deleted yet: its first upload, or its first deletion. */
function deletionProgress({ config, set }: VolumePlan): { reason?: string | undefined; message: string } {
  const [deletion, ...deletions] = set.deletions
  const uploading = set.replicas.find(({ upload }) => upload)
  if (uploading?.upload) {
    const message = lastFailure(uploading.upload) ?? uploading.upload.message
    return { message: `${uploading.node}: changes are written back${message ? `: ${message}` : ''}` }
  }
  const [replica] = set.replicas
  if (replica) {
    const unchecked = replica.isUnchecked ? MESSAGES.NodeReplaced(replica.node ?? '') : undefined
    const wait = replica.state === 'Unreachable' ? MESSAGES.NodeUnready() : (unchecked ?? 'in use')
    const obstacle = replica.inUse ? undefined : changesOfOtherSource(config)(replica)
    if (obstacle) return { message: `${replica.node}: changes are not written back: ${obstacle}` }
    return { message: `${replica.node}: ${wait}; its changes are written back after that` }
  }
  if (!deletion) return { message: 'movers are being stopped' }
  const { reason, message = deletion.state } = explain(deletion)
  const more = deletions.length > 0 ? ` (and ${deletions.length} more)` : ''
  return { reason, message: `${deletion.node}: ${message}${more}` }
}

/** The message, with the code of the last mover that failed. */
function explain({ state, reason, message }: StateStatus): {
  reason?: string | undefined
  message?: string | undefined
} {
  return { reason, message: state === 'Failed' || reason === REJECTED ? `${reason}: ${message ?? ''}` : message }
}
