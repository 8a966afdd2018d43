// A model of the algorithm of Karmada's scheduler: filter, spread constraints, groups, overflow and division of replicas (v1.18.1,
// pkg/scheduler/core). A cluster has room for a number of replicas of each workload, whatever other workloads use.
import { accepts, matches } from './accepts.ts'
import {
  type AffinityTerm,
  type Binding,
  type Cluster,
  isDuplicated,
  isWorkload,
  type Placement,
  type TargetCluster,
} from './karmada.ts'

export type ScheduleResult =
  | { kind: 'fit'; clusters: TargetCluster[]; affinityName?: string }
  // FitError: the scheduler empties the result and does not retry.
  | { kind: 'noFit' }
  // Any other error: the result stays, and the scheduler retries.
  | { kind: 'error'; reason: 'Unschedulable' | 'SchedulerError'; message: string }

// The room of a cluster that has not lost any.
export const CAPACITY = 4

function roomOf({ status }: Cluster): number {
  return status?.room ?? CAPACITY
}

export function withFullRoom(cluster: Cluster): Cluster {
  return { ...cluster, status: { ...cluster.status, room: CAPACITY } }
}

// util.RescheduleRequired: a WorkloadRebalancer asks for a division of the replicas anew.
export function isRescheduleRequired({ rescheduleTriggeredAt }: Binding['spec'], status: Binding['status']): boolean {
  return Date.parse(rescheduleTriggeredAt ?? '') > Date.parse(status?.lastScheduledTime ?? '')
}

// Returns what the scheduler would write for a binding.
export function schedule(binding: Binding, clusters: Iterable<Cluster>): ScheduleResult {
  const all = [...clusters]
  const groups = binding.spec.placement?.clusterAffinities
  if (!groups) return scheduleOnce(binding, all)
  // scheduler.go, getAffinityIndex: an unknown name starts at the first group.
  const observed = binding.status?.schedulerObservingAffinityName
  const first = Math.max(
    0,
    groups.findIndex(({ affinityName }) => affinityName === observed),
  )
  let failure: ScheduleResult | undefined
  for (const { affinityName } of groups.slice(first)) {
    const status = { ...binding.status, schedulerObservingAffinityName: affinityName }
    const result = scheduleOnce({ ...binding, status }, all)
    if (result.kind === 'fit') return { ...result, affinityName }
    failure ??= result
  }
  return failure ?? { kind: 'noFit' }
}

function scheduleOnce(binding: Binding, all: readonly Cluster[]): ScheduleResult {
  const { spec } = binding
  const feasible = all.filter((cluster) => accepts(cluster, binding))
  if (feasible.length === 0) return { kind: 'noFit' }
  const targets = new Set(spec.clusters?.map(({ name }) => name))
  // ClusterLocality scores the present clusters 100 and all others 0.
  const rank = (cluster: Cluster) => (targets.has(cluster.metadata.name ?? '') ? 0 : 1)
  const ranked = feasible.toSorted((a, b) => rank(a) - rank(b) || compare(a.metadata.name, b.metadata.name))
  const selected = select(ranked, binding)
  if (!selected)
    return {
      kind: 'error',
      reason: 'SchedulerError',
      message: 'failed to select clusters: too few clusters, or too little room',
    }
  if (!isWorkload(binding))
    return { kind: 'fit', clusters: selected.map(({ metadata }) => ({ name: metadata.name ?? '' })) }
  const assigned = assign(binding, selected)
  return assigned
    ? { kind: 'fit', clusters: assigned }
    : {
        kind: 'error',
        reason: 'Unschedulable',
        message: 'failed to assign replicas: clusters available replicas are not enough',
      }
}

// Selects by the spread constraints; undefined if they cannot be met (spreadconstraint/select_clusters.go).
function select(ranked: readonly Cluster[], binding: Binding): readonly Cluster[] | undefined {
  const { placement = {} } = binding.spec
  const { spreadConstraints = [] } = placement
  if (spreadConstraints.length === 0 || isStaticWeight(placement)) return ranked
  const byCluster = spreadConstraints.find(({ spreadByField }) => spreadByField === 'cluster')
  const byRegion = spreadConstraints.find(({ spreadByField }) => spreadByField === 'region')
  const within = byRegion ? inRegions(ranked, byRegion) : ranked
  if (!within || !byCluster) return within
  if (within.length < (byCluster.minGroups ?? 0)) return undefined
  const count = byCluster.maxGroups ?? within.length
  const first = within.slice(0, count)
  if (isDuplicated(placement) || !isWorkload(binding)) return first
  const { replicas = 0 } = binding.spec
  const isEnough = (clusters: readonly Cluster[]) => sum(clusters.map(roomOf)) >= replicas
  if (isEnough(first)) return first
  const largest = within.toSorted((a, b) => roomOf(b) - roomOf(a)).slice(0, count)
  return isEnough(largest) ? largest : undefined
}

function inRegions(
  ranked: readonly Cluster[],
  { minGroups = 0, maxGroups }: { minGroups?: number; maxGroups?: number },
): readonly Cluster[] | undefined {
  const regions = [...new Set(ranked.map(({ spec }) => spec.region ?? ''))]
  if (regions.length < minGroups) return undefined
  const chosen = new Set(regions.slice(0, maxGroups ?? regions.length))
  return ranked.filter(({ spec }) => chosen.has(spec.region ?? ''))
}

function isStaticWeight({ replicaScheduling }: Placement): boolean {
  return (
    replicaScheduling?.replicaSchedulingType === 'Divided' &&
    replicaScheduling.replicaDivisionPreference === 'Weighted' &&
    !replicaScheduling.weightPreference?.dynamicWeight
  )
}

// Divides the replicas (core/assignment.go); undefined if they do not fit.
function assign(binding: Binding, selected: readonly Cluster[]): TargetCluster[] | undefined {
  const { spec } = binding
  const { replicas = 0, placement = {} } = spec
  const tiers = tiersOf(binding, selected)
  const isFresh = isRescheduleRequired(spec, binding.status)
  const results: TargetCluster[] = []
  let remaining = replicas
  for (const tier of tiers) {
    const share = tiers.length > 1 ? Math.min(remaining, sum(tier.map(roomOf))) : remaining
    const assigned = assignTo(tier, share, placement, isFresh ? [] : (spec.clusters ?? []))
    if (!assigned) return undefined
    results.push(...assigned)
    remaining -= share
    if (remaining <= 0) return results
  }
  return isDuplicated(placement) || remaining <= 0 ? results : undefined
}

// The clusters of the group first, then those of each overflow tier.
function tiersOf({ spec, status }: Binding, selected: readonly Cluster[]): (readonly Cluster[])[] {
  const observed = status?.schedulerObservingAffinityName
  const term = spec.placement?.clusterAffinities?.find(({ affinityName }) => affinityName === observed)
  if (!term?.overflowAffinities || isDuplicated(spec.placement ?? {})) return [selected]
  const orderOf = (cluster: Cluster) =>
    [term as AffinityTerm, ...(term.overflowAffinities ?? [])].findIndex((one) => matches(cluster, one))
  const groups = Map.groupBy(selected, orderOf)
  return [...groups].toSorted(([a], [b]) => a - b).map(([, members]) => members)
}

function assignTo(
  clusters: readonly Cluster[],
  replicas: number,
  placement: Placement,
  present: readonly TargetCluster[],
): TargetCluster[] | undefined {
  const names = clusters.map(({ metadata }) => metadata.name ?? '')
  if (isDuplicated(placement)) return withoutZeros(names.map((name) => ({ name, replicas })))
  if (isStaticWeight(placement)) return withoutZeros(evenly(names, replicas))
  return dynamically(clusters, replicas, placement, present)
}

function evenly(names: readonly string[], replicas: number): TargetCluster[] {
  const share = Math.floor(replicas / names.length)
  const rest = replicas % names.length
  return names.map((name, i) => ({ name, replicas: share + (i < rest ? 1 : 0) }))
}

// Aggregated and dynamic weights keep what is assigned, and add or remove the difference ("Steady").
function dynamically(
  clusters: readonly Cluster[],
  replicas: number,
  placement: Placement,
  present: readonly TargetCluster[],
): TargetCluster[] | undefined {
  const rooms = new Map(clusters.map((cluster) => [cluster.metadata.name ?? '', roomOf(cluster)]))
  const names = [...rooms.keys()]
  const kept = new Map(
    present.filter(({ name }) => names.includes(name)).map(({ name, replicas: now = 0 }) => [name, now]),
  )
  let missing = replicas - sum(kept.values())
  const roomIn = (name: string) => Math.max(0, (rooms.get(name) ?? 0) - (kept.get(name) ?? 0))
  if (missing > sum(names.map(roomIn))) return undefined
  const isAggregated = placement.replicaScheduling?.replicaDivisionPreference === 'Aggregated'
  const order = [...new Set([...kept.keys(), ...names])]
  while (missing !== 0) {
    for (const name of missing > 0 ? order : order.toReversed()) {
      const now = kept.get(name) ?? 0
      const most = missing > 0 ? Math.min(missing, roomIn(name)) : Math.max(missing, -now)
      const step = isAggregated ? most : Math.sign(most)
      kept.set(name, now + step)
      missing -= step
      if (missing === 0) break
    }
  }
  return withoutZeros(order.map((name) => ({ name, replicas: kept.get(name) ?? 0 })))
}

function withoutZeros(clusters: TargetCluster[]): TargetCluster[] {
  return clusters.filter(({ replicas }) => replicas !== 0)
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, each) => total + each, 0)
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
