/** Compiles an affinity into a filter of clusters. The cost of a look-up does not grow with the lists of the affinity. */
import type { Cluster, ClusterAffinity } from '../../api/karmada.ts'
import { membership, sortedUnique, withoutEmpties } from '../../base/json.ts'
import { labelMatcher } from '../../base/selectors.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { fieldMatcher } from './field-selector.ts'

/** Cluster names, compiled for many look-ups. */
export interface ClusterSet {
  /** Sorted and unique. */
  readonly names: readonly string[]
  has(name: string): boolean
}

/** Returns the set of these names, which may repeat and have any order. */
export function clusterSet(names: readonly string[]): ClusterSet {
  // The names of a source are sorted already, and their set is cached.
  const sorted = isSorted(names) ? names : sortedUnique(names)
  return { names: sorted, has: membership(sorted) }
}

/** Returns the set without some of its clusters. */
export function withoutClusters({ names, has }: ClusterSet, removed: ReadonlySet<string>): ClusterSet {
  return {
    names: names.filter((name) => !removed.has(name)),
    has: (name) => has(name) && !removed.has(name),
  }
}

function isSorted(names: readonly string[]): boolean {
  return names.every((name, i) => i === 0 || (names[i - 1] as string) < name)
}

/** An affinity, compiled for many look-ups. */
export interface ClusterFilter {
  /** The clusters that the affinity names; undefined if it names none, which allows every cluster. */
  readonly named: readonly string[] | undefined
  /** Whether Karmada's ClusterMatches allows the cluster (pkg/util/selector.go). */
  allows(name: string): boolean
}

/** Compiles an affinity. The cost grows with its size. */
export function clusterFilter(
  affinity: ClusterAffinity,
  clusters: ClusterLookup | undefined,
  rules: KarmadaRules,
): ClusterFilter {
  const { clusterNames, exclude, labelSelector, fieldSelector } = affinity
  const named = clusterNames?.length ? clusterNames : undefined
  const isNamed = named && membership(knownNames(named, clusters))
  const isExcluded = exclude?.length ? membership(knownNames(exclude, clusters)) : undefined
  const matchesLabels = labelSelector && labelMatcher(labelSelector)
  const matchesFields = fieldSelector?.matchExpressions && fieldMatcher(fieldSelector.matchExpressions, rules)
  const matches = (cluster: Cluster | undefined) =>
    cluster !== undefined &&
    (!matchesLabels || matchesLabels(cluster.metadata.labels ?? {})) &&
    (!matchesFields || matchesFields(cluster))
  return {
    named,
    allows: (name) =>
      !isExcluded?.(name) &&
      (isNamed === undefined || isNamed(name)) &&
      (clusters === undefined || matches(clusters(name))),
  }
}

/** A shorter list is compiled as it is. */
const MANY_NAMES = 1000

interface KnownNames {
  clusters: ClusterLookup
  names: readonly string[]
}

/** The last result for each list: a decision compiles the same list several times. */
const knownNamesOf = new WeakMap<readonly string[], KnownNames>()

/** Returns the names of a long list that are clusters. No affinity allows the others, and a set of all names would cost more than the look-ups. */
function knownNames(list: readonly string[], clusters: ClusterLookup | undefined): readonly string[] {
  if (clusters === undefined || list.length <= MANY_NAMES) return list
  const last = knownNamesOf.get(list)
  if (last?.clusters === clusters) return last.names
  const names = list.filter((name) => clusters(name) !== undefined)
  knownNamesOf.set(list, { clusters, names })
  return names
}

/** Narrows one affinity to the wanted clusters that it allows; undefined if it allows none of them. Selectors and `exclude` stay. */
export function narrowAffinity<T extends ClusterAffinity>(
  base: T,
  filter: ClusterFilter,
  wanted: ClusterSet,
): (T & { clusterNames: string[] }) | undefined {
  const clusterNames = allowedClusters(filter, wanted)
  if (clusterNames.length === 0) return undefined
  const { clusterNames: _names, ...rest } = base
  // If every part of an affinity is empty, no part is left.
  return { ...(withoutEmpties(rest) as T), clusterNames }
}

/** Returns the clusters of `wanted` that the filter allows, sorted. It iterates over the shorter list. */
function allowedClusters(filter: ClusterFilter, wanted: ClusterSet): string[] {
  const { named } = filter
  return named && named.length < wanted.names.length
    ? sortedUnique(named.filter((name) => wanted.has(name) && filter.allows(name)))
    : wanted.names.filter((name) => filter.allows(name))
}
