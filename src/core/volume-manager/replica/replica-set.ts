/** Arranges the replicas of a volume: adds missing replicas, and drops surplus or outdated ones. */
import type { DeletionStatus, ReplicaState, ReplicaStatus } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { earliest } from '../../../base/time/earliest.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import type { DeletionCause } from '../codes.ts'
import { isOfVolume } from '../rules/names.ts'
import { isReady } from './download.ts'
import { inQueue } from './transition.ts'
import { lastUse } from './use.ts'

/** The wanted replicas of a volume. */
export interface Wanted {
  revision: string
  /** The directory of the data; undefined for a volume that is on no node. */
  path: string | undefined
  /** The number of replicas of each shard. The key undefined is all of the data. */
  counts: ReadonlyMap<string | undefined, number>
  /** Only for a volume with a copy on every node. */
  everyNode?: EveryNode
  /** Whether the data may be on the node. */
  allows(node: string): boolean
  /** Whether a mover may be scheduled to the node. */
  admits(node: string): boolean
  /** Whether the node has not answered for so long that a download on it begins again on another one. */
  isLost(node: string): boolean
  /** The labels of a node that has the replica. */
  labelsOf(replica: ReplicaStatus): string[]
  /** Whether the replica must stay although it is not wanted, because its changes are not written back yet. */
  mustStay(replica: ReplicaStatus): boolean
}

/** The replicas of a volume with a copy on every node. */
export interface EveryNode {
  /** The number of replicas; at least 1, since a volume without a copy is not usable. */
  replicas: number
  /** The number of nodes that get no copy because of the limit. */
  beyond: number
}

/** The inputs of dropping a replica. */
export type DropRules = Pick<Wanted, 'labelsOf' | 'mustStay'>

export interface ReplicaSet {
  replicas: ReplicaStatus[]
  deletions: DeletionStatus[]
  nextIndex: number
  /** When time alone changes a replica or a deletion, in ms since the epoch; absent when it never does. */
  dueAt?: number | undefined
}

/** Drops every replica, except those that must stay. The deletion of data that pods use waits for these pods (deletion.ts). */
export function deleteAll(set: ReplicaSet, rules: DropRules, now: number): ReplicaSet {
  return set.replicas.reduce((left, replica) => dropReplica(left, replica, 'Removed', rules, now), set)
}

/** Returns the set with the wanted replicas, before any mover starts. */
export function arrangeReplicas(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  const withoutIncomplete = dropExcluded(dropIncomplete(set, wanted, now), wanted, now)
  const complete = [...wanted.counts].reduce(
    (left, [shard, count]) => arrangeShard(left, wanted, { shard, count }, now),
    withoutIncomplete,
  )
  return dropOutdated(complete, wanted, now)
}

/** Drops a replica, with a deletion for the data that it has, or may have, on a node. The data of `Local` volumes is never deleted. */
export function dropReplica(
  set: ReplicaSet,
  replica: ReplicaStatus,
  cause: DeletionCause,
  { labelsOf, mustStay }: DropRules,
  now: number,
): ReplicaSet {
  if (mustStay(replica)) return set
  const { deletions, nextIndex } = set
  const replicas = set.replicas.filter(({ index }) => index !== replica.index)
  const { node, path, revision } = replica
  if (node === undefined || path === undefined || !isOfVolume(path)) return { ...set, replicas }
  const deletion = deletionFor({ index: nextIndex, node, path, revision, nodeLabels: labelsOf(replica), cause }, now)
  return { ...set, replicas, deletions: [...deletions, deletion], nextIndex: nextIndex + 1 }
}

/** The cause of a deletion on a node where a mover failed with this code. */
function deletionCause(code: string | undefined): DeletionCause {
  return code === 'NoSpace' ? 'NoSpace' : 'Abandoned'
}

/** Adds a deletion for a node on which a mover may have left a part of the data. The node has no label for this data. */
export function abandonNode(
  set: ReplicaSet,
  left: { node: string; path: string; revision: string; code?: string | undefined },
  now: number,
): ReplicaSet {
  const { node, path, revision, code } = left
  if (!isOfVolume(path)) return set
  if (set.deletions.some((deletion) => deletion.node === node && deletion.path === path)) return set
  const { deletions, nextIndex: index } = set
  const deletion = deletionFor({ index, node, path, revision, nodeLabels: [], cause: deletionCause(code) }, now)
  return { ...set, deletions: [...deletions, deletion], nextIndex: index + 1 }
}

type NewDeletion = Omit<DeletionStatus, 'state' | 'attempt' | 'since' | 'cause'> & { cause: DeletionCause }

function deletionFor(deletion: NewDeletion, now: number): DeletionStatus {
  return { ...deletion, state: 'Waiting', attempt: 1, since: toTime(now) }
}

/** Whether a replica has, or gets, the data that is wanted now. */
export function isCurrent({ revision, shard }: ReplicaStatus, wanted: Wanted): boolean {
  return revision === wanted.revision && wanted.counts.has(shard)
}

/** Drops replicas that are outdated and incomplete. */
function dropIncomplete(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  return set.replicas
    .filter((replica) => !isCurrent(replica, wanted) && !isReady(replica) && replica.state !== 'Unreachable')
    .reduce((left, replica) => dropReplica(left, replica, 'Superseded', wanted, now), set)
}

/**
 * Drops incomplete replicas on nodes that may not take them any more, or do not answer. Another mover that runs is stopped only if the node may
 * not have the data.
 */
function dropExcluded(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  const isExcluded = ({ state, node }: ReplicaStatus) => {
    if (node === undefined || state === 'Ready' || state === 'Unreachable') return false
    return wanted.isLost(node) || !wanted.allows(node) || (state !== 'Downloading' && !wanted.admits(node))
  }
  return set.replicas
    .filter(isExcluded)
    .reduce((left, replica) => dropReplica(left, replica, 'Moved', wanted, now), set)
}

/** Drops outdated replicas after all current ones are ready: a mistake in the source must not delete the existing data. */
function dropOutdated(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  const isComplete = [...wanted.counts].every(
    ([shard, count]) =>
      set.replicas.filter((one) => isReady(one) && isCurrent(one, wanted) && one.shard === shard).length >= count,
  )
  if (!isComplete) return set
  return set.replicas
    .filter((replica) => !isCurrent(replica, wanted))
    .reduce((left, replica) => dropReplica(left, replica, 'Superseded', wanted, now), set)
}

/** A number of replicas of a shard of the data; `shard` is undefined for data without shards. */
interface ShardCount {
  shard: string | undefined
  count: number
}

function arrangeShard(set: ReplicaSet, wanted: Wanted, { shard, count }: ShardCount, now: number): ReplicaSet {
  const ofShard = set.replicas.filter(
    (one) => isCurrent(one, wanted) && one.shard === shard && one.state !== 'Unreachable',
  )
  // A replica on a node that is no longer allowed stays until another replica is ready, unless every other node has one of its own.
  const isMisplaced = (one: ReplicaStatus) => isReady(one) && one.node !== undefined && !wanted.allows(one.node)
  const placed = ofShard.filter((one) => !isMisplaced(one))
  const missing = count - placed.length
  if (missing > 0) return addReplicas(set, wanted, { shard, count: missing }, now)
  const surplus = leastValuable(placed).slice(0, -missing)
  // Ready replicas are the last to be dropped.
  const isServed = wanted.everyNode !== undefined || placed.filter(isReady).length >= count
  const misplaced = isServed ? ofShard.filter(isMisplaced) : []
  const less = surplus.reduce((left, one) => dropReplica(left, one, 'ScaledDown', wanted, now), set)
  return misplaced.reduce((left, one) => dropReplica(left, one, 'Moved', wanted, now), less)
}

function addReplicas(
  set: ReplicaSet,
  { revision, path }: Wanted,
  { shard, count }: ShardCount,
  now: number,
): ReplicaSet {
  const added = Array.from(
    { length: count },
    (_, i): ReplicaStatus =>
      defined({
        index: set.nextIndex + i,
        state: 'Queued' as const,
        revision,
        path,
        shard,
        attempt: 1,
        since: toTime(now),
      }),
  )
  return {
    ...set,
    replicas: [...set.replicas, ...added],
    nextIndex: set.nextIndex + count,
    dueAt: earliest(set.dueAt, inQueue(added, now).dueAt),
  }
}

/** Sorts replicas by the order in which they are dropped: incomplete replicas, then unused ones, then the least recently used. */
function leastValuable(replicas: readonly ReplicaStatus[]): ReplicaStatus[] {
  return [...replicas].sort((a, b) => dropRank(a) - dropRank(b) || lastUse(a) - lastUse(b) || b.index - a.index)
}

const DROP_ORDER = [
  'Evicted',
  'Failed',
  'Queued',
  'Starting',
  'Downloading',
  'Ready',
] satisfies ReplicaState[] as string[]

function dropRank({ state, inUse }: ReplicaStatus): number {
  return DROP_ORDER.indexOf(state) + Number(inUse === true)
}
