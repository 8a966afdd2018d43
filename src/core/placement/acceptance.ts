/** Whether Karmada's scheduler accepts a binding in a cluster, whatever the affinity of the binding: its other filter plugins. */
import { type ApiEnablement, type BindingSpec, type Cluster, COMPLETE_APIS } from '../../api/karmada.ts'
import { isTrue } from '../../base/conditions.ts'
import { Tolerations, taintText } from '../tolerations.ts'
import type { ClusterLookup } from './affinity.ts'
import { evictedClusters, targetClusters } from './binding-state.ts'

/** Returns why the scheduler refuses a cluster, as the rest of a sentence about the cluster; undefined if it accepts the cluster. */
export type Refusal = (name: string) => string | undefined

/** The fields of a binding that the filter plugins read. */
export type SchedulingRequest = Pick<BindingSpec, 'resource' | 'placement' | 'clusters' | 'gracefulEvictionTasks'>

/**
 * Compiles the filters of Karmada's scheduler for one binding (v1.16.0 to v1.18.1, pkg/scheduler/framework/plugins: `clustereviction`,
 * `tainttoleration`, `apienablement`, `spreadconstraint`; deleted clusters: pkg/scheduler/core/generic_scheduler.go, findClustersThatFit).
 * A cluster that is already in `spec.clusters` passes the taints and the APIs: the scheduler never deletes a workload for these two.
 *
 * Not known here: the workload affinity plugins, which are behind a feature gate that is off by default, and plugins that an
 * administrator disabled.
 *
 * @param clusters undefined if Clusters cannot be read; then only graceful evictions count
 */
export function schedulingRefusal(request: SchedulingRequest, clusters: ClusterLookup | undefined): Refusal {
  const targets = new Set(targetClusters(request))
  const evicted = evictedClusters(request)
  const tolerations = new Tolerations(request.placement?.clusterTolerations)
  return (name) => {
    if (evicted.has(name)) return 'is being evicted'
    if (!clusters) return undefined
    const cluster = clusters(name)
    if (!cluster) return 'does not exist'
    if (cluster.metadata.deletionTimestamp) return 'is being deleted'
    return (
      (targets.has(name) ? undefined : newcomerProblem(cluster, request, tolerations)) ??
      spreadProblem(cluster, request)
    )
  }
}

/**
 * Compiles whether a workload should move to a cluster. It should not if Karmada would evict it there: the policy tolerates a NoExecute taint for some
 * seconds only. They count from when the taint was added. The scheduler accepts such a cluster. A workload that runs nowhere begins there.
 */
export function moveRefusal(request: SchedulingRequest, clusters: ClusterLookup | undefined): Refusal {
  const refuses = schedulingRefusal(request, clusters)
  const targets = new Set(targetClusters(request))
  if (targets.size === 0) return refuses
  const tolerations = new Tolerations(request.placement?.clusterTolerations)
  return (name) => refuses(name) ?? (targets.has(name) ? undefined : evictionProblem(clusters?.(name), tolerations))
}

/** Why a workload would not stay in a cluster whose taints do not keep it away. */
function evictionProblem(cluster: Cluster | undefined, tolerations: Tolerations): string | undefined {
  const evicting = tolerations.evicting(cluster?.spec?.taints)
  if (!evicting) return undefined
  const { taint, seconds } = evicting
  return `has the taint ${taintText(taint)}, which the policy tolerates for ${seconds} s only`
}

const MAX_SHOWN = 3

/** Says why each of these clusters is refused, as a part of a sentence: the first ones, and the number of the others. */
export function describeRefusals(names: readonly string[], refuses: Refusal): string {
  if (names.length === 0) return 'its placement allows no cluster'
  const shown = names.slice(0, MAX_SHOWN).map((name) => `${name} ${refuses(name)}`)
  const more = names.length > MAX_SHOWN ? [`and so on for ${names.length - MAX_SHOWN} more`] : []
  return [...shown, ...more].join(', ')
}

/** Why a cluster does not accept a workload that does not run there yet. */
function newcomerProblem(
  { spec, status }: Cluster,
  { resource }: SchedulingRequest,
  tolerations: Tolerations,
): string | undefined {
  const [taint] = tolerations.blocking(spec?.taints)
  if (taint) return `has the taint ${taintText(taint)}, which the policy does not tolerate`
  const { apiVersion, kind } = resource
  if (!status || serves(status.apiEnablements ?? [], apiVersion, kind)) return undefined
  // The scheduler refuses both. The user of an incomplete list only has to wait.
  return isTrue(status.conditions, COMPLETE_APIS)
    ? `does not serve ${apiVersion} ${kind}`
    : `has not reported yet that it serves ${apiVersion} ${kind}`
}

/** Each spread constraint by a field needs a value of this field. */
function spreadProblem({ spec }: Cluster, { placement }: SchedulingRequest): string | undefined {
  const has: Record<string, boolean> = {
    provider: !!spec?.provider,
    region: !!spec?.region,
    zone: !!spec?.zones?.length,
  }
  const lacking = placement?.spreadConstraints?.find(({ spreadByField = '' }) => has[spreadByField] === false)
  return lacking && `has no ${lacking.spreadByField}, by which the policy spreads`
}

/** The kinds of a list, as `apiVersion/kind`. Equal lists of cached clusters are one object. */
const served = new WeakMap<readonly ApiEnablement[], ReadonlySet<string>>()

function serves(enablements: readonly ApiEnablement[], apiVersion: string, kind: string): boolean {
  let known = served.get(enablements)
  if (!known) {
    const kinds = enablements.flatMap(({ groupVersion, resources = [] }) =>
      resources.map((resource) => `${groupVersion}/${resource.kind}`),
    )
    known = new Set(kinds)
    served.set(enablements, known)
  }
  return known.has(`${apiVersion}/${kind}`)
}
