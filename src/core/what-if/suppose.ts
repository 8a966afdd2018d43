/** The objects of a supposed world: a lost cluster, data that has moved, a location that is out of date. */
import type { DataSource } from '../../api/data-source.ts'
import type { Cluster } from '../../api/karmada.ts'
import type { Taint } from '../../api/node.ts'
import { sortedUnique } from '../../base/json.ts'

/**
 * The taints of Karmada's cluster controller for a cluster that does not respond (v1.18.1, pkg/controllers/cluster/cluster_controller.go,
 * taintClusterByCondition). Karmada asks a Push cluster itself, and finds that it is not ready. It hears nothing more of a Pull cluster.
 */
const [NOT_READY, UNREACHABLE] = ['cluster.karmada.io/not-ready', 'cluster.karmada.io/unreachable']

/** Returns a cluster that does not respond, with the taints of a Karmada whose failover is on. */
export function loseCluster(cluster: Cluster): Cluster {
  const key = cluster.spec?.syncMode === 'Pull' ? UNREACHABLE : NOT_READY
  return (['NoSchedule', 'NoExecute'] as const).reduce(
    (tainted, effect) => taintCluster(tainted, { key, effect }),
    cluster,
  )
}

/** Returns a cluster that an administrator deletes. Karmada removes it when no workload uses it any more. */
export function leaveCluster(cluster: Cluster, now: number): Cluster {
  return { ...cluster, metadata: { ...cluster.metadata, deletionTimestamp: new Date(now).toISOString() } }
}

/** Returns the cluster with a taint. It replaces one with the same key and effect, as in kubectl. */
export function taintCluster(cluster: Cluster, taint: Taint): Cluster {
  const isSame = ({ key, effect }: Taint) => key === taint.key && effect === taint.effect
  const { taints = [] } = cluster.spec ?? {}
  const next = taints.some(isSame) ? taints.map((one) => (isSame(one) ? taint : one)) : [...taints, taint]
  return { ...cluster, spec: { ...cluster.spec, taints: next } }
}

/** Returns a source whose data is in these clusters. Its data system has just confirmed that. */
export function moveData(source: DataSource, clusterNames: readonly string[], now: number): DataSource {
  const { conditions: _, ...status } = source.status ?? {}
  return {
    ...source,
    spec: { ...source.spec, locality: { ...source.spec.locality, clusterNames: sortedUnique(clusterNames) } },
    status: { ...status, phase: 'Available', lastResolvedTime: new Date(now).toISOString() },
  }
}

/**
 * Returns a source whose data system does not respond any more. Its location counts for claims without `maxStalenessSeconds`, and is too old
 * for all others.
 */
export function outdateSource(source: DataSource): DataSource {
  return { ...source, status: { ...source.status, lastResolvedTime: new Date(0).toISOString() } }
}
