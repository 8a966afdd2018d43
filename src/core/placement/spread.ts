/** Finds spread constraints that a set of clusters can never satisfy: Karmada's scheduler would retry such a binding forever. */
import type { Placement } from '../../api/karmada.ts'
import { fieldValues } from '../selectors.ts'
import type { ClusterLookup } from './affinity.ts'

/** Returns the constraint that a set of clusters cannot satisfy; undefined if it satisfies all. */
export type SpreadCheck = (names: readonly string[]) => string | undefined

/**
 * Reads the spread constraints of a placement once, for many sets of clusters. Karmada enforces only `cluster` and `region`, and neither
 * with static weights (pkg/scheduler/core/spreadconstraint/select_clusters.go).
 */
export function spreadCheck(placement: Placement, clusters: ClusterLookup | undefined): SpreadCheck {
  const wanted = minGroupsOf(placement)
  return (names) => {
    for (const [field, minGroups] of wanted) {
      const groups = countGroups(field, names, clusters)
      if (groups !== undefined && groups < minGroups) {
        return `spread constraint requires at least ${minGroups} ${field} groups, the clusters with the data form ${groups}`
      }
    }
    return undefined
  }
}

/** The largest minGroups of the constraints, by the field that defines the groups. */
function minGroupsOf(placement: Placement): ReadonlyMap<string, number> {
  const wanted = new Map<string, number>()
  if (ignoresSpread(placement)) return wanted
  for (const { spreadByField, spreadByLabel, minGroups = 0 } of placement.spreadConstraints ?? []) {
    if (spreadByLabel) continue
    const field = spreadByField || 'cluster'
    wanted.set(field, Math.max(minGroups, wanted.get(field) ?? 0))
  }
  return wanted
}

function countGroups(field: string, names: readonly string[], clusters: ClusterLookup | undefined): number | undefined {
  if (field === 'cluster') return names.length
  if (field !== 'region' || clusters === undefined) return undefined
  return new Set(
    names.flatMap((name) => {
      const cluster = clusters(name)
      return cluster ? fieldValues('region', cluster) : []
    }),
  ).size
}

function ignoresSpread({ replicaScheduling }: Placement): boolean {
  if (replicaScheduling?.replicaSchedulingType !== 'Divided') return false
  if (replicaScheduling.replicaDivisionPreference !== 'Weighted') return false
  const weights = replicaScheduling.weightPreference
  return weights === undefined || (!!weights.staticWeightList?.length && !weights.dynamicWeight)
}
