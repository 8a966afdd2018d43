/** What a binding says about its workload, as Karmada reads it: every decision asks here. */
import {
  type BindingSpec,
  type BindingStatus,
  type EvictionTask,
  NO_ASSIGNMENT,
  NO_CLUSTER_FIT,
  NO_SELECTION,
  type ResourceBinding,
  SCHEDULED_CONDITION,
  type TargetCluster,
  UNSCHEDULABLE,
} from '../../api/karmada.ts'
import type { KarmadaRules } from '../karmada-rules.ts'

/**
 * Whether the resource has replicas or requirements: overflow tiers apply only to such resources. It is `ResourceBindingSpec.IsWorkload` of
 * the API work.karmada.io/v1alpha2 in Karmada 1.16.0 to 1.18.2 (binding_types_helper.go).
 */
export function isWorkload(
  spec: Pick<BindingSpec, 'replicas' | 'replicaRequirements' | 'components'> | undefined,
): boolean {
  return (spec?.replicas ?? 0) > 0 || spec?.replicaRequirements != null || !!spec?.components?.length
}

/** Whether overflow tiers count for a binding: they do for workloads, if Karmada has them. */
export function usesOverflow(spec: Parameters<typeof isWorkload>[0], { overflowAffinities }: KarmadaRules): boolean {
  return overflowAffinities && isWorkload(spec)
}

/**
 * Whether the scheduler divides replicas between clusters; else each cluster that it selects gets a copy. It copies resources without replicas, and
 * those with components, which Karmada fills instead of the replicas. Without a replicaScheduling it duplicates; the default in one is Divided. It
 * is AssignReplicas of Karmada 1.16.0 to 1.18.2 (pkg/scheduler/core/common.go).
 */
export function isDivided({
  replicas = 0,
  replicaRequirements,
  components = [],
  placement,
}: Pick<BindingSpec, 'replicas' | 'replicaRequirements' | 'components' | 'placement'>): boolean {
  const { replicaScheduling } = placement ?? {}
  if (replicaScheduling === undefined || replicaScheduling.replicaSchedulingType === 'Duplicated') return false
  return (replicas > 0 || replicaRequirements != null) && components.length <= 1
}

/**
 * Whether the scheduler takes a workload out of all clusters since it has no replicas. Without requirements, it copies such a workload. It is
 * assignReplicasToClusters of Karmada 1.16.0 to 1.18.2 (pkg/scheduler/core/common.go).
 */
export function isScaledToZero({
  replicas = 0,
  replicaRequirements,
  components = [],
}: Pick<BindingSpec, 'replicas' | 'replicaRequirements' | 'components'>): boolean {
  return replicas === 0 && replicaRequirements != null && components.length <= 1
}

/** Returns the names of the clusters that the scheduler chose. */
export function targetClusters(spec: Pick<BindingSpec, 'clusters'> | undefined): string[] {
  return spec?.clusters?.map(({ name }) => name) ?? []
}

/**
 * Returns the clusters in which a workload runs. The scheduler copies a workload that has neither replicas nor requirements to each cluster that it
 * selects. If such a workload gets replicas again, its clusters have none until it is scheduled.
 */
export function occupiedClusters(spec: Omit<BindingSpec, 'resource'> | undefined): string[] {
  const { clusters = [] } = spec ?? {}
  const occupied = spec && isDivided(spec) ? clusters.filter(({ replicas = 0 }) => replicas > 0) : clusters
  return occupied.map(({ name }) => name)
}

/** Whether the scheduler chose a cluster. */
export function hasTarget(spec: Pick<BindingSpec, 'clusters'> | undefined): boolean {
  return !!spec?.clusters?.length
}

/** Returns the clusters that the workload leaves after a graceful eviction. The scheduler does not choose them again before it ends. */
export function evictedClusters(spec: Pick<BindingSpec, 'gracefulEvictionTasks'> | undefined): Set<string> {
  return new Set(spec?.gracefulEvictionTasks?.map(({ fromCluster }) => fromCluster))
}

/** The purge modes with which Karmada deletes an evicted workload before its replacement runs; the second one is of versions before 1.19. */
const PURGED_AT_ONCE: readonly (string | undefined)[] = ['Directly', 'Immediately']

/** Whether a workload leaves a cluster at once. With every other purge mode, it runs there until its replacement does, or until a timeout. */
export function isPurgedAtOnce({ purgeMode }: EvictionTask): boolean {
  return PURGED_AT_ONCE.includes(purgeMode)
}

/**
 * Returns the clusters in which Karmada keeps the workload: those that the scheduler chose, then those that it leaves gracefully. It is
 * ObtainBindingSpecExistingClusters of Karmada 1.16.0 to 1.18.1 (pkg/util/helper/binding.go).
 */
export function clustersWithWorkload({
  clusters = [],
  gracefulEvictionTasks = [],
}: Pick<BindingSpec, 'clusters' | 'gracefulEvictionTasks'>): TargetCluster[] {
  if (gracefulEvictionTasks.length === 0) return clusters
  const leaving = gracefulEvictionTasks
    .filter((task) => !isPurgedAtOnce(task))
    .map(({ fromCluster: name }) => ({ name }))
  const seen = new Set<string>()
  return [...clusters, ...leaving].filter(({ name }) => !seen.has(name) && seen.add(name))
}

/** Whether the workload runs, or is being replaced after an eviction. */
export function isPlaced(spec: Pick<BindingSpec, 'clusters' | 'gracefulEvictionTasks'> | undefined): boolean {
  return hasTarget(spec) || !!spec?.gracefulEvictionTasks?.length
}

/** Whether the scheduler leaves the binding alone, by Lodestone or by another client. */
export function isSuspended(spec: Pick<BindingSpec, 'suspension'> | undefined): boolean {
  return spec?.suspension?.scheduling === true
}

/** Returns a suspension without that of scheduling; undefined if nothing else is suspended. */
export function withoutScheduling(suspension: BindingSpec['suspension']): BindingSpec['suspension'] {
  const { scheduling: _, ...others } = suspension ?? {}
  return Object.keys(others).length > 0 ? others : undefined
}

/** The reason for which the scheduler could not schedule a binding when it last tried; undefined if it could, or did not try. */
export function schedulingFailure(binding: ResourceBinding): string | undefined {
  return failedAttempt(binding)?.reason
}

function failedAttempt({ status }: ResourceBinding): NonNullable<BindingStatus['conditions']>[number] | undefined {
  return status?.conditions?.find(({ type, status: holds }) => type === SCHEDULED_CONDITION && holds === 'False')
}

/** Whether the scheduler found no cluster for a binding. It tries again when the binding or the spec of a cluster changes. */
export function hasNoFit(binding: ResourceBinding): boolean {
  return !hasTarget(binding.spec) && schedulingFailure(binding) === NO_CLUSTER_FIT
}

/** Whether the scheduler failed since it could not choose among the clusters that it accepts: their room, or their number, is too small. */
function lacksChoice(binding: ResourceBinding): boolean {
  const failure = failedAttempt(binding)
  return failure?.reason === UNSCHEDULABLE || (failure?.reason === SCHEDULER_ERROR && isNoSelection(failure.message))
}

/** The reason of every failure that has none of its own. */
const SCHEDULER_ERROR = 'SchedulerError'

/**
 * Whether the scheduler could not choose among clusters for a workload that runs in none. It tries again by itself. karmada-descheduler takes all
 * replicas from a cluster without room, and leaves its name (v1.18.2, pkg/descheduler/descheduler.go, updateScheduleResult).
 */
export function hasNoChoice(binding: ResourceBinding): boolean {
  return occupiedClusters(binding.spec).length === 0 && lacksChoice(binding)
}

/**
 * Whether a write changes the number of replicas of a workload that runs, while the scheduler cannot choose among clusters for it. The scheduler changes
 * no replica then, not even to remove one (v1.18.2, pkg/scheduler/core/assignment.go, assignByDynamicStrategy).
 */
export function scalesInVain({ spec }: ResourceBinding, stored: ResourceBinding): boolean {
  const isScaled = isDivided(spec) && spec.replicas !== stored.spec.replicas
  return isScaled && occupiedClusters(spec).length > 0 && lacksChoice(stored)
}

/**
 * Whether a message is about the choice among the clusters that the scheduler accepts (v1.16.0 to v1.18.2, pkg/scheduler/core/generic_scheduler.go,
 * Schedule). Before 1.18, the scheduler does not recognize a lack of room as `Unschedulable` (pkg/scheduler/core/assignment.go, assignByDynamicStrategy).
 */
export function isNoSelection(message: string | undefined): boolean {
  return [NO_SELECTION, NO_ASSIGNMENT].some((beginning) => message?.startsWith(beginning))
}
