/** Prefers clusters: adds groups with the clusters that have preferred data before the groups of a placement. */
import {
  type ClusterAffinityTerm,
  MAX_AFFINITY_NAME_LENGTH,
  type Placement,
  type PlacementAffinity,
} from '../../api/karmada.ts'
import { withoutEmpties } from '../../base/json.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { type ClusterSet, clusterFilter, clusterSet, narrowAffinity } from './cluster-filter.ts'
import type { DataConstraint } from './constraint.ts'
import { comparisons, MAX_COMPARISONS, MAX_PREFERRED_GROUPS } from './limits.ts'
import type { SpreadCheck } from './spread.ts'
import type { WeightCheck } from './weights.ts'

interface PreferInput {
  base: Placement
  affinity: PlacementAffinity
  constraint: DataConstraint
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  spread: SpreadCheck
  weights?: WeightCheck | undefined
}

/** The name of the group that replaces a base without groups. */
const UNNAMED_GROUP = 'default'

/**
 * Adds a `<name>-local` group, one per tier of preferred clusters, before each group. Karmada's scheduler uses the first group that can be
 * scheduled. Therefore it tries the clusters with the data first, and the base remains as the fallback. A tier is left out if it has no
 * cluster of the group, all of them, or too few for the spread constraints. Without tiers, or with too many groups, the affinity stays as
 * it is.
 */
export function preferClusters({
  affinity,
  constraint,
  clusters,
  rules,
  spread,
  weights,
}: PreferInput): PlacementAffinity {
  const { preferred: tiersOfNames = [] } = constraint
  if (tiersOfNames.length === 0) return affinity
  const before: readonly ClusterAffinityTerm[] = affinity.clusterAffinities ?? [
    { ...affinity.clusterAffinity, affinityName: UNNAMED_GROUP },
  ]
  const preferredClusters = tiersOfNames.reduce((sum, names) => sum + names.length, 0)
  const isTooLarge =
    before.length * tiersOfNames.length > MAX_PREFERRED_GROUPS ||
    comparisons(before, preferredClusters) > MAX_COMPARISONS
  if (isTooLarge) return affinity
  const tiers = tiersOfNames.map(clusterSet)
  const groups = before.map((group) => withoutEmpties(group) ?? group)
  const freeName = openNames(groups.map((group) => group.affinityName))
  const preferred = groups.flatMap((group) => [
    ...localGroups(group, tiers, { clusters, rules, spread, weights }).map((term) => ({
      ...term,
      affinityName: freeName(group.affinityName),
    })),
    group,
  ])
  return preferred.length === groups.length ? affinity : { clusterAffinities: preferred }
}

/** Narrows the group to each tier. Leaves out tiers that would change nothing. */
function localGroups(
  { overflowAffinities: _overflow, ...own }: ClusterAffinityTerm,
  tiers: readonly ClusterSet[],
  { clusters, rules, spread, weights }: Pick<PreferInput, 'clusters' | 'rules' | 'spread' | 'weights'>,
) {
  const filter = clusterFilter(own, clusters, rules)
  const ownNames = filter.named && new Set(filter.named).size
  return tiers.flatMap((tier) => {
    const narrowed = narrowAffinity(own, filter, tier)
    // Narrowed names are a subset of the group's names: if the counts are equal, the names are equal.
    if (!narrowed || narrowed.clusterNames.length === ownNames) return []
    return (spread(narrowed.clusterNames) ?? weights?.([own], narrowed.clusterNames)) ? [] : [narrowed]
  })
}

/** Returns a function that generates names: `<base>-local`, `<base>-local-2`, …: the first free one, with at most 32 characters. */
function openNames(names: readonly string[]): (base: string) => string {
  const taken = new Set(names)
  const last = new Map<string, number>()
  return (base) => {
    for (let i = (last.get(base) ?? 0) + 1; ; i++) {
      const suffix = i === 1 ? '-local' : `-local-${i}`
      const name = `${base.slice(0, MAX_AFFINITY_NAME_LENGTH - suffix.length)}${suffix}`
      if (taken.has(name)) continue
      taken.add(name)
      last.set(base, i)
      return name
    }
  }
}
