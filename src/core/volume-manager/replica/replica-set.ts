/** Which replicas a volume is to have: those that it has, less what is too many or out of date, and what is missing. */
import type { ReleaseStatus, ReplicaStatus } from '../../../api/volume-manager.ts'
import { fromTime, toTime } from '../status/time.ts'
import { isReady } from './replica.ts'

/** What is wanted of a volume. */
export interface Wanted {
  revision: string
  /** The directory of the data; undefined for a volume that is on no node. */
  path: string | undefined
  /** How many replicas of each part; the part without a name is all of the data. */
  counts: ReadonlyMap<string | undefined, number>
  /** Whether the data may be on the node. */
  allows(node: string): boolean
  /** The labels of a node that has the replica. */
  labelsOf(replica: ReplicaStatus): string[]
  /** Whether it has to stay for now although nobody wants it, since it has changes that are nowhere else. */
  isHeld(replica: ReplicaStatus): boolean
}

/** What letting go of data depends on. */
export type Letting = Pick<Wanted, 'labelsOf' | 'isHeld'>

export interface ReplicaSet {
  replicas: ReplicaStatus[]
  releases: ReleaseStatus[]
  nextIndex: number
}

/** Why data goes. */
export type ReleaseReason = 'ScaledDown' | 'Superseded' | 'Moved' | 'Evicted' | 'Abandoned' | 'NoSpace' | 'Released'

/** Everything goes, used or not; what is used is waited for later. */
export function releaseAll(set: ReplicaSet, letting: Letting, now: number): ReplicaSet {
  return set.replicas.reduce((left, replica) => dropReplica(left, replica, 'Released', letting, now), set)
}

/** The set as it should be, as far as that can be said without knowing who may start now. */
export function arrangeReplicas(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  const withoutHalves = dropHalves(set, wanted, now)
  const complete = [...wanted.counts].reduce(
    (left, [shard, count]) => arrangeShard(left, wanted, shard, count, now),
    withoutHalves,
  )
  return dropOutdated(complete, wanted, now)
}

/** Takes a replica out; where it has, or may have, data, that is to be deleted. */
export function dropReplica(
  { replicas, releases, nextIndex }: ReplicaSet,
  replica: ReplicaStatus,
  reason: ReleaseReason,
  { labelsOf, isHeld }: Letting,
  now: number,
): ReplicaSet {
  if (isHeld(replica)) return { replicas, releases, nextIndex }
  const left = replicas.filter(({ index }) => index !== replica.index)
  const { node, path, revision } = replica
  if (node === undefined || path === undefined) return { replicas: left, releases, nextIndex }
  const release = releaseFor({ index: nextIndex, node, path, revision, nodeLabels: labelsOf(replica), reason }, now)
  return { replicas: left, releases: [...releases, release], nextIndex: nextIndex + 1 }
}

/** Why a node is left after a mover failed there: for want of room, or for anything else. */
export function abandonsFor(code: string | undefined): ReleaseReason {
  return code === 'NoSpace' ? 'NoSpace' : 'Abandoned'
}

/** A node on which a part of the data may have been left; pods were never sent there for it. */
export function abandonNode(
  set: ReplicaSet,
  left: { node: string; path: string; revision: string; code?: string | undefined },
  now: number,
): ReplicaSet {
  const { node, path, revision, code } = left
  if (set.releases.some((release) => release.node === node && release.path === path)) return set
  const { releases, nextIndex: index } = set
  const release = releaseFor({ index, node, path, revision, nodeLabels: [], reason: abandonsFor(code) }, now)
  return { ...set, releases: [...releases, release], nextIndex: index + 1 }
}

type NewRelease = Omit<ReleaseStatus, 'state' | 'attempt' | 'since' | 'reason'> & { reason: ReleaseReason }

function releaseFor(release: NewRelease, now: number): ReleaseStatus {
  return { ...release, state: 'Waiting', attempt: 1, since: toTime(now) }
}

/** Whether a replica is of the data that is wanted now. */
export function isCurrent({ revision, shard }: ReplicaStatus, wanted: Wanted): boolean {
  return revision === wanted.revision && wanted.counts.has(shard)
}

/** What is out of date and not even whole is of use to nobody. */
function dropHalves(set: ReplicaSet, wanted: Wanted, now: number): ReplicaSet {
  return set.replicas
    .filter((replica) => !isCurrent(replica, wanted) && !isReady(replica) && replica.state !== 'Unreachable')
    .reduce((left, replica) => dropReplica(left, replica, 'Superseded', wanted, now), set)
}

/** What is out of date stays until what takes its place is there: a slip in the source must not cost the data that there is. */
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

function arrangeShard(
  set: ReplicaSet,
  wanted: Wanted,
  shard: string | undefined,
  count: number,
  now: number,
): ReplicaSet {
  const ofShard = set.replicas.filter(
    (one) => isCurrent(one, wanted) && one.shard === shard && one.state !== 'Unreachable',
  )
  // On a node where it should not be, it serves until another one takes its place.
  const isMisplaced = (one: ReplicaStatus) => isReady(one) && one.node !== undefined && !wanted.allows(one.node)
  const placed = ofShard.filter((one) => !isMisplaced(one))
  const missing = count - placed.length
  if (missing > 0) return addReplicas(set, wanted, shard, missing, now)
  const surplus = leastValuable(placed).slice(0, -missing)
  const isServed = placed.filter(isReady).length - surplus.filter(isReady).length >= count
  const misplaced = isServed ? ofShard.filter(isMisplaced) : []
  const less = surplus.reduce((left, one) => dropReplica(left, one, 'ScaledDown', wanted, now), set)
  return misplaced.reduce((left, one) => dropReplica(left, one, 'Moved', wanted, now), less)
}

function addReplicas(
  set: ReplicaSet,
  { revision, path }: Wanted,
  shard: string | undefined,
  missing: number,
  now: number,
): ReplicaSet {
  const added = Array.from(
    { length: missing },
    (_, i): ReplicaStatus => ({
      index: set.nextIndex + i,
      state: 'Queued',
      revision,
      ...(path !== undefined && { path }),
      ...(shard !== undefined && { shard }),
      attempt: 1,
      since: toTime(now),
    }),
  )
  return { ...set, replicas: [...set.replicas, ...added], nextIndex: set.nextIndex + missing }
}

/** What is missed least first: what is not there, what is not whole, what nobody uses and nobody used for the longest time. */
function leastValuable(replicas: readonly ReplicaStatus[]): ReplicaStatus[] {
  return [...replicas].sort((a, b) => worthOf(a) - worthOf(b) || lastUse(a) - lastUse(b) || b.index - a.index)
}

function worthOf({ state, inUse }: ReplicaStatus): number {
  if (state === 'Ready') return inUse ? 5 : 4
  return ['Evicted', 'Failed', 'Queued', 'Starting', 'Downloading'].indexOf(state) / 2
}

/** When it was last used, or came; for the order of eviction. */
export function lastUse({ lastUsedTime, since }: ReplicaStatus): number {
  return Math.max(fromTime(lastUsedTime) ?? 0, fromTime(since) ?? 0)
}
