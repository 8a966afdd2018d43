/** Checks a narrowed affinity before it is returned: finds clusters that it allows and the base does not. */
import type { ClusterAffinity, PlacementAffinity } from '../../api/karmada.ts'
import { withoutEmpties } from '../../base/json.ts'
import { type KarmadaRules, newestRules } from '../karmada-rules.ts'
import { affinityTerms, type ClusterLookup, effectiveAffinity } from './affinity.ts'
import { type ClusterFilter, clusterFilter } from './cluster-filter.ts'
import { comparisons, MAX_COMPARISONS } from './limits.ts'
import { placementFilter } from './placement-filter.ts'

/**
 * Returns the clusters that `result` allows and `base` does not; an empty list if the result is a narrowing. `['*']` means every cluster:
 * the result has a term without names that the base does not have, or both are too large to compare.
 */
export function widenedBy(
  base: PlacementAffinity,
  result: PlacementAffinity,
  clusters: ClusterLookup | undefined,
  usesOverflow: boolean,
  rules: KarmadaRules,
): string[] {
  if (result === base) return []
  const own = openOwnTerms(base, usesOverflow)
  const baseFilter = placementFilter(base, clusters, usesOverflow, rules)
  const widened = new Set<string>()
  let compared = 0
  for (const term of affinityTerms(effectiveAffinity(result), usesOverflow)) {
    if (own.isOne(term)) continue
    const added = addedBy(term)
    if (added === 'tooLarge') return ['*']
    for (const name of added) widened.add(name)
  }
  return widened.size === 0 ? [] : [...widened].sort()

  function addedBy(term: ClusterAffinity): readonly string[] | 'tooLarge' {
    const names = term.clusterNames ?? []
    if (names.length === 0) return own.isEqualToOne(term) ? [] : ['*']
    const each = comparisons([term], 1)
    const added: string[] = []
    let filter: ClusterFilter | undefined
    for (const name of names) {
      const isAllowed = baseFilter.allows(name)
      if (!isAllowed) compared += each
      if (compared + baseFilter.compared() > MAX_COMPARISONS) return 'tooLarge'
      if (isAllowed) continue
      // If the result's own selectors reject a name in every version, the result does not allow it either.
      filter ??= clusterFilter(term, clusters, newestRules)
      if (!filter.allows(name)) continue
      // This comparison reads all names of the term, so it comes last, and once.
      if (added.length === 0 && own.isEqualToOne(term)) return []
      added.push(name)
    }
    return added
  }
}

/** The terms of the base, prepared to find them in the result. */
function openOwnTerms(base: PlacementAffinity, usesOverflow: boolean) {
  const allowsAll = !base.clusterAffinity && !base.clusterAffinities?.length
  const terms = affinityTerms(base, usesOverflow)
  const set = new Set(terms)
  let selectors: Set<string> | undefined
  return {
    /** Whether the base has the same object: the result shares unchanged terms with the base. */
    isOne: (term: ClusterAffinity) => set.has(term),
    /** Whether a term of the base allows the same clusters. */
    isEqualToOne(term: ClusterAffinity) {
      if (allowsAll) return true
      selectors ??= new Set(terms.map(selectorText))
      return selectors.has(selectorText(term))
    },
  }
}

/** The part of an affinity that selects clusters, as text. An empty list or selector selects the same clusters as an absent one. */
function selectorText({ clusterNames, labelSelector, fieldSelector, exclude }: ClusterAffinity): string {
  return JSON.stringify([clusterNames, labelSelector, fieldSelector, exclude].map((part) => withoutEmpties(part)))
}
