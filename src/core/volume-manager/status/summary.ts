/** What the status says of one volume. */
import type { NodeAffinity } from '../../../api/node.ts'
import type { ReplicaStatus, ShardStatus, VolumeManager, VolumeStatus } from '../../../api/volume-manager.ts'
import { cut } from '../../outcome.ts'
import type { VolumeManagerInput } from '../input.ts'
import { nameOfTask, taskOf } from '../mover/task.ts'
import { isReady } from '../replica/replica.ts'
import { isCurrent } from '../replica/replica-set.ts'
import { isUsable } from '../replica/usable.ts'
import type { VolumeDraft } from '../replica/volume-plan.ts'
import { allowsNode } from '../schedule/node-affinity.ts'
import { publishShards, publishVolume } from '../spec/published.ts'
import { sourceTypeOf } from '../spec/source-types.ts'
import { isDeployed, SUCCESS_MESSAGE } from './codes.ts'

export interface VolumeSummary {
  status: VolumeStatus
  verdict: 'usable' | 'pending' | 'failed' | 'releasing' | 'released'
  /** Whether as many replicas as wanted are there. */
  isComplete: boolean
  /** Why data of the volume is not deleted yet, where its deletion waits or failed. */
  code?: string
}

/** So many failures in a row are no accident; what nobody can mend but the user is none at once. */
const FAILED_AFTER = 3
const MAX_MESSAGE_LENGTH = 2048

export function summarize(input: VolumeManagerInput, draft: VolumeDraft): VolumeSummary {
  const { id, config, before, set, wanted, problems } = draft
  const lists = {
    ...(set.replicas.length > 0 && { replicas: set.replicas }),
    ...(set.releases.length > 0 && { releases: set.releases }),
    nextIndex: set.nextIndex,
  }
  if (!config || (!wanted && problems.length === 0)) {
    const isReleased = set.replicas.length + set.releases.length + draft.orphans.length === 0
    const { code, message: why } = obstacleOf(draft)
    const message = isReleased ? 'released' : cut(`releasing: ${why}`, MAX_MESSAGE_LENGTH)
    return {
      status: { id, message, nodeAffinity: {}, ...lists },
      verdict: isReleased ? 'released' : 'releasing',
      isComplete: false,
      ...(code && { code }),
    }
  }
  const published = wanted ? publishVolume(input.manager, config) : undefined
  const shards = wanted ? publishShards(input.manager, config) : []
  const usable = set.replicas.filter((one) => wanted && isCurrent(one, wanted) && isUsable(one, config.sourceType))
  const counted = countShards(input, draft, usable)
  const isComplete = counted.every(({ wanted: count, there }) => there >= count)
  const isKept =
    isDeployed(before) &&
    before?.revision === wanted?.revision &&
    counted.every(({ wanted: count, there }) => there >= Math.min(count, 1))
  const failure = problems.length > 0 ? problems.join('; ') : (draft.shortage ?? failureOf(input.manager, draft))
  // Of a volume that can be used, one bad replica is a condition and no failure.
  const isFine = wanted !== undefined && (isComplete || isKept)
  const message = isFine ? SUCCESS_MESSAGE : failure && cut(failure, MAX_MESSAGE_LENGTH)
  const bytes = Math.max(0, ...usable.map((one) => one.bytes ?? 0))
  return {
    status: {
      id,
      ...(message && { message }),
      ...(published
        ? { volumeSource: published.volumeSource, nodeAffinity: published.nodeAffinity }
        : keptSource(before)),
      ...(shards.length > 0 && { shards: shards.map((shard) => countShard(shard, usable)) }),
      ...(wanted && { revision: wanted.revision, readyReplicas: usable.length }),
      ...(bytes > 0 && { bytes }),
      ...lists,
    },
    verdict: isFine ? 'usable' : failure ? 'failed' : 'pending',
    isComplete: isFine && isComplete,
  }
}

/** A spec that became no good takes nothing away from those who use the data. */
function keptSource(
  before: VolumeStatus | undefined,
): Pick<VolumeStatus, 'volumeSource' | 'nodeAffinity' | 'revision'> {
  const { volumeSource, nodeAffinity = {}, revision } = before ?? {}
  return { ...(volumeSource && { volumeSource }), nodeAffinity, ...(revision && { revision }) }
}

function countShard(
  { name, nodeAffinity }: { name: string; nodeAffinity: NodeAffinity },
  usable: readonly ReplicaStatus[],
): ShardStatus {
  return { name, nodeAffinity, readyReplicas: usable.filter(({ shard }) => shard === name).length }
}

function countShards(
  { nodes }: VolumeManagerInput,
  { config, wanted }: VolumeDraft,
  usable: readonly ReplicaStatus[],
): { wanted: number; there: number }[] {
  if (!wanted || !config) return []
  if (sourceTypeOf(config.sourceType).delivery === 'present') {
    const there = [...nodes.all()].filter((node) => allowsNode(config.nodeAffinity, node)).length
    return [{ wanted: config.replicas ?? 1, there }]
  }
  return [...wanted.counts].map(([shard, count]) => ({
    wanted: count,
    there: usable.filter((one) => one.shard === shard).length,
  }))
}

/** In VCK's words; the rest is the mover's. */
function failureOf(manager: VolumeManager, { id, set }: VolumeDraft): string | undefined {
  const failing = set.replicas.filter(
    (one) => !isReady(one) && ((one.failures ?? 0) >= FAILED_AFTER || (one.isPermanent && (one.failures ?? 0) > 0)),
  )
  const [first] = failing
  if (!first) return undefined
  const { index, attempt, failures = 0, state } = first
  const last = state === 'Failed' ? attempt : attempt - 1
  const pod = nameOfTask(manager, taskOf(manager, id, 'replica', { index, attempt: last }))
  const reason = first.reason ? `${first.reason}: ${first.message ?? ''}` : `failed ${failures} times`
  return `error during data download using pod [name: ${pod}]: ${reason}`
}

/** What keeps the data of a volume: the first of its uploads and deletions. */
function obstacleOf({ set, orphans }: VolumeDraft): { code?: string; message: string } {
  const [first] = set.releases
  const held = set.replicas.find(({ upload }) => upload)
  if (held) {
    return {
      message: `${held.node}: changes are written back${held.upload?.message ? `: ${held.upload.message}` : ''}`,
    }
  }
  if (set.replicas.length > 0) return { message: `${set.replicas[0]?.node}: in use, and to be written back` }
  if (!first) return { message: orphans.length > 0 ? 'movers are being stopped' : 'data is being let go' }
  const { code, node, message, state } = first
  const more = set.releases.length > 1 ? ` (and ${set.releases.length - 1} more)` : ''
  return { ...(code && { code }), message: `${node}: ${message ?? state}${more}` }
}
