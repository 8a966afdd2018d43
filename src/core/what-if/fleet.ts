/** The clusters of a hub, as predictions read them: each affinity is compiled once. */
import type { BindingSpec, Cluster, ClusterAffinity } from '../../api/karmada.ts'
import { sortedUnique } from '../../base/json.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import { affinityTerms, type ClusterLookup, effectiveAffinity } from '../placement/affinity.ts'
import { isWorkload } from '../placement/binding-state.ts'
import { type ClusterFilter, clusterFilter } from '../placement/cluster-filter.ts'

export interface Fleet {
  /** Undefined if no Cluster is known, as in a folder without them. Then every name counts as a cluster. */
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  /** Returns the names of the clusters that an affinity allows, sorted. */
  allowedBy(affinity: ClusterAffinity): readonly string[]
  /** Whether the placement of a binding allows a cluster, in any of its groups. */
  allows(spec: BindingSpec, name: string): boolean
}

/** An affinity with its filter; the names that it allows are listed when they are first needed. */
interface Compiled {
  filter: ClusterFilter
  names?: readonly string[]
}

export function compileFleet(clusters: Iterable<Cluster>, rules: KarmadaRules): Fleet {
  const byName = new Map<string, Cluster>()
  for (const cluster of clusters) byName.set(cluster.metadata.name ?? '', cluster)
  const all = [...byName.keys()].sort()
  const lookup: ClusterLookup | undefined = all.length === 0 ? undefined : (name) => byName.get(name)
  // Equal placements of cached bindings are one object.
  const known = new WeakMap<ClusterAffinity, Compiled>()
  const compile = (affinity: ClusterAffinity): Compiled => {
    const compiled = known.get(affinity) ?? { filter: clusterFilter(affinity, lookup, rules) }
    known.set(affinity, compiled)
    return compiled
  }
  return {
    clusters: lookup,
    rules,
    allowedBy(affinity) {
      const compiled = compile(affinity)
      const { filter } = compiled
      // A narrowed affinity names few clusters of many.
      compiled.names ??= (filter.named ? sortedUnique(filter.named) : all).filter((name) => filter.allows(name))
      return compiled.names
    },
    allows: (spec, name) =>
      affinityTerms(effectiveAffinity(spec.placement), rules.overflowAffinities && isWorkload(spec)).some((term) =>
        compile(term).filter.allows(name),
      ),
  }
}
