/** Narrowing: from a base placement and the clusters that hold the data to the affinity that allows only both. */
import type {
  ClusterAffinity,
  ClusterAffinityTerm,
  OverflowClusterAffinity,
  Placement,
  PlacementAffinity,
} from '../../api/karmada.ts'
import { sortedUnique } from '../json.ts'
import { affinityOf, type ClusterLookup, narrowAffinity, tiersOf } from './affinity.ts'
import type { DataConstraint } from './constraint.ts'
import { preferClusters } from './prefer.ts'
import { unsatisfiedSpread } from './spread.ts'

export interface NarrowInput {
  /** The placement before narrowing; its affinity is the base, the rest (spread, weights) is taken into account. */
  base: Placement
  constraint: DataConstraint
  clusters: ClusterLookup | undefined
  /** Whether overflow tiers count (Karmada's IsWorkload). */
  isWorkload: boolean
}

export type Narrowing =
  | {
      kind: 'narrowed'
      affinity: PlacementAffinity
      /** Every cluster that is still allowed, sorted; undefined when nothing is required (then the base decides). */
      allowed: string[] | undefined
    }
  | { kind: 'unsatisfiable'; reason: string }

/**
 * Narrows the base to the constraint. The result never allows a cluster that the base did not, never has an empty list, never both
 * kinds of affinity, and is the same bytes for the same input.
 */
export function narrowPlacement(input: NarrowInput): Narrowing {
  const required = requireClusters(input)
  if (required.kind === 'unsatisfiable') return required
  return { ...required, affinity: preferClusters({ ...input, affinity: required.affinity }) }
}

function requireClusters(input: NarrowInput): Narrowing {
  const { base, constraint } = input
  const affinity = affinityOf(base)
  if (constraint.required === undefined) return { kind: 'narrowed', affinity, allowed: undefined }
  if (constraint.required.length === 0) return { kind: 'unsatisfiable', reason: 'no cluster holds all of the data' }
  return affinity.clusterAffinities
    ? requireInGroups(input, affinity.clusterAffinities, constraint.required)
    : requireInOne(input, affinity.clusterAffinity ?? {}, constraint.required)
}

function requireInOne(input: NarrowInput, base: ClusterAffinity, required: readonly string[]): Narrowing {
  const clusterAffinity = narrowAffinity(base, required, input.clusters)
  if (!clusterAffinity) return { kind: 'unsatisfiable', reason: noneLeft(required) }
  const spread = unsatisfiedSpread(input.base, clusterAffinity.clusterNames, input.clusters)
  if (spread) return { kind: 'unsatisfiable', reason: spread }
  return { kind: 'narrowed', affinity: { clusterAffinity }, allowed: clusterAffinity.clusterNames }
}

function requireInGroups(
  input: NarrowInput,
  groups: readonly ClusterAffinityTerm[],
  required: readonly string[],
): Narrowing {
  const narrowed = groups.flatMap((group) => narrowGroup(group, required, input) ?? [])
  if (narrowed.length === 0) return { kind: 'unsatisfiable', reason: noneLeft(required) }
  const namesOf = (group: ClusterAffinityTerm) =>
    sortedUnique(tiersOf(group, input.isWorkload).flatMap((tier) => tier.clusterNames ?? []))
  const spreadable = narrowed.filter((group) => !unsatisfiedSpread(input.base, namesOf(group), input.clusters))
  if (spreadable.length === 0) {
    const reason = unsatisfiedSpread(input.base, namesOf(narrowed[0] as ClusterAffinityTerm), input.clusters)
    return { kind: 'unsatisfiable', reason: reason ?? noneLeft(required) }
  }
  return {
    kind: 'narrowed',
    affinity: { clusterAffinities: spreadable },
    allowed: sortedUnique(spreadable.flatMap(namesOf)),
  }
}

/**
 * A group and its overflow tiers, narrowed; nothing when no tier is left. When only overflow is left, its first tier takes the
 * group's place: Karmada wants the group itself to name clusters. Overflow does not count for what is no workload, so there the
 * group goes.
 */
function narrowGroup(
  group: ClusterAffinityTerm,
  required: readonly string[],
  { clusters, isWorkload }: NarrowInput,
): ClusterAffinityTerm | undefined {
  const { overflowAffinities = [], ...own } = group
  const overflow = overflowAffinities.flatMap((tier) => narrowAffinity(tier, required, clusters) ?? [])
  const withOverflow = (term: OverflowClusterAffinity, rest: OverflowClusterAffinity[]): ClusterAffinityTerm =>
    rest.length === 0 ? term : { ...term, overflowAffinities: rest }
  const main = narrowAffinity(own, required, clusters)
  if (main) return withOverflow(main, overflow)
  const [first, ...rest] = isWorkload ? overflow : []
  return first && withOverflow({ ...first, affinityName: group.affinityName }, rest)
}

function noneLeft(required: readonly string[]): string {
  const shown = required.slice(0, 5).join(', ')
  const more = required.length > 5 ? ` and ${required.length - 5} more` : ''
  return `the data is in ${shown}${more}, which the policy does not allow`
}
