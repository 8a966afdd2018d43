// A second model of the filter of Karmada's scheduler, which shares no code with src (v1.18.1, pkg/scheduler/framework/plugins).
import {
  type Affinity,
  type Binding,
  type Cluster,
  isWorkload,
  type Placement,
  type Taint,
  type Toleration,
} from './karmada.ts'

// Whether the scheduler accepts the workload in the cluster. A binding with groups is accepted by its observed group only.
export function accepts(cluster: Cluster, binding: Binding): boolean {
  return refusalOf(cluster, binding) === undefined
}

// Returns the plugin that refuses the cluster, in the order of the plugins; undefined if the scheduler accepts it.
export function refusalOf(cluster: Cluster, { spec, status }: Binding): string | undefined {
  const name = cluster.metadata.name ?? ''
  // core/generic_scheduler.go, findClustersThatFit
  if (cluster.metadata.deletionTimestamp) return 'deleting'
  const placement = spec.placement ?? {}
  const isTarget = spec.clusters?.some((target) => target.name === name) ?? false
  // apienablement and tainttoleration let targets pass.
  if (!isTarget && !offers(cluster, spec.resource)) return 'APIEnablement'
  if (!isTarget && cluster.spec.taints?.some((taint) => isRefusing(taint, placement.clusterTolerations))) {
    return 'TaintToleration'
  }
  const affinities = affinitiesOf(placement, status?.schedulerObservingAffinityName, isWorkload({ spec }))
  if (affinities && !affinities.some((affinity) => matches(cluster, affinity))) return 'ClusterAffinity'
  const lacksRegion = placement.spreadConstraints?.some(({ spreadByField }) => spreadByField === 'region')
  if (lacksRegion && !cluster.spec.region) return 'SpreadConstraint'
  if (spec.gracefulEvictionTasks?.some(({ fromCluster }) => fromCluster === name)) return 'ClusterEviction'
  return undefined
}

// Whether an affinity matches a cluster (pkg/util/selector.go, ClusterMatches).
export function matches({ metadata }: Cluster, { clusterNames = [], exclude = [], labelSelector }: Affinity): boolean {
  const name = metadata.name ?? ''
  if (exclude.includes(name)) return false
  const labels = Object.entries(labelSelector?.matchLabels ?? {})
  if (!labels.every(([key, value]) => metadata.labels?.[key] === value)) return false
  return clusterNames.length === 0 || clusterNames.includes(name)
}

// The clusters that a placement allows, in any of its groups and whatever their state.
export function allowedBy(placement: Placement, clusters: Iterable<Cluster>, withOverflow = true): Set<string> {
  const { clusterAffinity, clusterAffinities } = placement
  const affinities = clusterAffinity
    ? [clusterAffinity]
    : clusterAffinities?.flatMap((term) => [term, ...(withOverflow ? (term.overflowAffinities ?? []) : [])])
  const allowed = [...clusters].filter((cluster) => !affinities || affinities.some((one) => matches(cluster, one)))
  return new Set(allowed.map(({ metadata }) => metadata.name ?? ''))
}

function affinitiesOf(
  { clusterAffinity, clusterAffinities }: Placement,
  observed: string | undefined,
  withOverflow: boolean,
): Affinity[] | undefined {
  if (clusterAffinity) return [clusterAffinity]
  const term = clusterAffinities?.find(({ affinityName }) => affinityName === observed)
  // The plugin passes every cluster if no group has the observed name.
  return term && [term, ...(withOverflow ? (term.overflowAffinities ?? []) : [])]
}

// Only a listed kind counts, also if the list may be incomplete: the plugin compares with APIEnabled.
function offers({ status }: Cluster, { apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  return (status?.apiEnablements ?? []).some(
    ({ groupVersion, resources }) =>
      groupVersion === apiVersion && resources.some((resource) => resource.kind === kind),
  )
}

function isRefusing(taint: Taint, tolerations: readonly Toleration[] = []): boolean {
  if (taint.effect === 'PreferNoSchedule') return false
  return !tolerations.some((toleration) => tolerates(toleration, taint))
}

// When the taint manager evicts a workload from a cluster with these taints, in ms; undefined if never. pkg/util/helper/taint.go: the first
// toleration of each taint is used, and a used one counts for every taint that it tolerates (GetMatchingTolerations, GetMinTolerationTime).
export function evictionMs(taints: readonly Taint[] = [], tolerations: readonly Toleration[] = []): number | undefined {
  const executing = taints.filter(({ effect }) => effect === 'NoExecute')
  const used = executing.map((taint) => tolerations.find((one) => tolerates(one, taint)))
  if (used.includes(undefined)) return Number.NEGATIVE_INFINITY
  const ends = used.flatMap((one) => {
    if (one?.tolerationSeconds === undefined) return []
    const { tolerationSeconds } = one
    const tolerated = executing.filter((taint) => tolerates(one, taint))
    return tolerated.map(({ timeAdded = '' }) => Date.parse(timeAdded) + tolerationSeconds * 1000)
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}

// Whether the scheduler accepts a newcomer in a cluster from which the taint manager evicts it some seconds later, or at once.
export function isEvictedLater({ spec }: Cluster, placement: Placement | undefined): boolean {
  const endMs = evictionMs(spec.taints, placement?.clusterTolerations)
  return endMs !== undefined && Number.isFinite(endMs)
}

// Whether a workload would leave all of its clusters for clusters from which it is evicted.
export function isLedToEviction(
  chosen: readonly string[],
  { spec }: Binding,
  placement: Placement | undefined,
  clusters: readonly Cluster[],
): boolean {
  const isEvicting = (name: string) =>
    clusters.some((one) => one.metadata.name === name && isEvictedLater(one, placement))
  return (
    chosen.length > 0 &&
    chosen.every((name) => !spec.clusters?.some((target) => target.name === name) && isEvicting(name))
  )
}

// Kubernetes' ToleratesTaint.
function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  if (operator === 'Exists') return true
  return !!key && value === (taint.value ?? '')
}
