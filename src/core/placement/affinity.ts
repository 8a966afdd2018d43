/** Reading and replacing the part of a placement that says which clusters. */
import type { Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'
import { sortedUnique, withoutEmpties } from '../json.ts'
import { matchesFields, matchesLabels } from '../selectors.ts'

/**
 * The Cluster objects by name. A lookup that is absent as a whole means that they cannot be read (a folder without them): then
 * names are taken as they are and selectors are left to Karmada.
 */
export type ClusterLookup = (name: string) => Cluster | undefined

/** The affinity part of a placement. `clusterAffinity` wins where both are set, as in Karmada's filter (cluster_affinity.go). */
export function affinityOf(placement: Placement | undefined): PlacementAffinity {
  if (placement?.clusterAffinity) return { clusterAffinity: placement.clusterAffinity }
  if (placement?.clusterAffinities?.length) return { clusterAffinities: placement.clusterAffinities }
  return {}
}

/** The placement with another affinity; every other field, known to us or not, is kept. */
export function withAffinity(placement: Placement, affinity: PlacementAffinity): Placement {
  const { clusterAffinity: _one, clusterAffinities: _groups, ...rest } = placement
  return { ...affinity, ...rest }
}

/** Whether Karmada's ClusterMatches would let the cluster pass this one affinity (pkg/util/selector.go). */
export function affinityAllows(affinity: ClusterAffinity, name: string, clusters: ClusterLookup | undefined): boolean {
  if (affinity.exclude?.includes(name)) return false
  if (affinity.clusterNames?.length && !affinity.clusterNames.includes(name)) return false
  if (clusters === undefined) return true
  const cluster = clusters(name)
  return (
    cluster !== undefined &&
    matchesLabels(affinity.labelSelector, cluster.metadata.labels) &&
    matchesFields(affinity.fieldSelector?.matchExpressions ?? [], cluster)
  )
}

/** The affinities of a group that the scheduler may use: the group's own, then its overflow tiers (workloads only). */
export function tiersOf(term: ClusterAffinityTerm, isWorkload: boolean): ClusterAffinity[] {
  return isWorkload ? [term, ...(term.overflowAffinities ?? [])] : [term]
}

/** Whether any part of the placement's affinity lets the cluster pass. */
export function placementAllows(
  affinity: PlacementAffinity,
  name: string,
  clusters: ClusterLookup | undefined,
  isWorkload: boolean,
): boolean {
  if (affinity.clusterAffinity) return affinityAllows(affinity.clusterAffinity, name, clusters)
  if (affinity.clusterAffinities?.length) {
    return affinity.clusterAffinities
      .flatMap((term) => tiersOf(term, isWorkload))
      .some((tier) => affinityAllows(tier, name, clusters))
  }
  return clusters === undefined || clusters(name) !== undefined
}

/** One affinity with its names cut down to the required ones that pass it, or nothing when none does. Selectors and `exclude` stay. */
export function narrowAffinity<T extends ClusterAffinity>(
  base: T,
  required: readonly string[],
  clusters: ClusterLookup | undefined,
): (T & { clusterNames: string[] }) | undefined {
  const clusterNames = sortedUnique(required.filter((name) => affinityAllows(base, name, clusters)))
  if (clusterNames.length === 0) return undefined
  // An affinity of nothing but empty parts leaves no part at all.
  return { ...(withoutEmpties(base) as T), clusterNames }
}
