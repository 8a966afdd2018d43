/**
 * Predicts between which clusters Karmada's scheduler chooses for a binding. Which of them it takes depends on free capacity and on scores
 * that Lodestone does not know, so that is not predicted.
 */
import { APPLIED_PLACEMENT_ANNOTATION, type BindingSpec, type ResourceBinding } from '../../api/karmada.ts'
import { defined, jsonEqual, sortedUnique } from '../../base/json.ts'
import { describeRefusals, type Refusal, schedulingRefusal } from '../placement/acceptance.ts'
import {
  evictedClusters,
  hasNoFit,
  isDivided,
  isScaledToZero,
  isSuspended,
  isWorkload,
  schedulingFailure,
  targetClusters,
} from '../placement/binding-state.ts'
import { withoutClusters } from '../placement/cluster-filter.ts'
import { canKeepAll, maxClusters, minClusters, spreadCandidates, spreadCheck } from '../placement/spread.ts'
import { divideByWeights, fixedWeights } from '../placement/weights.ts'
import { parseAnnotation } from '../resource-binding/annotations.ts'
import { policyReferenceOf } from '../resource-binding/policy.ts'
import { findEviction } from './evict.ts'
import type { Fleet, Group } from './fleet.ts'

export interface Schedule {
  /** The clusters in which the workload keeps running, sorted. */
  keeps: readonly string[]
  /** Further clusters: the scheduler takes one or more of them, or all. Sorted; empty if it takes none. */
  among: readonly string[]
  /** Whether it takes all of `among`. */
  takesAll: boolean
  /** Whether the workload waits, because its scheduling is suspended and it runs nowhere. */
  waits: boolean
  /** Why no cluster is left, as a part of a sentence; absent if one is. */
  problem?: string
  /** The affinity group that it chooses; absent without groups, or if it does not act. */
  group?: string
}

export interface ScheduleInput {
  binding: ResourceBinding
  /** The stored binding before the change; undefined if it is new. */
  before: ResourceBinding | undefined
  fleet: Fleet
  /** Whether a cluster changed, and the scheduler looks at the binding again: see `isAffectedBy`. */
  isQueued: boolean
}

/** Predicts the result of the scheduler for a binding (v1.18.1, pkg/scheduler/scheduler.go, doScheduleBinding). */
export function predictSchedule({ binding, before, fleet, isQueued }: ScheduleInput): Schedule {
  const { spec } = binding
  const targets = targetClusters(spec).toSorted()
  if (!spec.placement) return stays(targets)
  // It needs no cluster. If it is not suspended, and a cluster fits, the scheduler chooses none.
  if (targets.length === 0 && isScaledToZero(spec)) return { ...stays([]), waits: isSuspended(spec) }
  // event_handler.go, resourceBindingEventFilter. A changed Cluster queues it all the same, before or after an eviction: that is not predicted.
  if (!policyReferenceOf(binding.metadata))
    return targets.length > 0 ? stays(targets) : { ...stays([]), problem: WITHOUT_POLICY }
  if (isSuspended(spec)) return { ...stays(targets), waits: targets.length === 0 }
  // A binding that runs is left alone until it or a cluster changes. One without clusters waits in the queue, unless none was found for it.
  if (!isQueued && isSeenAsBefore(binding, before)) {
    if (targets.length > 0) return stays(targets)
    if (hasNoFit(binding))
      return { ...stays([]), problem: 'the scheduler has found no cluster, and tries again after a change' }
  }
  if (!isAlwaysScheduled(spec) && !mustSchedule(binding, before, fleet)) return stays(targets)
  const found = findCandidates(binding, fleet)
  // The scheduler retries after an error, and leaves the clusters as they are.
  if (found.kind === 'error') return targets.length > 0 ? stays(targets) : { ...stays([]), problem: found.reason }
  if (found.kind === 'noFit') return { ...stays([]), problem: found.reason }
  return choose(binding, before, found, fleet)
}

const WITHOUT_POLICY = 'no policy selects it, so the scheduler ignores it until a cluster changes'

/** Whether the scheduler has seen this state of a binding: other annotations are no event (pkg/scheduler/event_handler.go, onResourceBindingUpdate). */
function isSeenAsBefore(binding: ResourceBinding, before: ResourceBinding | undefined): boolean {
  if (binding === before) return true
  return (
    before !== undefined && policyReferenceOf(before.metadata) !== undefined && jsonEqual(binding.spec, before.spec)
  )
}

/** Which of the clusters that are left the scheduler takes, as far as that can be known. */
function choose(
  binding: ResourceBinding,
  before: ResourceBinding | undefined,
  { names, group }: Extract<Candidates, { kind: 'fit' }>,
  fleet: Fleet,
): Schedule {
  const { spec } = binding
  const targets = targetClusters(spec).toSorted()
  const keeps = targets.filter((name) => names.includes(name))
  const others = keeps.length === 0 ? names : names.filter((name) => !keeps.includes(name))
  const result = defined({ keeps, waits: false, group: group.name })
  // By cluster, the present ones have the highest scores. A region without a present cluster may have a higher score than one with it.
  if (!canKeepAll(keeps, names, spec.placement ?? {}, fleet.clusters))
    return { ...result, keeps: [], among: isSpreadByRegion(spec) ? names : keeps, takesAll: false }
  if (!isDivided(spec)) {
    const most = maxClusters(spec.placement) ?? Number.POSITIVE_INFINITY
    const among = keeps.length >= most ? [] : others
    const needsAll = minClusters(spec.placement) >= keeps.length + among.length
    return { ...result, among, takesAll: needsAll || !spec.placement?.spreadConstraints?.length }
  }
  if (hasFixedWeights(spec)) return { ...result, ...divideAnew(spec, names, group, fleet) }
  // Each of its clusters runs all replicas. The scheduler removes some of them, and maybe all of a cluster.
  if (keeps.length > 1 && before && !isDivided(before.spec))
    return { ...result, keeps: [], among: keeps, takesAll: false }
  const isComplete =
    keeps.length > 0 &&
    keeps.length === targetClusters(before?.spec).length &&
    (schedulingFailure(binding) === undefined || hasAllReplicas(spec))
  const among = isComplete ? [] : others
  return { ...result, among, takesAll: among.length === 1 && keeps.length === 0 }
}

/** Divides replicas by fixed weights, without regard to where they are (pkg/scheduler/core/assignment.go, assignByStaticWeightStrategy). */
function divideAnew(spec: BindingSpec, candidates: readonly string[], group: Group, fleet: Fleet) {
  const weights = fixedWeights(candidates, spec.placement ?? {}, fleet.clusters, fleet.rules)
  // An overflow tier gets only the replicas for which the tiers before it have no room.
  const hasTiers = !candidates.every((name) => group.allowsAtFirst(name))
  if (!weights || hasTiers) return { keeps: [], among: candidates, takesAll: false }
  const { certain, possible } = divideByWeights(weights, spec.replicas ?? 0)
  const runs = new Set(targetClusters(spec))
  const [keeps, gains] = [certain.filter((name) => runs.has(name)), certain.filter((name) => !runs.has(name))]
  return { keeps: keeps.sort(), among: [...gains, ...possible].sort(), takesAll: possible.length === 0 }
}

function isSpreadByRegion({ placement }: BindingSpec): boolean {
  return placement?.spreadConstraints?.some(({ spreadByField }) => spreadByField === 'region') === true
}

/** Whether the clusters have all replicas: then the scheduler moves none of them (pkg/scheduler/core/assignment.go, assignByDynamicStrategy). */
function hasAllReplicas({ clusters = [], replicas = 0 }: BindingSpec): boolean {
  return clusters.reduce((sum, { replicas: own = 0 }) => sum + own, 0) === replicas
}

function stays(keeps: readonly string[]): Schedule {
  return { keeps, among: [], takesAll: false, waits: false }
}

/** Whether the scheduler chooses again at each event. Of a divided workload with components it does not, although each cluster gets a copy. */
function isAlwaysScheduled(spec: BindingSpec): boolean {
  const { replicaScheduling } = spec.placement ?? {}
  return (
    !isWorkload(spec) || replicaScheduling === undefined || replicaScheduling.replicaSchedulingType === 'Duplicated'
  )
}

/** Whether replicas are divided by weights that do not depend on free capacity: listed ones, or equal ones. */
function hasFixedWeights({ placement }: BindingSpec): boolean {
  const { replicaDivisionPreference, weightPreference } = placement?.replicaScheduling ?? {}
  return replicaDivisionPreference === 'Weighted' && !weightPreference?.dynamicWeight
}

/** Whether the scheduler schedules a divided workload again: not while its placement and its clusters are as before. */
function mustSchedule(binding: ResourceBinding, before: ResourceBinding | undefined, fleet: Fleet): boolean {
  const { spec } = binding
  const targets = targetClusters(spec)
  return (
    targets.length === 0 ||
    evictedClusters(spec).size > 0 ||
    targets.some(fleet.isGone) ||
    // The scheduler retries after a failure.
    schedulingFailure(binding) !== undefined ||
    isUnapplied(binding) ||
    !jsonEqual(spec.placement, before?.spec.placement)
  )
}

/** Whether the scheduler has not applied the placement yet: the cache keeps what it applied while that can differ. */
function isUnapplied({ metadata, spec }: ResourceBinding): boolean {
  const applied = metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]
  return applied !== undefined && !jsonEqual(parseAnnotation(applied), spec.placement)
}

type Candidates =
  | { kind: 'fit'; names: readonly string[]; group: Group }
  /** The scheduler empties the clusters of the binding. */
  | { kind: 'noFit'; reason: string }
  /** The scheduler leaves the binding as it is, and retries. */
  | { kind: 'error'; reason: string }

/** Finds the clusters that the filters of the scheduler leave, in the first group that has enough. */
function findCandidates(binding: ResourceBinding, fleet: Fleet): Candidates {
  const { spec } = binding
  const refuses = schedulingRefusal(spec, fleet.clusters)
  const spread = spreadCheck(spec.placement ?? {}, fleet.clusters)
  let failure: Candidates | undefined
  for (const group of groupsToTry(binding, fleet)) {
    const accepted = acceptedIn(group, spec, refuses)
    const reason = accepted.length > 0 ? spread(accepted) : undefined
    if (accepted.length > 0 && reason === undefined) {
      const names = spreadCandidates(accepted, spec.placement ?? {}, fleet.clusters)
      return { kind: 'fit', names, group }
    }
    failure ??=
      reason === undefined
        ? { kind: 'noFit', reason: describeRefusals(group.allowed(), refuses) }
        : { kind: 'error', reason }
  }
  return failure ?? { kind: 'noFit', reason: 'its placement allows no cluster' }
}

/**
 * The clusters of a group that accept a workload, sorted. They are the same for all workloads of a kind with this placement. Only the clusters in
 * which it runs, and those that it leaves, can differ.
 */
function acceptedIn(group: Group, spec: BindingSpec, refuses: Refusal): readonly string[] {
  const open = group.open(spec.resource)
  const evicted = evictedClusters(spec)
  const isOwn = (name: string) => !open.has(name) && group.allows(name) && refuses(name) === undefined
  const own = targetClusters(spec).filter(isOwn)
  const isLeft = [...evicted].some(open.has)
  const { names } = isLeft ? withoutClusters(open, evicted) : open
  return own.length === 0 ? names : sortedUnique([...names, ...own])
}

/** The groups that the scheduler tries: it begins with the one that it chose last, or with the first (pkg/scheduler/helper.go, getAffinityIndex). */
function groupsToTry({ spec, status }: ResourceBinding, fleet: Fleet): readonly Group[] {
  const groups = fleet.groupsOf(spec)
  const begin = groups.findIndex(({ name }) => name === status?.schedulerObservingAffinityName)
  return groups.slice(Math.max(0, begin))
}

/**
 * Whether the scheduler looks at a binding again after a change of a cluster: if the group that it chose last has the cluster. It overlooks those of
 * overflow tiers. After it found no cluster in the groups, it looks after any change: it has not recorded this state of the binding (v1.18.2,
 * pkg/scheduler/event_handler.go, enqueueAffectedBindings).
 */
export function isAffectedBy(cluster: string, binding: ResourceBinding, fleet: Fleet): boolean {
  const [group] = groupsToTry(binding, fleet)
  return (
    group?.allowsAtFirst(cluster) === true || (group?.name !== undefined && schedulingFailure(binding) !== undefined)
  )
}

/**
 * Whether the workload runs, and may stay in each of its clusters. If not, the scheduler tries to find another one. So it does if it begins with a
 * group without one of them, or needs further clusters.
 */
export function isScheduled(binding: ResourceBinding, fleet: Fleet): boolean {
  const { spec } = binding
  const targets = targetClusters(spec)
  const [group] = groupsToTry(binding, fleet)
  const evicted = evictedClusters(spec)
  const mayStay = (name: string) => group?.allows(name) === true && !fleet.isGone(name) && !evicted.has(name)
  const isEnough = targets.length > 0 && targets.length >= minClusters(spec.placement)
  return isEnough && targets.every(mayStay) && findEviction(binding, fleet) === undefined
}
