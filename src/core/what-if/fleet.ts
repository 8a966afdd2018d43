/** The clusters of a hub, as predictions read them: each placement is compiled once. */
import type { BindingSpec, Cluster, ClusterAffinity, Placement } from '../../api/karmada.ts'
import { sortedUnique } from '../../base/json.ts'
import type { KarmadaRules } from '../karmada-rules.ts'
import { schedulingRefusal } from '../placement/acceptance.ts'
import { affinityTiers, type ClusterLookup, effectiveAffinity } from '../placement/affinity.ts'
import { usesOverflow } from '../placement/binding-state.ts'
import { type ClusterSet, clusterFilter, clusterSet, withoutClusters } from '../placement/cluster-filter.ts'

export interface Fleet {
  /** Undefined if no Cluster is known, as in a folder without them. Then every name counts as a cluster. */
  clusters: ClusterLookup | undefined
  rules: KarmadaRules
  /** Returns the affinity groups of the placement of a binding: one without a name if it has no groups. */
  groupsOf(spec: BindingSpec): readonly Group[]
  /** Whether a cluster does not exist, or is being deleted; false if no Cluster is known. */
  isGone(name: string): boolean
}

/** An affinity group with its overflow tiers. */
export interface Group {
  name: string | undefined
  allows(name: string): boolean
  /** Whether it allows a cluster without its overflow tiers. */
  allowsAtFirst(name: string): boolean
  /** Returns the names of the clusters that it allows, sorted. */
  allowed(): readonly string[]
  /** Returns those of them that the scheduler accepts for a workload of this kind that runs nowhere. */
  open(resource: BindingSpec['resource']): ClusterSet
}

/** Reads all clusters once. A placement is compiled when it is first asked about. */
export function compileFleet(clusters: Iterable<Cluster>, rules: KarmadaRules): Fleet {
  const byName = new Map<string, Cluster>()
  for (const cluster of clusters) byName.set(cluster.metadata.name ?? '', cluster)
  const all = [...byName.keys()].sort()
  const lookup: ClusterLookup | undefined = all.length === 0 ? undefined : (name) => byName.get(name)
  // Equal placements of cached bindings are one object.
  const [ofWorkloads, ofOthers] = [
    new WeakMap<Placement, readonly Group[]>(),
    new WeakMap<Placement, readonly Group[]>(),
  ]
  const groupsOf = (spec: BindingSpec): readonly Group[] => {
    const hasTiers = usesOverflow(spec, rules)
    const known = hasTiers ? ofWorkloads : ofOthers
    const { placement = NO_PLACEMENT } = spec
    const groups = known.get(placement) ?? compileGroups(placement, hasTiers, { all, lookup, rules })
    known.set(placement, groups)
    return groups
  }
  return {
    clusters: lookup,
    rules,
    groupsOf,
    isGone: (name) => isGone(name, lookup),
  }
}

/**
 * Returns the fleet in which some clusters have further taints, or are being deleted. A placement allows the same clusters as before, so what is
 * compiled stays.
 *
 * @param worse the clusters with the taints and deletions, by name
 */
export function worsenFleet(fleet: Fleet, worse: ReadonlyMap<string, Cluster>): Fleet {
  const { clusters: before } = fleet
  const lookup: ClusterLookup | undefined = before && ((name) => worse.get(name) ?? before(name))
  const known = new WeakMap<readonly Group[], readonly Group[]>()
  return {
    ...fleet,
    clusters: lookup,
    groupsOf(spec) {
      const groups = fleet.groupsOf(spec)
      const { placement = NO_PLACEMENT } = spec
      const worsened = known.get(groups) ?? groups.map((group) => worsenGroup(group, placement, worse, lookup))
      known.set(groups, worsened)
      return worsened
    },
    isGone: (name) => isGone(name, lookup),
  }
}

const NO_PLACEMENT: Placement = {}

function isGone(name: string, lookup: ClusterLookup | undefined): boolean {
  const cluster = lookup?.(name)
  return lookup !== undefined && (!cluster || cluster.metadata.deletionTimestamp !== undefined)
}

interface FleetClusters {
  all: readonly string[]
  lookup: ClusterLookup | undefined
  rules: KarmadaRules
}

function compileGroups(placement: Placement, hasTiers: boolean, clusters: FleetClusters): readonly Group[] {
  const { clusterAffinity = {}, clusterAffinities: terms } = effectiveAffinity(placement)
  return terms
    ? terms.map((term) => compileGroup(term.affinityName, affinityTiers(term, hasTiers), placement, clusters))
    : [compileGroup(undefined, [clusterAffinity], placement, clusters)]
}

/** The clusters are listed when they are first needed. */
function compileGroup(
  name: string | undefined,
  tiers: readonly ClusterAffinity[],
  placement: Placement,
  { all, lookup, rules }: FleetClusters,
): Group {
  const filters = tiers.map((tier) => clusterFilter(tier, lookup, rules))
  const openByKind = new Map<string, ClusterSet>()
  let allowed: readonly string[] | undefined
  const group: Group = {
    name,
    allows: (cluster) => filters.some((filter) => filter.allows(cluster)),
    allowsAtFirst: (cluster) => filters[0]?.allows(cluster) === true,
    allowed() {
      // A narrowed affinity names few clusters of many.
      allowed ??= sortedUnique(filters.flatMap((filter) => (filter.named ?? all).filter((each) => filter.allows(each))))
      return allowed
    },
    open(resource) {
      const kind = kindOf(resource)
      const known = openByKind.get(kind)
      if (known) return known
      const refuses = schedulingRefusal({ resource, placement }, lookup)
      const open = clusterSet(group.allowed().filter((each) => refuses(each) === undefined))
      openByKind.set(kind, open)
      return open
    },
  }
  return group
}

function worsenGroup(
  group: Group,
  placement: Placement,
  worse: ReadonlyMap<string, Cluster>,
  lookup: ClusterLookup | undefined,
): Group {
  const closedByKind = new Map<string, ReadonlySet<string>>()
  return {
    ...group,
    open(resource) {
      const open = group.open(resource)
      const kind = kindOf(resource)
      let closed = closedByKind.get(kind)
      if (!closed) {
        const refuses = schedulingRefusal({ resource, placement }, lookup)
        closed = new Set([...worse.keys()].filter((name) => open.has(name) && refuses(name) !== undefined))
        closedByKind.set(kind, closed)
      }
      return closed.size === 0 ? open : withoutClusters(open, closed)
    },
  }
}

function kindOf({ apiVersion, kind }: BindingSpec['resource']): string {
  return `${apiVersion}/${kind}`
}
