/** Narrows the affinity of a placement to the clusters that have the data. */
import type {
  ClusterAffinity,
  ClusterAffinityTerm,
  OverflowClusterAffinity,
  Placement,
  PlacementAffinity,
} from '../../api/karmada.ts'
import { sortedUnique } from '../../base/json.ts'
import { listNames } from '../../base/names.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import { affinityTerms, affinityTiers, type ClusterLookup, effectiveAffinity } from './affinity.ts'
import { type ClusterSet, clusterFilter, clusterSet, narrowAffinity } from './cluster-filter.ts'
import type { DataConstraint } from './constraint.ts'
import type { Misfit } from './fit.ts'
import { comparisons, MAX_AFFINITIES, MAX_COMPARISONS, MAX_WRITTEN_NAMES } from './limits.ts'
import { preferClusters } from './prefer.ts'
import { type SpreadCheck, spreadCheck } from './spread.ts'
import type { WeightCheck } from './weights.ts'

export interface NarrowInput {
  /** The placement before narrowing. Its affinity is the base; its spread constraints and weights are considered too. */
  base: Placement
  constraint: DataConstraint
  clusters: ClusterLookup | undefined
  /** Whether overflow tiers count (binding-state.ts). */
  usesOverflow: boolean
  rules: KarmadaRules
  /** The static weights of the base; absent if no replicas are divided by them. */
  weights?: WeightCheck | undefined
}

export type Narrowing =
  | {
      kind: 'narrowed'
      affinity: PlacementAffinity
      /** Every cluster that is still allowed, sorted; undefined if no data is required (then the base decides). */
      allowed: string[] | undefined
    }
  | Misfit

/**
 * Narrows the base to the constraint. The result never allows a cluster that the base does not allow. It has no empty list and only one
 * kind of affinity, and the same input gives the same bytes. If the input is too large to compare, the result is unsatisfiable.
 */
export function narrowPlacement(input: NarrowInput): Narrowing {
  const spread = spreadCheck(input.base, input.clusters)
  const required = requireClusters(input, spread)
  if (required.kind !== 'narrowed') return required
  return { ...required, affinity: preferClusters({ ...input, affinity: required.affinity, spread }) }
}

/** The inputs that are the same for all affinities of a placement. */
interface Requirement {
  wanted: ClusterSet
  clusters: ClusterLookup | undefined
  usesOverflow: boolean
  rules: KarmadaRules
  spread: SpreadCheck
  weights: WeightCheck | undefined
}

function requireClusters(
  { base, constraint, clusters, usesOverflow, rules, weights }: NarrowInput,
  spread: SpreadCheck,
): Narrowing {
  const affinity = effectiveAffinity(base)
  if (constraint.required === undefined) return { kind: 'narrowed', affinity, allowed: undefined }
  if (constraint.required.length === 0) return unsatisfiable('no cluster holds all of the data')
  const wanted = clusterSet(constraint.required)
  const terms = affinityTerms(affinity, true)
  if (terms.length > MAX_AFFINITIES || comparisons(terms, wanted.names.length) > MAX_COMPARISONS) {
    return unsatisfiable(tooLarge(terms, wanted))
  }
  const requirement = { wanted, clusters, usesOverflow, rules, spread, weights }
  return affinity.clusterAffinities
    ? requireInGroups(affinity.clusterAffinities, requirement)
    : requireInOne(affinity.clusterAffinity ?? {}, requirement)
}

function requireInOne(base: ClusterAffinity, { wanted, clusters, rules, spread, weights }: Requirement): Narrowing {
  const clusterAffinity = narrowAffinity(base, clusterFilter(base, clusters, rules), wanted)
  if (!clusterAffinity) return unsatisfiable(noneLeft(wanted, clusters))
  const { clusterNames } = clusterAffinity
  const problem = problemOf(spread(clusterNames)) ?? weights?.([base], clusterNames)
  if (problem) return problem
  return { kind: 'narrowed', affinity: { clusterAffinity }, allowed: clusterNames }
}

function requireInGroups(groups: readonly ClusterAffinityTerm[], requirement: Requirement): Narrowing {
  const { wanted, clusters, usesOverflow, spread, weights } = requirement
  const narrowed = groups.flatMap((group) => {
    const term = narrowGroup(group, requirement)
    if (!term) return []
    const names = narrowedNames(term, usesOverflow)
    const problem = problemOf(spread(names)) ?? weights?.(affinityTiers(group, usesOverflow), names)
    return [{ term, names, problem }]
  })
  if (narrowed.length === 0) return unsatisfiable(noneLeft(wanted, clusters))
  if (narrowed.reduce((sum, { names }) => sum + names.length, 0) > nameLimit(groups)) {
    return unsatisfiable(tooLarge(groups, wanted))
  }
  const spreadable = narrowed.filter(({ problem }) => problem === undefined)
  if (spreadable.length === 0) {
    const problems = narrowed.flatMap(({ problem }) => problem ?? [])
    return problems.find(({ kind }) => kind === 'unfit') ?? problems[0] ?? unsatisfiable(noneLeft(wanted, clusters))
  }
  return {
    kind: 'narrowed',
    affinity: { clusterAffinities: spreadable.map(({ term }) => term) },
    allowed: sortedUnique(spreadable.flatMap(({ names }) => names)),
  }
}

/** The names of a narrowed group, sorted. */
function narrowedNames(group: ClusterAffinityTerm, usesOverflow: boolean): readonly string[] {
  const [own, ...overflow] = affinityTiers(group, usesOverflow)
  if (overflow.length === 0) return own?.clusterNames ?? []
  return sortedUnique([own, ...overflow].flatMap((tier) => tier?.clusterNames ?? []))
}

/** How many names the groups may have in total: their present names, and as many new ones as fit into the object. */
function nameLimit(groups: readonly ClusterAffinityTerm[]): number {
  const named = ({ clusterNames = [] }: ClusterAffinity) => clusterNames.length
  return groups.reduce(
    (sum, group) => affinityTiers(group, true).reduce((inGroup, tier) => inGroup + named(tier), sum),
    MAX_WRITTEN_NAMES,
  )
}

/**
 * Narrows a group and its overflow tiers; returns undefined if no tier is left. If only overflow tiers are left, the first one replaces the
 * group, because Karmada requires that the group itself names clusters. Where overflow tiers do not count, the group is removed.
 */
function narrowGroup(
  group: ClusterAffinityTerm,
  { wanted, clusters, usesOverflow, rules }: Requirement,
): ClusterAffinityTerm | undefined {
  const { overflowAffinities = [], ...own } = group
  const overflow = overflowAffinities.flatMap(
    (tier) => narrowAffinity(tier, clusterFilter(tier, clusters, rules), wanted) ?? [],
  )
  const withOverflow = (term: OverflowClusterAffinity, rest: OverflowClusterAffinity[]): ClusterAffinityTerm =>
    rest.length === 0 ? term : { ...term, overflowAffinities: rest }
  const main = narrowAffinity(own, clusterFilter(own, clusters, rules), wanted)
  if (main) return withOverflow(main, overflow)
  const [first, ...rest] = usesOverflow ? overflow : []
  return first && withOverflow({ ...first, affinityName: group.affinityName }, rest)
}

function unsatisfiable(reason: string): Misfit {
  return { kind: 'unsatisfiable', reason }
}

function problemOf(reason: string | undefined): Misfit | undefined {
  return reason === undefined ? undefined : unsatisfiable(reason)
}

/** Why no cluster with the data is allowed: it does not exist, or the policy does not allow it. */
function noneLeft({ names }: ClusterSet, clusters: ClusterLookup | undefined): string {
  const isMissing = (name: string) => clusters !== undefined && clusters(name) === undefined
  const missing = names.filter(isMissing)
  const existing = missing.length === 0 ? names : names.filter((name) => !isMissing(name))
  const parts = [
    ...(existing.length > 0 ? [`${listNames(existing, 5)}, which the policy does not allow`] : []),
    ...(missing.length > 0
      ? [
          `${listNames(missing, 5)}, for which no Cluster exists; join the cluster, or correct the mapping or the DataSource`,
        ]
      : []),
  ]
  return `the data is in ${parts.join(', and in ')}`
}

function tooLarge(terms: readonly ClusterAffinity[], { names }: ClusterSet): string {
  return `the policy has ${terms.length} cluster affinities for ${names.length} clusters with the data, too many to compare; use fewer, or name fewer clusters`
}
