/** Reads and replaces the affinity of a placement. */
import type { Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'

/**
 * Finds Cluster objects by name. It is undefined if they cannot be read, for instance in a folder without Clusters. Then every name counts
 * as a cluster, and Karmada alone applies selectors.
 */
export type ClusterLookup = (name: string) => Cluster | undefined

/**
 * The affinity part of a placement. `clusterAffinity` has precedence over `clusterAffinities`, as in Karmada's filter
 * (cluster_affinity.go).
 */
export function effectiveAffinity(placement: Placement | undefined): PlacementAffinity {
  if (placement?.clusterAffinity) return { clusterAffinity: placement.clusterAffinity }
  if (placement?.clusterAffinities?.length) return { clusterAffinities: placement.clusterAffinities }
  return {}
}

/** Replaces the affinity of a placement and keeps every other field, also fields that Lodestone does not declare. */
export function withAffinity(placement: Placement, affinity: PlacementAffinity): Placement {
  const { clusterAffinity: _one, clusterAffinities: _groups, ...rest } = placement
  return { ...affinity, ...rest }
}

/** The affinities of a group that the scheduler may use: the group's own and, if they count, its overflow tiers. */
export function affinityTiers(term: ClusterAffinityTerm, usesOverflow: boolean): readonly ClusterAffinity[] {
  return usesOverflow ? [term, ...(term.overflowAffinities ?? [])] : [term]
}

/** Every affinity that may allow a cluster. If the placement has no affinity, the result is one empty affinity, which allows all. */
export function affinityTerms(affinity: PlacementAffinity, usesOverflow: boolean): readonly ClusterAffinity[] {
  return (
    affinity.clusterAffinities?.flatMap((term) => affinityTiers(term, usesOverflow)) ?? [affinity.clusterAffinity ?? {}]
  )
}
