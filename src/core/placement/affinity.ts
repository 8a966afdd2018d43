/** Reading and replacing the part of a placement that says which clusters. */
import type { Cluster, ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'

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

/** The affinities of a group that the scheduler may use: the group's own, then its overflow tiers (workloads only). */
export function tiersOf(term: ClusterAffinityTerm, isWorkload: boolean): readonly ClusterAffinity[] {
  return isWorkload ? [term, ...(term.overflowAffinities ?? [])] : [term]
}

/** Every affinity by which the scheduler may let a cluster pass; one without any part where the placement has none. */
export function termsOf(affinity: PlacementAffinity, isWorkload: boolean): readonly ClusterAffinity[] {
  return affinity.clusterAffinities?.flatMap((term) => tiersOf(term, isWorkload)) ?? [affinity.clusterAffinity ?? {}]
}
