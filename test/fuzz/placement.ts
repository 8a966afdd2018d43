/** Karmada's own rules of which clusters a placement allows, written from its source and shared with nothing of ours. */
import type { Cluster, ClusterAffinity, Placement } from '../../src/api/karmada.ts'
import type { LabelSelectorRequirement } from '../../src/api/meta.ts'

/** The names of the clusters that pass, whichever group the scheduler looks at. A workload may overflow. */
export function feasible(placement: Placement, clusters: readonly Cluster[], isWorkload: boolean): Set<string> {
  const { clusterAffinity, clusterAffinities } = placement
  const terms: ClusterAffinity[] = clusterAffinity
    ? [clusterAffinity]
    : (clusterAffinities ?? []).flatMap((term) => [term, ...(isWorkload ? (term.overflowAffinities ?? []) : [])])
  const tests = terms.map(matcherOf)
  const passing = clusters.filter((cluster) => tests.length === 0 || tests.some((test) => test(cluster)))
  return new Set(passing.map(({ metadata }) => metadata.name ?? ''))
}

/** Every name that a placement speaks of, so that clusters that are not known count as well. */
export function namesIn({ clusterAffinity, clusterAffinities }: Placement): string[] {
  const terms = [
    clusterAffinity ?? {},
    ...(clusterAffinities ?? []).flatMap((term) => [term, ...(term.overflowAffinities ?? [])]),
  ]
  return terms.flatMap(({ clusterNames = [], exclude = [] }) => [...(clusterNames ?? []), ...(exclude ?? [])])
}

function matcherOf(affinity: ClusterAffinity): (cluster: Cluster) => boolean {
  const names = new Set(affinity.clusterNames)
  const excluded = new Set(affinity.exclude)
  return (cluster) => {
    const { metadata, spec } = cluster
    const labels: Record<string, string> = metadata.labels ?? {}
    const label = (key: string) => (Object.hasOwn(labels, key) ? [labels[key] as string] : [])
    const fields = new Map([
      ['provider', spec.provider === undefined ? [] : [spec.provider]],
      ['region', spec.region === undefined ? [] : [spec.region]],
      ['zone', spec.zones ?? []],
    ])
    const name = metadata.name ?? ''
    return (
      !excluded.has(name) &&
      Object.entries(affinity.labelSelector?.matchLabels ?? {}).every(([key, value]) => label(key)[0] === value) &&
      (affinity.labelSelector?.matchExpressions ?? []).every((one) => passes(one, label(one.key))) &&
      (affinity.fieldSelector?.matchExpressions ?? []).every((one) => passes(one, fields.get(one.key) ?? [])) &&
      (names.size === 0 || names.has(name))
    )
  }
}

function passes({ operator, values }: LabelSelectorRequirement, actual: readonly string[]): boolean {
  const listed = actual.some((value) => values?.includes(value))
  if (operator === 'In') return listed
  if (operator === 'NotIn') return !listed
  return operator === 'Exists' ? actual.length > 0 : actual.length === 0
}
