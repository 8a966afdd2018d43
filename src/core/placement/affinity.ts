/** Reads and replaces the affinity of a placement. */
import type { Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'

/**
 * Finds Cluster objects by name. Without a lookup they cannot be read, as in a folder without them: then every name counts as a
 * cluster, and Karmada alone applies selectors.
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

/** The affinities of a group that the scheduler may use: the group's own, then its overflow tiers (workloads only). */
export function tiersOf(term: ClusterAffinityTerm, isWorkload: boolean): readonly ClusterAffinity[] {
  return isWorkload ? [term, ...(term.overflowAffinities ?? [])] : [term]
}

/** Every affinity by which the scheduler may let a cluster pass; one without any part where the placement has none. */
export function termsOf(affinity: PlacementAffinity, isWorkload: boolean): readonly ClusterAffinity[] {
  return affinity.clusterAffinities?.flatMap((term) => tiersOf(term, isWorkload)) ?? [affinity.clusterAffinity ?? {}]
}
