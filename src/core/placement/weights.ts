/** Finds sets of clusters to which the static weights of a policy give no replicas, although they give replicas to other clusters. */
import type { ClusterAffinity, Placement } from '../../api/karmada.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { type ClusterFilter, clusterFilter } from './cluster-filter.ts'
import { MAX_WEIGHTS } from './limits.ts'

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
 */
export function weightCheck({ replicaScheduling }: Placement, { clusters, rules, runsIn }: WeightInput): WeightCheck {
  const { replicaDivisionPreference, weightPreference } = replicaScheduling ?? {}
  const { staticWeightList = [], dynamicWeight } = weightPreference ?? {}
  const isStatic = replicaDivisionPreference === 'Weighted' && !dynamicWeight && staticWeightList.length > 0
  if (!isStatic || !clusters || staticWeightList.length > MAX_WEIGHTS) return UNWEIGHTED
  const weighted = staticWeightList.map(({ targetCluster = {} }) => clusterFilter(targetCluster, clusters, rules))
  const hasWeight = (name: string) => weighted.some((filter) => filter.allows(name))
  return (terms, names) => {
    if (names.some((name) => hasWeight(name) || runsIn.includes(name))) return undefined
    const allowed = terms.map((term) => clusterFilter(term, clusters, rules))
    return weighted.some((filter) => mayMeet(filter, allowed, clusters))
      ? 'the static weights of the policy give its replicas to other clusters, and none to those with the data'
      : undefined
  }
}

/** Whether a weight may be that of a cluster that is allowed. A weight by selectors may be that of any cluster. */
function mayMeet(
  { named, allows }: ClusterFilter,
  allowed: readonly ClusterFilter[],
  clusters: ClusterLookup,
): boolean {
  if (!named) return true
  return named.some((name) => clusters(name) && allows(name) && allowed.some((filter) => filter.allows(name)))
}
