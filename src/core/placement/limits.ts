/** Limits on the size of a placement. A larger placement is not narrowed and counts as unsatisfiable. */
import type { ClusterAffinity } from '../../api/karmada.ts'
import { memberNames } from '../../base/json.ts'

/** Cluster affinities of a placement, with overflow tiers. Karmada's scheduler tries groups one by one; real policies have a few. */
export const MAX_AFFINITIES = 1000
/** Comparisons of clusters with requirements of selectors, in one narrowing: about 20 ms. */
export const MAX_COMPARISONS = 200_000
/** Cluster names that narrowing adds to groups without names. The result must fit into an object of etcd (1.5 MiB). */
export const MAX_WRITTEN_NAMES = 20_000
/** Static weights of a placement that are compared with clusters. */
export const MAX_WEIGHTS = 100
/** Groups that are added for preferred data. Karmada's scheduler tries them one by one. */
export const MAX_PREFERRED_GROUPS = 200
/** Tiers of preferred clusters. Clusters of lower rank share the last one. */
export const MAX_TIERS = 16
/** Prices that are compared to rank clusters by the cost of transfers: about 5 ms. */
export const MAX_COMPARED_PRICES = 100_000
/** Preferred clusters, most data first. They are written twice: into the placement and into an annotation. */
export const MAX_PREFERRED_CLUSTERS = 1000

/**
 * Counts the comparisons that are needed to filter this many clusters by these affinities. An affinity with names and without selectors
 * needs none: its names are looked up.
 */
export function comparisons(terms: readonly ClusterAffinity[], clusters: number): number {
  return terms.reduce((sum, term) => {
    const names = term.clusterNames?.length ?? 0
    const requirements = requirementCount(term)
    if (names > 0 && requirements === 0) return sum
    return sum + (1 + requirements) * (names > 0 ? Math.min(names, clusters) : clusters)
  }, 0)
}

function requirementCount({ labelSelector, fieldSelector }: ClusterAffinity): number {
  return (
    memberNames(labelSelector?.matchLabels ?? {}).length +
    (labelSelector?.matchExpressions?.length ?? 0) +
    (fieldSelector?.matchExpressions?.length ?? 0)
  )
}
