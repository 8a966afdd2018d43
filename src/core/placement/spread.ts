/** Finds sets of clusters of which Karmada's scheduler selects none because of spread constraints: it would retry such a binding forever. */
import type { Placement } from '../../api/karmada.ts'
import type { ClusterLookup } from './affinity.ts'
import { fieldValues } from './field-selector.ts'

/** Returns why the scheduler selects none of a set of clusters; undefined if it selects some. */
export type SpreadCheck = (names: readonly string[]) => string | undefined

/** The check of a placement without spread constraints: every set of clusters passes. */
export const UNCONSTRAINED: SpreadCheck = () => undefined

interface Groups {
  minGroups: number
  maxGroups: number
}

/** The fields that a cluster must have, if the clusters are spread by them (pkg/scheduler/framework/plugins/spreadconstraint). */
const NEEDED_FIELDS = ['provider', 'region', 'zone']

/**
 * Reads the spread constraints of a placement once, for many sets of clusters. They count together, as in the scheduler of 1.16 to 1.19
 * (pkg/scheduler/core/spreadconstraint/select_clusters.go): by region and cluster, or by cluster alone. Other fields need only a value, and
 * with static weights every constraint does. The scheduler finds a selection whenever one exists (select_groups.go). Free capacity is not
 * known here and counts as sufficient. If Clusters cannot be read, each region that is possible counts.
 */
export function spreadCheck(placement: Placement, clusters: ClusterLookup | undefined): SpreadCheck {
  const { spreadConstraints = [] } = placement
  if (spreadConstraints.length === 0) return UNCONSTRAINED
  const byField = groupsByField(spreadConstraints)
  const needed = neededFields(byField, clusters)
  const select = ignoresGroups(placement) ? undefined : spreadSelection(byField, clusters)
  return (names) => {
    const candidates = withFields(names, needed, clusters)
    if (candidates.length === 0 && names.length > 0) {
      return `spread constraint requires clusters with a ${needed.join(' and a ')}, the clusters with the data have none`
    }
    return select?.(candidates)
  }
}

/** The constraints by field; the last one of a field counts. Karmada's webhook sets the defaults (SetDefaultSpreadConstraints). */
function groupsByField(constraints: NonNullable<Placement['spreadConstraints']>): ReadonlyMap<string, Groups> {
  const byField = new Map<string, Groups>()
  for (const { spreadByField, spreadByLabel, minGroups, maxGroups = 0 } of constraints) {
    byField.set(spreadByField || (spreadByLabel ? '' : 'cluster'), { minGroups: minGroups || 1, maxGroups })
  }
  return byField
}

/** The clusters that have the fields by which a placement spreads. The scheduler accepts no others. */
export function spreadCandidates(
  names: readonly string[],
  { spreadConstraints = [] }: Placement,
  clusters: ClusterLookup | undefined,
): readonly string[] {
  if (spreadConstraints.length === 0) return names
  return withFields(names, neededFields(groupsByField(spreadConstraints), clusters), clusters)
}

function neededFields(byField: ReadonlyMap<string, Groups>, clusters: ClusterLookup | undefined): readonly string[] {
  return clusters ? NEEDED_FIELDS.filter((field) => byField.has(field)) : []
}

function withFields(names: readonly string[], fields: readonly string[], clusters: ClusterLookup | undefined) {
  if (fields.length === 0) return names
  return names.filter((name) => {
    const cluster = clusters?.(name)
    return cluster !== undefined && fields.every((field) => fieldValues(field, cluster).length > 0)
  })
}

function spreadSelection(byField: ReadonlyMap<string, Groups>, clusters: ClusterLookup | undefined): SpreadCheck {
  const region = byField.get('region')
  const cluster = byField.get('cluster')
  if (region) return byRegion(region, cluster?.minGroups ?? 0, clusters)
  if (cluster) return byCluster(cluster)
  return () => "spread constraints are neither by cluster nor by region, and Karmada's scheduler supports no others"
}

/** select_clusters_by_cluster.go: it takes at most `maxGroups` clusters, so none without one. */
function byCluster({ minGroups, maxGroups }: Groups): SpreadCheck {
  return ({ length }) => {
    if (maxGroups < 1) return lacksMaximum('cluster')
    return length < minGroups ? tooFew(minGroups, 'cluster', length) : undefined
  }
}

/**
 * select_clusters_by_region.go: it takes at least `minGroups` and at most `maxGroups` regions that have enough clusters together. A selection
 * exists if the largest regions have enough. The `maxGroups` of the clusters excludes no selection.
 */
function byRegion(
  { minGroups, maxGroups }: Groups,
  minClusters: number,
  clusters: ClusterLookup | undefined,
): SpreadCheck {
  return (names) => {
    if (maxGroups < 1) return lacksMaximum('region')
    if (maxGroups < minGroups)
      return `spread constraint requires at least ${minGroups} region groups and at most ${maxGroups}`
    const sizes = clusters && regionSizes(names, clusters)
    const regions = sizes?.length ?? names.length
    if (regions < minGroups) return tooFew(minGroups, 'region', regions)
    const most = sizes ? sumOf(sizes.slice(0, maxGroups)) : names.length
    return most < minClusters
      ? `spread constraints require at least ${minClusters} clusters in at most ${maxGroups} region groups, the clusters with the data have ${most}`
      : undefined
  }
}

/**
 * Whether the scheduler can leave a workload in all of its clusters. It cannot if they are more clusters or regions than it selects. Of the regions,
 * it selects no more than are needed for `minGroups` of the constraints (select_groups.go, findFeasiblePaths). Without a constraint by cluster, it
 * selects one cluster of each region.
 *
 * @param kept the clusters in which it runs
 * @param accepted the clusters that accept it, those in which it runs included
 */
export function canKeepAll(
  kept: readonly string[],
  accepted: readonly string[],
  placement: Placement,
  clusters: ClusterLookup | undefined,
): boolean {
  const { spreadConstraints = [] } = placement
  if (spreadConstraints.length === 0 || ignoresGroups(placement)) return true
  const byField = groupsByField(spreadConstraints)
  const { minGroups: least, maxGroups: most } = byField.get('cluster') ?? { minGroups: 0, maxGroups: 0 }
  const region = byField.get('region')
  if (!region) return kept.length <= most
  if (!clusters) return kept.length <= Math.max(region.maxGroups, most)
  const regionOf = (name: string) => clusters(name)?.spec.region
  const own = new Set(kept.map(regionOf))
  const [, ...others] = regionSizes(
    accepted.filter((name) => own.has(regionOf(name))),
    clusters,
  )
  const isOneTooMany = own.size > region.minGroups && sumOf(others) >= least
  return own.size <= region.maxGroups && !isOneTooMany && kept.length <= Math.max(own.size, most)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** The number of clusters in each region, the largest first. */
function regionSizes(names: readonly string[], clusters: ClusterLookup): number[] {
  const regions = Map.groupBy(names, (name) => clusters(name)?.spec.region)
  return [...regions.values()].map(({ length }) => length).sort((a, b) => b - a)
}

function tooFew(minGroups: number, field: string, groups: number): string {
  return `spread constraint requires at least ${minGroups} ${field} groups, the clusters with the data form ${groups}`
}

function lacksMaximum(field: string): string {
  return `spread constraint by ${field} has no maxGroups, so Karmada's scheduler selects no cluster; set maxGroups in the policy`
}

/** Static weights select all candidates (select_clusters.go, shouldIgnoreSpreadConstraint). A manifest may lack the default Divided. */
function ignoresGroups({ replicaScheduling }: Placement): boolean {
  if (!replicaScheduling || (replicaScheduling.replicaSchedulingType ?? 'Divided') !== 'Divided') return false
  if (replicaScheduling.replicaDivisionPreference !== 'Weighted') return false
  const weights = replicaScheduling.weightPreference
  return weights === undefined || (!!weights.staticWeightList?.length && !weights.dynamicWeight)
}

/** Returns the number of clusters to which spread constraints limit a workload; undefined for no limit. */
export function maxClusters(placement: Placement | undefined): number | undefined {
  let least: number | undefined
  for (const { spreadByField = 'cluster', spreadByLabel, maxGroups } of placement?.spreadConstraints ?? []) {
    if (spreadByLabel || spreadByField !== 'cluster' || maxGroups === undefined) continue
    least = Math.min(least ?? maxGroups, maxGroups)
  }
  return least
}

/** Returns how many clusters the spread constraints require at least: 1 without such a constraint. */
export function minClusters(placement: Placement | undefined): number {
  const constraints = (placement?.spreadConstraints ?? []).filter(
    ({ spreadByField = 'cluster', spreadByLabel }) => !spreadByLabel && spreadByField === 'cluster',
  )
  return Math.max(1, ...constraints.map(({ minGroups = 1 }) => minGroups))
}
