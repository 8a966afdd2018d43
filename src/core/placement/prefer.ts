/** Preferring: earlier groups with the clusters that hold preferred data, in front of each group that they come from. */
import {
  type ClusterAffinityTerm,
  MAX_AFFINITY_NAME_LENGTH,
  type Placement,
  type PlacementAffinity,
} from '../../api/karmada.ts'
import { jsonEqual, sortedUnique, withoutEmpties } from '../json.ts'
import { type ClusterLookup, narrowAffinity } from './affinity.ts'
import type { DataConstraint } from './constraint.ts'
import { unsatisfiedSpread } from './spread.ts'

interface PreferInput {
  base: Placement
  affinity: PlacementAffinity
  constraint: DataConstraint
  clusters: ClusterLookup | undefined
}

/** The name of the group that stands for a base without names. */
const UNNAMED_GROUP = 'default'

/**
 * Puts a `<name>-local` group, one per tier of preferred clusters, in front of each group. Karmada's scheduler takes the first group
 * that schedules, so the data's clusters are tried first and the base remains as the fallback. A tier that adds nothing (no cluster
 * left, the whole group, or too few clusters for the spread) is left out; without any the affinity stays as it was.
 */
export function preferClusters({ base, affinity, constraint, clusters }: PreferInput): PlacementAffinity {
  const tiers = constraint.preferred ?? []
  if (tiers.length === 0) return affinity
  const groups: ClusterAffinityTerm[] = (
    affinity.clusterAffinities ?? [{ ...affinity.clusterAffinity, affinityName: UNNAMED_GROUP }]
  ).map((group) => withoutEmpties(group) ?? group)
  const taken = new Set(groups.map((group) => group.affinityName))
  const preferred = groups.flatMap((group) => {
    const { overflowAffinities: _overflow, ...own } = group
    const local = tiers.flatMap((tier) => {
      const narrowed = narrowAffinity(own, tier, clusters)
      if (!narrowed || jsonEqual(narrowed.clusterNames, sortedUnique(own.clusterNames ?? []))) return []
      return unsatisfiedSpread(base, narrowed.clusterNames, clusters) ? [] : [narrowed]
    })
    return [...local.map((term) => ({ ...term, affinityName: freeName(group.affinityName, taken) })), group]
  })
  return preferred.length === groups.length ? affinity : { clusterAffinities: preferred }
}

/** `<base>-local`, `<base>-local-2`, …: the first that is free, at most 32 characters. */
function freeName(base: string, taken: Set<string>): string {
  for (let i = 1; ; i++) {
    const suffix = i === 1 ? '-local' : `-local-${i}`
    const name = `${base.slice(0, MAX_AFFINITY_NAME_LENGTH - suffix.length)}${suffix}`
    if (taken.has(name)) continue
    taken.add(name)
    return name
  }
}
