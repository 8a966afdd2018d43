// A model of the algorithm of Karmada's scheduler: filter, spread constraints, groups, overflow and division of replicas (v1.18.1,
// pkg/scheduler/core). A cluster has room for a number of replicas of each workload, whatever other workloads use.
import { accepts, matches } from './accepts.ts'
import {
  type AffinityTerm,
  type Binding,
  type Cluster,
  isDuplicated,
  isReplicated,
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
  if (!isReplicated(binding))
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
  if (byRegion) return selectByRegion(ranked, byRegion, byCluster)
  if (!byCluster) return ranked
  if (ranked.length < (byCluster.minGroups ?? 0)) return undefined
  const count = byCluster.maxGroups ?? ranked.length
  const first = ranked.slice(0, count)
  if (isDuplicated(placement) || !isReplicated(binding)) return first
  const { replicas = 0 } = binding.spec
  const isEnough = (clusters: readonly Cluster[]) => sum(clusters.map(roomOf)) >= replicas
  if (isEnough(first)) return first
  const largest = ranked.toSorted((a, b) => roomOf(b) - roomOf(a)).slice(0, count)
  return isEnough(largest) ? largest : undefined
}

// select_clusters_by_region.go: the best region or regions with enough clusters, one cluster of each, then the clusters with the most room.
function selectByRegion(
  ranked: readonly Cluster[],
  { minGroups = 1, maxGroups = 0 }: { minGroups?: number; maxGroups?: number },
  byCluster: { minGroups?: number; maxGroups?: number } = {},
): readonly Cluster[] | undefined {
  const regions = [...Map.groupBy(ranked, ({ spec }) => spec.region ?? '').values()]
  if (regions.length < minGroups) return undefined
  const chosen = regionsOf(regions, { minGroups, maxGroups }, byCluster.minGroups ?? 0)
  if (!chosen) return undefined
  const first = chosen.flatMap(([best]) => best ?? [])
  const others = chosen.flatMap(([, ...rest]) => rest).toSorted((a, b) => roomOf(b) - roomOf(a))
  return [...first, ...others.slice(0, Math.max(0, (byCluster.maxGroups ?? 0) - first.length))]
}

// select_groups.go: of the smallest selections with enough clusters, the first one. The order of regions is that of their best cluster.
function regionsOf(
  regions: readonly (readonly Cluster[])[],
  { minGroups, maxGroups }: { minGroups: number; maxGroups: number },
  target: number,
): readonly (readonly Cluster[])[] | undefined {
  const select = (chosen: readonly (readonly Cluster[])[], from: number): (readonly (readonly Cluster[])[])[] => {
    if (chosen.length > maxGroups) return []
    if (chosen.length >= minGroups && sum(chosen.map(({ length }) => length)) >= target) return [chosen]
    return regions.slice(from).flatMap((region, i) => select([...chosen, region], from + i + 1))
  }
  return select([], 0).toSorted((a, b) => a.length - b.length)[0]
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
  if (isStaticWeight(placement)) return withoutZeros(byWeight(weightsOf(clusters, placement), replicas))
  return dynamically(clusters, replicas, placement, present)
}

// division_algorithm.go, getStaticWeightInfoList: if no candidate has a weight, all have the same.
function weightsOf(clusters: readonly Cluster[], { replicaScheduling }: Placement): [name: string, weight: number][] {
  const list = replicaScheduling?.weightPreference?.staticWeightList ?? []
  const weights = clusters.map((cluster): [string, number] => {
    const own = list.filter(({ targetCluster }) => matches(cluster, targetCluster)).map(({ weight }) => weight)
    return [cluster.metadata.name ?? '', Math.max(0, ...own)]
  })
  const weighted = weights.filter(([, weight]) => weight > 0)
  return weighted.length > 0 ? weighted : weights.map(([name]) => [name, 1])
}

// docs/concepts/claims.md: whether the static weights give all replicas to other clusters that the policy allows, so that none of these counts.
export function lacksWeight({ spec }: Binding, base: Placement, names: readonly string[], allowed: readonly Cluster[]) {
  const list = base.replicaScheduling?.weightPreference?.staticWeightList ?? []
  if (!isReplicated({ spec }) || !isStaticWeight(base) || list.length === 0) return false
  if (names.some((name) => spec.clusters?.some((target) => target.name === name))) return false
  const isWeighted = (cluster: Cluster) => list.some(({ targetCluster }) => matches(cluster, targetCluster))
  if (allowed.some((cluster) => names.includes(cluster.metadata.name ?? '') && isWeighted(cluster))) return false
  return allowed.some(isWeighted) || list.some(({ targetCluster }) => !targetCluster.clusterNames?.length)
}

// The method of Webster: each replica goes where the quotient is the greatest. The order of equal ones depends on the uid; here it is that of names.
function byWeight(weights: readonly [name: string, weight: number][], replicas: number): TargetCluster[] {
  const seats = weights.map(([name, weight]) => ({ name, weight, replicas: 0 }))
  const quotientOf = (seat: { weight: number; replicas: number }) => seat.weight / (2 * seat.replicas + 1)
  for (let i = 0; i < replicas; i++) {
    const [next] = seats.toSorted((a, b) => quotientOf(b) - quotientOf(a) || a.replicas - b.replicas)
    if (next) next.replicas++
  }
  return seats.map(({ name, replicas: assigned }) => ({ name, replicas: assigned }))
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
