/** Finds sets of clusters to which the static weights of a policy give no replicas, although they give replicas to other clusters. */
import type { ClusterAffinity, Placement } from '../../api/karmada.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import { describeRefusals, type Refusal } from './acceptance.ts'
import type { ClusterLookup } from './affinity.ts'
import { type ClusterFilter, clusterFilter } from './cluster-filter.ts'
import type { Misfit } from './fit.ts'
import { comparisons, MAX_COMPARISONS, MAX_WEIGHTS } from './limits.ts'

/**
 * Returns why a set of clusters gets no replicas of those that a part of the affinity allows; undefined if it gets some. It is unfit if the scheduler
 * refuses those with a weight.
 */
export type WeightCheck = (terms: readonly ClusterAffinity[], names: readonly string[]) => Misfit | undefined

interface WeightInput {
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  /** The clusters in which the workload runs. They keep it. */
  runsIn: readonly string[]
  /** Why the scheduler refuses a cluster. */
  refuses: Refusal
  /** Returns the names of all clusters. Default: only those are known that the policy or its weights name. */
  clusterNames?: (() => readonly string[]) | undefined
}

const UNWEIGHTED: WeightCheck = () => undefined

/**
 * Compiles the static weights of a placement whose replicas are divided. Karmada's scheduler ignores clusters without a weight. But if no candidate has
 * one, all get the same weight (v1.18.1, pkg/scheduler/core/division_algorithm.go, getStaticWeightInfoList). So a placement that is narrowed to
 * clusters without a weight would give them replicas that the policy gives to other clusters. A cluster that the scheduler refuses is no candidate, so
 * the same holds if it refuses each one of the set that has a weight.
 *
 * Weights that need more than `MAX_COMPARISONS` are not compared.
 */
export function weightCheck(
  { replicaScheduling }: Placement,
  { clusters, rules, runsIn, refuses, clusterNames = () => [] }: WeightInput,
): WeightCheck {
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
  // One that is being deleted gets no replicas any more.
  const exists = (name: string) => clusters(name)?.metadata.deletionTimestamp === undefined
  const weighted = new Set(
    compile(byName).flatMap(({ named = [], allows }) => named.filter((name) => allows(name) && exists(name))),
  )
  const selectors = compile(bySelector)
  const running = new Set(runsIn)
  const accepts = (name: string) => refuses(name) === undefined
  const isWeighted = (name: string) => weighted.has(name) || isAllowed(name, selectors)
  return (terms, names) => {
    if (names.some((name) => running.has(name) || (weighted.has(name) && accepts(name)))) return undefined
    if (!isAffordable(bySelector, names.length)) return undefined
    if (names.some((name) => accepts(name) && isWeighted(name))) return undefined
    const refused = names.filter(isWeighted)
    if (refused.length === 0) return otherGetsReplicas(terms, exists) ? NO_WEIGHT : undefined
    // If the scheduler refuses all that the affinity allows, it ignores the weights.
    if (!names.some(accepts) || !otherGetsReplicas(terms, accepts)) return undefined
    return { kind: 'unfit', reason: `${describeRefusals(refused, refuses)}, and ${NO_OTHER_WEIGHT}` }
  }

  /** Whether another cluster that the affinity allows gets replicas by its weight. False if there are too many to compare. */
  function otherGetsReplicas(terms: readonly ClusterAffinity[], takes: (name: string) => boolean): boolean {
    const others = candidates(terms)
    left -= terms.length * others.length
    if (!isAffordable(terms, others.length)) return false
    const allowed = compile(terms)
    const hasWeight = (name: string) =>
      weighted.has(name) || (isAffordable(bySelector, 1) && isAllowed(name, selectors))
    return others.some((name) => isAllowed(name, allowed) && takes(name) && hasWeight(name))
  }

  /** The clusters that may be allowed and have a weight. A weight by selectors may be that of any cluster. */
  function candidates(terms: readonly ClusterAffinity[]): readonly string[] {
    if (selectors.length === 0) return [...weighted]
    const named = terms.flatMap(({ clusterNames: own = [] }) => own)
    return [...new Set(terms.every(hasNames) ? named : [...weighted, ...named, ...clusterNames()])]
  }
}

/**
 * Returns the weights by which the scheduler divides replicas without regard to free capacity: for each candidate, the largest one that matches it.
 * Without any, all have the same one (getStaticWeightInfoList). Undefined if there are too many to compare.
 */
export function fixedWeights(
  candidates: readonly string[],
  { replicaScheduling }: Placement,
  clusters: ClusterLookup | undefined,
  rules: KarmadaRules,
): ReadonlyMap<string, number> | undefined {
  const list = replicaScheduling?.weightPreference?.staticWeightList ?? []
  const terms = list.map(({ targetCluster = {} }) => targetCluster)
  if (list.length > MAX_WEIGHTS || comparisons(terms, candidates.length) > MAX_COMPARISONS) return undefined
  const weights = new Map<string, number>()
  for (const { targetCluster = {}, weight = 0 } of list) {
    const { allows } = clusterFilter(targetCluster, clusters, rules)
    for (const name of candidates) if (weight > (weights.get(name) ?? 0) && allows(name)) weights.set(name, weight)
  }
  return weights.size > 0 ? weights : new Map(candidates.map((name) => [name, 1]))
}

/**
 * Returns which clusters get replicas by weights. A weight is divided by 1, and by 3, 5 and so on once its cluster has one replica, two and so on. The
 * cluster with the largest quotient gets the next replica; of equal ones, that with fewer replicas (v1.18.2, pkg/util/helper/webstermethod.go).
 * Clusters in `possible` have the same weight, and the UID of the workload decides between them.
 */
export function divideByWeights(
  weights: ReadonlyMap<string, number>,
  replicas: number,
): { certain: string[]; possible: string[] } {
  const counts = new Map<number, number>()
  for (const weight of weights.values()) counts.set(weight, (counts.get(weight) ?? 0) + 1)
  const before = new Map([...counts.keys()].map((weight) => [weight, replicasBefore(weight, counts)]))
  const certain: string[] = []
  const possible: string[] = []
  for (const [name, weight] of weights) {
    const [left, same] = [replicas - (before.get(weight) ?? 0), counts.get(weight) ?? 0]
    if (left >= same) certain.push(name)
    else if (left > 0) possible.push(name)
  }
  return { certain, possible }
}

/** How many replicas clusters with larger weights get before one with this weight gets its first. */
function replicasBefore(weight: number, counts: ReadonlyMap<number, number>): number {
  // The quotients of another weight that are larger: other / (2n - 1) > weight.
  return [...counts].reduce((sum, [other, count]) => sum + count * Math.max(0, Math.ceil((other / weight - 1) / 2)), 0)
}

const NO_WEIGHT: Misfit = {
  kind: 'unsatisfiable',
  reason: 'the static weights of the policy give its replicas to other clusters, and none to those with the data',
}

const NO_OTHER_WEIGHT = 'the static weights of the policy give none of its replicas to other clusters with the data'

function hasNames({ clusterNames }: ClusterAffinity): boolean {
  return !!clusterNames?.length
}

function isAllowed(name: string, filters: readonly ClusterFilter[]): boolean {
  return filters.some(({ allows }) => allows(name))
}
