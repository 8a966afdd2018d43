/** Which clusters an affinity lets pass, compiled once: the cost of a look-up does not grow with the lists of the affinity. */
import type { Cluster, ClusterAffinity } from '../../api/karmada.ts'
import { membership, sortedUnique, withoutEmpties } from '../json.ts'
import { fieldMatcher, labelMatcher } from '../selectors.ts'
import type { ClusterLookup } from './affinity.ts'

/** Cluster names for many look-ups. */
export interface ClusterSet {
  /** Sorted and unique. */
  readonly names: readonly string[]
  has(name: string): boolean
}

export function clusterSet(names: Iterable<string>): ClusterSet {
  const sorted = sortedUnique(names)
  return { names: sorted, has: membership(sorted) }
}

/** An affinity for many look-ups. */
export interface ClusterFilter {
  /** The clusters that the affinity names; undefined when it names none and so means every cluster. */
  readonly named: ClusterSet | undefined
  /** Whether Karmada's ClusterMatches lets the cluster pass (pkg/util/selector.go). */
  allows(name: string): boolean
}

/** Compiles an affinity. The cost grows with its size. */
export function clusterFilter(affinity: ClusterAffinity, clusters: ClusterLookup | undefined): ClusterFilter {
  const { clusterNames = [], exclude = [], labelSelector = {}, fieldSelector = {} } = affinity
  const named = clusterNames.length > 0 ? clusterSet(clusterNames) : undefined
  const isExcluded = membership(exclude)
  const matchesLabels = labelMatcher(labelSelector)
  const matchesFields = fieldMatcher(fieldSelector.matchExpressions ?? [])
  const matches = (cluster: Cluster | undefined) =>
    cluster !== undefined && matchesLabels(cluster.metadata.labels ?? {}) && matchesFields(cluster)
  return {
    named,
    allows: (name) =>
      !isExcluded(name) &&
      (named === undefined || named.has(name)) &&
      (clusters === undefined || matches(clusters(name))),
  }
}

/** One affinity with its names cut down to the wanted ones that pass it; undefined when none does. Selectors and `exclude` stay. */
export function narrowAffinity<T extends ClusterAffinity>(
  base: T,
  filter: ClusterFilter,
  wanted: ClusterSet,
): (T & { clusterNames: string[] }) | undefined {
  const clusterNames = allowedOf(filter, wanted)
  if (clusterNames.length === 0) return undefined
  // An affinity of nothing but empty parts leaves no part at all.
  return { ...(withoutEmpties(base) as T), clusterNames }
}

/** The clusters of both: those that the filter allows of `wanted`, sorted. The shorter list is walked. */
function allowedOf(filter: ClusterFilter, wanted: ClusterSet): string[] {
  const { named } = filter
  return named && named.names.length < wanted.names.length
    ? named.names.filter((name) => wanted.has(name) && filter.allows(name))
    : wanted.names.filter((name) => filter.allows(name))
}
