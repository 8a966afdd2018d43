/** The last guard before a narrowed placement leaves the house: does it allow a cluster that the base did not? */
import type { ClusterAffinity, PlacementAffinity } from '../../api/karmada.ts'
import { withoutEmpties } from '../json.ts'
import { affinityAllows, affinityOf, type ClusterLookup, placementAllows, tiersOf } from './affinity.ts'

/**
 * The clusters that `result` names but `base` would not let pass, or `['*']` when the result has an affinity without names that is not
 * one of the base's own. Empty when the result is a narrowing, as it must be.
 */
export function widenedBy(
  base: PlacementAffinity,
  result: PlacementAffinity,
  clusters: ClusterLookup | undefined,
  isWorkload: boolean,
): string[] {
  let own: Set<string> | undefined
  const widened = new Set<string>()
  for (const term of termsOf(affinityOf(result), isWorkload)) {
    if (term.clusterNames?.length) {
      for (const name of term.clusterNames) {
        // A name that the result's own selectors reject is not allowed by the result either.
        if (!affinityAllows(term, name, clusters)) continue
        if (!placementAllows(base, name, clusters, isWorkload)) widened.add(name)
      }
    } else if (!allowsAll(base)) {
      own ??= new Set(termsOf(base, isWorkload).map(selectorsOf))
      if (!own.has(selectorsOf(term))) widened.add('*')
    }
  }
  return widened.size === 0 ? [] : [...widened].sort()
}

function termsOf(affinity: PlacementAffinity, isWorkload: boolean): ClusterAffinity[] {
  return affinity.clusterAffinities?.flatMap((term) => tiersOf(term, isWorkload)) ?? [affinity.clusterAffinity ?? {}]
}

/** What an affinity allows, as text. An empty list or selector allows what an absent one does. */
function selectorsOf({ clusterNames, labelSelector, fieldSelector, exclude }: ClusterAffinity): string {
  return JSON.stringify([clusterNames, labelSelector, fieldSelector, exclude].map((part) => withoutEmpties(part)))
}

function allowsAll(base: PlacementAffinity): boolean {
  return !base.clusterAffinity && !base.clusterAffinities?.length
}
