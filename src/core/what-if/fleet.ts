/** The clusters of a hub, as predictions read them: which clusters an affinity allows is computed once for each affinity. */
import type { Cluster, ClusterAffinity } from '../../api/karmada.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import type { ClusterLookup } from '../placement/affinity.ts'
import { clusterFilter } from '../placement/cluster-filter.ts'

export interface Fleet {
  /** Undefined if no Cluster is known, as in a folder without them. Then every name counts as a cluster. */
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  /** Returns the names of the clusters that an affinity allows, sorted. */
  allowedBy(affinity: ClusterAffinity): readonly string[]
}

export function compileFleet(clusters: Iterable<Cluster>, rules: KarmadaRules): Fleet {
  const byName = new Map<string, Cluster>()
  for (const cluster of clusters) byName.set(cluster.metadata.name ?? '', cluster)
  const names = [...byName.keys()].sort()
  const lookup: ClusterLookup | undefined = names.length === 0 ? undefined : (name) => byName.get(name)
  // Equal placements of cached bindings are one object.
  const known = new WeakMap<ClusterAffinity, readonly string[]>()
  return {
    clusters: lookup,
    rules,
    allowedBy(affinity) {
      const allowed = known.get(affinity) ?? allowedNames(affinity, names, lookup, rules)
      known.set(affinity, allowed)
      return allowed
    },
  }
}

function allowedNames(
  affinity: ClusterAffinity,
  names: readonly string[],
  clusters: ClusterLookup | undefined,
  rules: KarmadaRules,
): readonly string[] {
  if (!clusters) return affinity.clusterNames ?? []
  const filter = clusterFilter(affinity, clusters, rules)
  return names.filter((name) => filter.allows(name))
}
