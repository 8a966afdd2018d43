// A model of karmada-scheduler (v1.18.1, pkg/scheduler): its lagging cache, its queue, and the conditions under which it schedules.
import { isDeepStrictEqual } from 'node:util'
import { matches } from './accepts.ts'
import type { WorldConfig } from './actions.ts'
import { type ApiServer, DeniedError, type Feed, keyOf } from './api-server.ts'
import type { VirtualClock } from './clock.ts'
import { CLUSTER_POLICY_ID, POLICY_ID } from './detector.ts'
import { APPLIED_PLACEMENT, type Binding, type Cluster, isDuplicated, isWorkload, type Placement } from './karmada.ts'
import { isRescheduleRequired, type ScheduleResult, schedule } from './schedule.ts'

const WRITER = 'scheduler'

export class Scheduler {
  readonly clusters = new Map<string, Cluster>()
  // Called with each result before it is written.
  onResult: (binding: Binding, result: ScheduleResult) => void = () => {}
  readonly #api: ApiServer
  readonly #clock: VirtualClock
  readonly #hasOldReasons: boolean
  readonly #bindings = new Map<string, Binding>()
  readonly #queue = new Set<string>()
  #feed: Feed

  // Before 1.18, a lack of room had no reason of its own (pkg/scheduler/core/assignment.go).
  constructor(api: ApiServer, clock: VirtualClock, { hasOldReasons = false }: Pick<WorldConfig, 'hasOldReasons'> = {}) {
    this.#hasOldReasons = hasOldReasons
    this.#api = api
    this.#clock = clock
    this.#feed = api.openFeed(['ResourceBinding', 'Cluster'])
    this.#list()
  }

  // Starts again: lists everything, and schedules every binding once.
  restart(): void {
    this.#api.closeFeed(this.#feed)
    this.#feed = this.#api.openFeed(['ResourceBinding', 'Cluster'])
    this.#queue.clear()
    this.#list()
  }

  backlog(): string[] {
    return this.#feed.kinds()
  }

  queued(): string[] {
    return [...this.#queue]
  }

  receive(kind: string, count: number): void {
    for (let i = 0; i < count; i++) {
      const change = this.#feed.take(kind)
      if (!change) return
      if (kind === 'Cluster') this.#receiveCluster(change.before as Cluster, change.after as Cluster)
      else this.#receiveBinding(change.before as Binding, change.after as Binding)
    }
  }

  // Schedules a queued binding (doScheduleBinding).
  run(key: string): void {
    if (!this.#queue.delete(key)) return
    const binding = this.#bindings.get(key)
    if (!binding || binding.metadata.deletionTimestamp || !binding.spec.placement) return
    if (!this.#isScheduleNeeded(binding, binding.spec.placement)) {
      if (binding.status?.schedulerObservedGeneration !== binding.metadata.generation) this.#observe(binding, {})
      return
    }
    const result = schedule(binding, this.clusters.values())
    this.onResult(binding, result)
    if (result.kind === 'error') {
      this.#retry(key, binding, this.#hasOldReasons ? { ...result, reason: 'SchedulerError' } : result)
      return
    }
    const clusters = result.kind === 'fit' ? result.clusters : []
    try {
      this.#patchResult(binding, clusters)
    } catch (error) {
      // The other error is that the binding was deleted meanwhile.
      // helper.go, getConditionByError: a cluster that fits none is the reason, also if its write failed.
      const reason = result.kind === 'fit' ? 'SchedulerError' : 'NoClusterFit'
      if (!(error instanceof DeniedError)) return
      // scheduleResourceBindingWithClusterAffinities: the group counts as observed, also if the write of its clusters failed.
      if (result.kind === 'fit' && result.affinityName) this.#observeGroup(binding, result.affinityName)
      this.#retry(key, binding, { reason, message: error.message })
      return
    }
    this.#observe(binding, {
      isFit: result.kind === 'fit',
      ...(result.kind === 'fit' && result.affinityName && { affinityName: result.affinityName }),
    })
  }

  #isScheduleNeeded({ metadata, spec, status }: Binding, placement: Placement): boolean {
    const applied = metadata.annotations?.[APPLIED_PLACEMENT]
    if (isPlacementChanged(placement, applied, status?.schedulerObservingAffinityName)) return true
    if (isReplicasChanged({ spec } as Binding, placement)) return true
    if (isRescheduleRequired(spec, status)) return true
    if (!isWorkload({ spec }) || isDuplicated(placement)) return true
    return (spec.clusters ?? []).some(({ name }) => {
      const cluster = this.clusters.get(name)
      return !cluster || cluster.metadata.deletionTimestamp !== undefined
    })
  }

  // A merge patch of what differs from the cached binding, without a resourceVersion.
  #patchResult(cached: Binding, clusters: { name: string }[]): void {
    const { namespace, name = '' } = cached.metadata
    const applied = JSON.stringify(cached.spec.placement)
    const isSame = isDeepStrictEqual(cached.spec.clusters ?? [], clusters)
    const patch = {
      metadata: { annotations: { [APPLIED_PLACEMENT]: applied } },
      ...(!isSame && { spec: { clusters: clusters.length > 0 ? clusters : null } }),
    }
    this.#api.patch(WRITER, { kind: 'ResourceBinding', namespace, name }, patch)
  }

  #observe(cached: Binding, { isFit, affinityName }: { isFit?: boolean; affinityName?: string }): void {
    const { namespace, name = '', generation } = cached.metadata
    if (!this.#api.get('ResourceBinding', namespace, name)) return
    const status = {
      ...(affinityName && { schedulerObservingAffinityName: affinityName }),
      ...(isFit !== undefined && { conditions: [conditionOf({ reason: isFit ? 'Success' : 'NoClusterFit' })] }),
      ...(isFit !== false && { schedulerObservedGeneration: generation }),
      ...(isFit && { lastScheduledTime: this.#clock.stamp() }),
    }
    this.#api.patch(WRITER, { kind: 'ResourceBinding', namespace, name }, { status }, 'status')
  }

  #observeGroup({ metadata: { namespace, name = '' } }: Binding, affinityName: string): void {
    if (!this.#api.get('ResourceBinding', namespace, name)) return
    const status = { schedulerObservingAffinityName: affinityName }
    this.#api.patch(WRITER, { kind: 'ResourceBinding', namespace, name }, { status }, 'status')
  }

  #retry(key: string, cached: Binding, failure: { reason: string; message: string }): void {
    const { namespace, name = '' } = cached.metadata
    if (!this.#api.get('ResourceBinding', namespace, name)) return
    this.#queue.add(key)
    const status = { conditions: [conditionOf(failure)] }
    this.#api.patch(WRITER, { kind: 'ResourceBinding', namespace, name }, { status }, 'status')
  }

  #list(): void {
    this.clusters.clear()
    this.#bindings.clear()
    for (const cluster of this.#api.list<Cluster>('Cluster')) this.clusters.set(cluster.metadata.name ?? '', cluster)
    for (const binding of this.#api.list<Binding>('ResourceBinding')) this.#receiveBinding(undefined, binding)
  }

  #receiveBinding(before: Binding | undefined, after: Binding | undefined): void {
    const key = keyOf((after ?? before)?.metadata.namespace, (after ?? before)?.metadata.name)
    if (!after) {
      this.#bindings.delete(key)
      this.#queue.delete(key)
      return
    }
    this.#bindings.set(key, after)
    if (!isOurs(after)) return
    // A binding that the event filter ignored before counts as added.
    if (!before || !isOurs(before) || before.metadata.generation !== after.metadata.generation) this.#queue.add(key)
  }

  // event_handler.go, updateCluster and enqueueAffectedBindings.
  #receiveCluster(before: Cluster | undefined, after: Cluster | undefined): void {
    const name = (after ?? before)?.metadata.name ?? ''
    if (after) this.clusters.set(name, after)
    else this.clusters.delete(name)
    if (!before || !after) return
    const begins = !before.metadata.deletionTimestamp && after.metadata.deletionTimestamp !== undefined
    const isChanged =
      before.metadata.generation !== after.metadata.generation ||
      !isDeepStrictEqual(before.metadata.labels, after.metadata.labels)
    if (!begins && !isChanged) return
    for (const [key, binding] of this.#bindings) {
      // Without the event filter: a binding whose policy is gone is scheduled too.
      if (!isSuspended(binding) && (isAffected(binding, after) || (!begins && isAffected(binding, before))))
        this.#queue.add(key)
    }
  }
}

// resourceBindingEventFilter
function isOurs(binding: Binding): boolean {
  return (
    !isSuspended(binding) &&
    [POLICY_ID, CLUSTER_POLICY_ID].some((label) => binding.metadata.labels?.[label] !== undefined)
  )
}

function isSuspended({ spec }: Binding): boolean {
  return spec.suspension?.scheduling === true
}

function isAffected({ metadata, spec, status }: Binding, cluster: Cluster): boolean {
  const { clusterAffinity, clusterAffinities } = spec.placement ?? {}
  if (!clusterAffinities) return !clusterAffinity || matches(cluster, clusterAffinity)
  if (status?.schedulerObservedGeneration !== metadata.generation) return true
  const term = clusterAffinities.find(({ affinityName }) => affinityName === status?.schedulerObservingAffinityName)
  const observed = term ?? clusterAffinities[0]
  return observed !== undefined && matches(cluster, observed)
}

// helper.go, placementChanged
function isPlacementChanged(placement: Placement, applied: string | undefined, observed: string | undefined): boolean {
  if (applied === undefined) return true
  const before = JSON.parse(applied) as Placement
  if (isDeepStrictEqual(placement, before)) return false
  const { clusterAffinities: groups, ...rest } = placement
  const { clusterAffinities: groupsBefore, ...restBefore } = before
  if (!isDeepStrictEqual(rest, restBefore) || !observed) return true
  const term = groups?.find(({ affinityName }) => affinityName === observed)
  const termBefore = groupsBefore?.find(({ affinityName }) => affinityName === observed)
  return !term || !termBefore || !isDeepStrictEqual(term, termBefore)
}

// util.IsBindingReplicasChanged
function isReplicasChanged({ spec }: Binding, placement: Placement): boolean {
  if (!placement.replicaScheduling) return false
  const { clusters = [], replicas = 0, components = [] } = spec
  // Since 1.17: components are scheduled again if they have lost their clusters.
  if (components.length > 0 && clusters.length === 0) return true
  if (isDuplicated(placement)) return clusters.some((cluster) => (cluster.replicas ?? 0) !== replicas)
  return clusters.reduce((sum, cluster) => sum + (cluster.replicas ?? 0), 0) !== replicas
}

function conditionOf({ reason, message }: { reason: string; message?: string }) {
  return { type: 'Scheduled', status: reason === 'Success' ? 'True' : 'False', reason, ...(message && { message }) }
}
