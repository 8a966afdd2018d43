/** Limits on the size of a placement: a larger one is not narrowed, and is unsatisfiable. */
import type { ClusterAffinity } from '../../api/karmada.ts'

/** Cluster affinities of a placement, overflow tiers included. Karmada's scheduler tries groups one by one; real policies have a few. */
export const MAX_AFFINITIES = 1000
/** Comparisons of a cluster with a requirement of a selector, in one narrowing: some 20 ms. */
export const MAX_COMPARISONS = 200_000
/** Cluster names that narrowing adds to groups without names: the result has to fit into an object of etcd (1.5 MiB). */
export const MAX_WRITTEN_NAMES = 20_000
/** Groups that preferred data adds; Karmada's scheduler tries them one by one. */
export const MAX_PREFERRED_GROUPS = 200
/** Tiers of preferred clusters. Clusters of lower rank share the last one. */
export const MAX_TIERS = 16
/** Preferred clusters, those with the most data first: they are written twice, into the placement and into an annotation. */
export const MAX_PREFERRED_CLUSTERS = 1000

/**
 * How many comparisons it takes to tell which of so many clusters these affinities allow. One with names and without selectors takes
 * none: its names are looked up, and they are part of the input.
 */
export function comparisons(terms: readonly ClusterAffinity[], clusters: number): number {
  return terms.reduce((sum, term) => {
    const names = term.clusterNames?.length ?? 0
    const requirements = requirementsOf(term)
    if (names > 0 && requirements === 0) return sum
    return sum + (1 + requirements) * (names > 0 ? Math.min(names, clusters) : clusters)
  }, 0)
}

function requirementsOf({ labelSelector, fieldSelector }: ClusterAffinity): number {
  return (
    Object.keys(labelSelector?.matchLabels ?? {}).length +
    (labelSelector?.matchExpressions?.length ?? 0) +
    (fieldSelector?.matchExpressions?.length ?? 0)
  )
}
