/** Compiles the affinity of a placement into a filter of clusters that evaluates each name once. */
import type { PlacementAffinity } from '../../api/karmada.ts'
import { addTo } from '../../base/multimap.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import { affinityTerms, type ClusterLookup } from './affinity.ts'
import { type ClusterFilter, clusterFilter } from './cluster-filter.ts'
import { comparisons } from './limits.ts'

/** Up to this many affinities are evaluated one by one, without an index. */
const FEW = 4

export interface PlacementFilter {
  /** Whether any part of the affinity allows the cluster. */
  allows(name: string): boolean
  /** The number of comparisons with selectors so far. */
  compared(): number
}

/** Compiles the affinity of a placement. For each cluster, it evaluates only terms that name the cluster or name none. */
export function placementFilter(
  affinity: PlacementAffinity,
  clusters: ClusterLookup | undefined,
  usesOverflow: boolean,
  rules: KarmadaRules,
): PlacementFilter {
  if (!affinity.clusterAffinity && !affinity.clusterAffinities?.length) {
    return { allows: (name) => clusters === undefined || clusters(name) !== undefined, compared: () => 0 }
  }
  const terms = affinityTerms(affinity, usesOverflow)
  const filters = terms.map((term) => clusterFilter(term, clusters, rules))
  // The usual placement is too small for an index.
  if (filters.length <= FEW) {
    let compared = 0
    const each = comparisons(terms, 1)
    return {
      allows(name) {
        compared += each
        return filters.some((filter) => filter.allows(name))
      },
      compared: () => compared,
    }
  }
  const byName = new Map<string, ClusterFilter[]>()
  for (const filter of filters) {
    for (const name of filter.named ?? []) addTo(byName, name, filter)
  }
  const unnamed = filters.filter(({ named }) => named === undefined)
  const comparisonsEach = comparisons(
    terms.filter(({ clusterNames }) => !clusterNames?.length),
    1,
  )
  const known = new Map<string, boolean>()
  let compared = 0

  function find(name: string): boolean {
    const allowsName = (filter: ClusterFilter) => filter.allows(name)
    if (byName.get(name)?.some(allowsName)) return true
    compared += comparisonsEach
    return unnamed.some(allowsName)
  }

  return {
    allows(name) {
      const found = known.get(name) ?? find(name)
      known.set(name, found)
      return found
    },
    compared: () => compared,
  }
}
