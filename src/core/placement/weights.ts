/** Finds sets of clusters to which the static weights of a policy give no replicas, although they give replicas to other clusters. */
import type { ClusterAffinity, Placement } from '../../api/karmada.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { type ClusterFilter, clusterFilter } from './cluster-filter.ts'
import { comparisons, MAX_COMPARISONS, MAX_WEIGHTS } from './limits.ts'

/** Returns why a set of clusters gets no replicas of those that a part of the affinity allows; undefined if it gets some. */
export type WeightCheck = (terms: readonly ClusterAffinity[], names: readonly string[]) => string | undefined

interface WeightInput {
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  /** The clusters in which the workload runs. They keep it. */
  runsIn: readonly string[]
}

const UNWEIGHTED: WeightCheck = () => undefined

/**
 * Compiles the static weights of a placement whose replicas are divided. Karmada's scheduler ignores clusters without a weight. But if no candidate has
 * one, all get the same weight (v1.18.1, pkg/scheduler/core/division_algorithm.go, getStaticWeightInfoList). So a placement that is narrowed to
 * clusters without a weight would give them replicas that the policy gives to other clusters.
 *
 * Weights that need more than `MAX_COMPARISONS` are not compared.
 */
export function weightCheck({ replicaScheduling }: Placement, { clusters, rules, runsIn }: WeightInput): WeightCheck {
  const { replicaDivisionPreference, weightPreference } = replicaScheduling ?? {}
  const { staticWeightList = [], dynamicWeight } = weightPreference ?? {}
  const isStatic = replicaDivisionPreference === 'Weighted' && !dynamicWeight && staticWeightList.length > 0
  if (!isStatic || !clusters || staticWeightList.length > MAX_WEIGHTS) return UNWEIGHTED
  const targets = staticWeightList.map(({ targetCluster = {} }) => targetCluster)
  const [byName, bySelector] = [targets.filter(hasNames), targets.filter((target) => !hasNames(target))]
  let left = MAX_COMPARISONS
  const isAffordable = (terms: readonly ClusterAffinity[], count: number) => {
    left -= comparisons(terms, count)
    return left >= 0
  }
  if (!isAffordable(byName, Number.POSITIVE_INFINITY)) return UNWEIGHTED
  const compile = (terms: readonly ClusterAffinity[]) => terms.map((term) => clusterFilter(term, clusters, rules))
  const weighted = new Set(compile(byName).flatMap(({ named = [], allows }) => named.filter(allows)))
  const selectors = compile(bySelector)
  const running = new Set(runsIn)
  return (terms, names) => {
    if (names.some((name) => running.has(name) || weighted.has(name))) return undefined
    if (!isAffordable(bySelector, names.length)) return undefined
    if (names.some((name) => isAllowed(name, selectors))) return undefined
    // A weight by selectors may be that of any cluster.
    if (selectors.length > 0) return NO_WEIGHT
    left -= terms.length * weighted.size
    if (!isAffordable(terms, weighted.size)) return undefined
    const allowed = compile(terms)
    return [...weighted].some((name) => isAllowed(name, allowed)) ? NO_WEIGHT : undefined
  }
}

const NO_WEIGHT =
  'the static weights of the policy give its replicas to other clusters, and none to those with the data'

function hasNames({ clusterNames }: ClusterAffinity): boolean {
  return !!clusterNames?.length
}

function isAllowed(name: string, filters: readonly ClusterFilter[]): boolean {
  return filters.some(({ allows }) => allows(name))
}
