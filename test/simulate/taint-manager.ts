// Models of the controllers of karmada-controller-manager (v1.18.1, pkg/controllers): the NoExecute taint manager, graceful eviction, the
// binding controller, and the deletion of Clusters.
import { evictionMs } from './accepts.ts'
import { type ApiServer, keyOf } from './api-server.ts'
import type { VirtualClock } from './clock.ts'
import {
  APPLIED_PLACEMENT,
  type Binding,
  type BindingSpec,
  type Cluster,
  type EvictionTask,
  namesOf,
  type Placement,
  type PurgeMode,
} from './karmada.ts'
import { isSameSet } from './sets.ts'

const WRITER = 'controller-manager'
const FINALIZER = 'karmada.io/binding-controller'
// --graceful-eviction-timeout
const EVICTION_TIMEOUT_MS = 600_000
// The taint manager lists the bindings of a tainted cluster at this interval (v1.18.1, cmd/controller-manager,
// ClusterTaintEvictionRetryFrequency). A workload that was evicted and came back stays until then.
const EVICTION_INTERVAL_MS = 10_000

export type Failover = 'Off' | 'Gracefully' | 'Directly'

// When the taint manager evicts a binding from a cluster, in ms.
interface Eviction {
  name: string
  atMs: number
  // Whether it was evicted from there before, and no toleration has ended since.
  isRepeated: boolean
}

export interface Failure {
  // `namespace/name` of a binding.
  key: string
  cluster: string
  purgeMode: PurgeMode
  gracePeriodSeconds?: number
}

export interface ControllerAction {
  do: 'evict' | 'assess' | 'works' | 'status' | 'collect' | 'unjoin'
  // `namespace/name` of a binding, or the name of a cluster.
  key: string
}

export class ControllerManager {
  // The clusters that have the objects of a binding, by the key of the binding.
  readonly works = new Map<string, ReadonlySet<string>>()
  readonly #api: ApiServer
  readonly #clock: VirtualClock
  readonly #failover: Failover
  // When a binding was evicted from a cluster last, by both; in ms.
  readonly #evictedAt = new Map<string, number>()

  constructor(api: ApiServer, clock: VirtualClock, failover: Failover) {
    this.#api = api
    this.#clock = clock
    this.#failover = failover
  }

  // Everything that a controller would do now.
  pending(): ControllerAction[] {
    const actions: ControllerAction[] = []
    for (const binding of this.#api.list<Binding>('ResourceBinding')) {
      const key = keyOf(binding.metadata.namespace, binding.metadata.name)
      const add = (what: ControllerAction['do'], isPending: boolean) =>
        void (isPending && actions.push({ do: what, key }))
      add('collect', this.#isOrphan(binding))
      add('works', this.#differs(key, binding))
      if (binding.metadata.deletionTimestamp) continue
      add('evict', this.#toEvict(binding).length > 0)
      add('assess', this.#assessed(binding) !== undefined)
      add('status', this.#statusOf(binding) !== undefined)
    }
    for (const { metadata } of this.#api.list<Cluster>('Cluster')) {
      const { name = '', deletionTimestamp } = metadata
      if (deletionTimestamp && !this.#isUsed(name)) actions.push({ do: 'unjoin', key: name })
    }
    return actions
  }

  // Throws the errors of the API server: the controller tries again.
  run({ do: what, key }: ControllerAction): void {
    const [namespace = '', name = ''] = key.split('/')
    const binding = this.#api.get<Binding>('ResourceBinding', namespace, name)
    if (what === 'unjoin') this.#unjoin(key)
    else if (binding) this.#runFor(binding, key, what)
  }

  // When a graceful eviction ends by its timeout, or a toleration ends; undefined if there is neither.
  nextTimeoutMs(): number | undefined {
    const bindings = this.#api.list<Binding>('ResourceBinding')
    const ends = bindings
      .flatMap(({ spec }) => spec.gracefulEvictionTasks ?? [])
      .flatMap((task) => timeoutOf(task) ?? [])
    // A workload that is scheduled and evicted again and again does not come to rest.
    const evictions = bindings.flatMap((binding) => this.#evictions(binding)).filter(({ isRepeated }) => !isRepeated)
    const times = [...ends, ...evictions.map(({ atMs }) => atMs)]
    return times.length === 0 ? undefined : Math.min(...times)
  }

  #runFor(binding: Binding, key: string, what: Exclude<ControllerAction['do'], 'unjoin'>): void {
    const { namespace, name = '' } = binding.metadata
    switch (what) {
      case 'collect':
        if (this.#isOrphan(binding)) this.#api.delete('garbage-collector', 'ResourceBinding', namespace, name)
        break
      case 'works':
        this.#applyWorks(key, binding)
        break
      case 'evict':
        this.#evict(binding)
        break
      case 'assess':
        this.#assess(binding)
        break
      case 'status': {
        const aggregatedStatus = this.#statusOf(binding)
        const of = { kind: 'ResourceBinding', namespace, name }
        if (aggregatedStatus) this.#api.patch(WRITER, of, { status: { aggregatedStatus } }, 'status')
        break
      }
      default:
        throw new Error(`unknown action ${what satisfies never}`)
    }
  }

  #isOrphan({ metadata }: Binding): boolean {
    const [owner] = metadata.ownerReferences ?? []
    if (!owner || metadata.deletionTimestamp) return false
    return this.#api.get(owner.kind, metadata.namespace, owner.name)?.metadata.uid !== owner.uid
  }

  #toEvict(binding: Binding): string[] {
    const now = this.#clock.now()
    return this.#evictions(binding).flatMap(({ name, atMs }) => (atMs <= now ? [name] : []))
  }

  // taint_manager.go, syncBindingEviction: tolerations come from the applied placement.
  #evictions({ metadata, spec }: Binding): Eviction[] {
    const applied = metadata.annotations?.[APPLIED_PLACEMENT]
    if (this.#failover === 'Off' || applied === undefined || metadata.deletionTimestamp) return []
    const tainted = namesOf(spec.clusters).flatMap((name) => {
      const { taints = [] } = this.#api.get<Cluster>('Cluster', undefined, name)?.spec ?? {}
      return taints.some(({ effect }) => effect === 'NoExecute') ? [{ name, taints }] : []
    })
    if (tainted.length === 0) return []
    const { clusterTolerations } = JSON.parse(applied) as Placement
    return tainted.flatMap(({ name, taints }): Eviction[] => {
      const dueMs = evictionMs(taints, clusterTolerations)
      const last = this.#evictedAt.get(`${keyOf(metadata.namespace, metadata.name)} ${name}`)
      if (dueMs === undefined) return []
      // The scheduler does not accept a cluster again whose taint is not tolerated.
      if (last === undefined || dueMs > last || !Number.isFinite(dueMs))
        return [{ name, atMs: dueMs, isRepeated: false }]
      return [{ name, atMs: last + EVICTION_INTERVAL_MS, isRepeated: true }]
    })
  }

  // binding_types_helper.go, GracefulEvictCluster: one cluster per reconcile.
  #evict(binding: Binding): void {
    const [from] = this.#toEvict(binding)
    if (from === undefined || this.#failover === 'Off') return
    const task = { purgeMode: this.#failover, reason: 'TaintUntolerated', producer: 'TaintManager' }
    this.#api.update(WRITER, { ...binding, spec: withTask(binding.spec, from, task) } as Binding)
    this.#evictedAt.set(`${keyOf(binding.metadata.namespace, binding.metadata.name)} ${from}`, this.#clock.now())
  }

  // pkg/controllers/applicationfailover: evicts from a cluster where the application has failed. A task of purge mode Never stays until a user
  // ends it.
  failOver({ key, cluster, purgeMode, gracePeriodSeconds }: Failure): void {
    const [namespace = '', name = ''] = key.split('/')
    const binding = this.#api.get<Binding>('ResourceBinding', namespace, name)
    if (!binding || binding.metadata.deletionTimestamp || !namesOf(binding.spec.clusters).includes(cluster)) return
    const task = {
      purgeMode,
      reason: 'ApplicationFailure',
      producer: 'ResourceBindingApplicationFailoverController',
      ...(purgeMode === 'Gracefully' && gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(purgeMode === 'Never' && { suppressDeletion: true }),
    }
    this.#api.update(WRITER, { ...binding, spec: withTask(binding.spec, cluster, task) } as Binding)
  }

  purge(key: string): void {
    const [namespace = '', name = ''] = key.split('/')
    const binding = this.#api.get<Binding>('ResourceBinding', namespace, name)
    const { gracefulEvictionTasks: tasks = [] } = binding?.spec ?? {}
    if (!binding || tasks.length === 0) return
    const gracefulEvictionTasks = tasks.map((task) => ({
      ...task,
      ...(task.suppressDeletion && { suppressDeletion: false }),
    }))
    this.#api.update('user', { ...binding, spec: { ...binding.spec, gracefulEvictionTasks } } as Binding)
  }

  #assess(binding: Binding): void {
    const tasks = this.#assessed(binding)
    if (!tasks) return
    const { gracefulEvictionTasks: _tasks, ...spec } = binding.spec
    const kept = tasks.length > 0 ? { gracefulEvictionTasks: tasks } : {}
    this.#api.update(WRITER, { ...binding, spec: { ...spec, ...kept } } as Binding)
  }

  // evictiontask.go, assessEvictionTasks. Undefined if nothing changes.
  #assessed({ metadata, spec, status }: Binding) {
    const { gracefulEvictionTasks: tasks = [], clusters } = spec
    const isScheduled = status?.schedulerObservedGeneration === metadata.generation
    const isHealthy = namesOf(clusters).every((name) =>
      status?.aggregatedStatus?.some(({ clusterName, health }) => clusterName === name && health === 'Healthy'),
    )
    const now = this.#clock.now()
    const kept = tasks
      .filter((task) => {
        if (!task.creationTimestamp || task.suppressDeletion) return true
        if (task.suppressDeletion === false || (isScheduled && isHealthy)) return false
        return now <= (timeoutOf(task) ?? 0)
      })
      .map((task) => ({ ...task, creationTimestamp: task.creationTimestamp ?? this.#clock.stamp() }))
    const isSame = kept.length === tasks.length && tasks.every(({ creationTimestamp }) => creationTimestamp)
    return isSame ? undefined : kept
  }

  // helper.ObtainBindingSpecExistingClusters: Works of clusters under eviction stay, unless the purge mode is Directly.
  #expectedWorks({ metadata, spec }: Binding, present: ReadonlySet<string>): Set<string> {
    if (metadata.deletionTimestamp) return new Set()
    const evicting = (spec.gracefulEvictionTasks ?? []).filter(({ purgeMode }) => purgeMode !== 'Directly')
    const stays = evicting.map(({ fromCluster }) => fromCluster).filter((name) => present.has(name))
    return new Set([...namesOf(spec.clusters), ...stays])
  }

  #differs(key: string, binding: Binding): boolean {
    const present = this.works.get(key) ?? new Set()
    const expected = this.#expectedWorks(binding, present)
    if (!isSameSet(expected, present)) return true
    return binding.metadata.deletionTimestamp !== undefined && !!binding.metadata.finalizers?.includes(FINALIZER)
  }

  #applyWorks(key: string, binding: Binding): void {
    const expected = this.#expectedWorks(binding, this.works.get(key) ?? new Set())
    if (expected.size > 0) this.works.set(key, expected)
    else this.works.delete(key)
    if (!binding.metadata.deletionTimestamp) return
    const finalizers = binding.metadata.finalizers?.filter((one) => one !== FINALIZER) ?? []
    this.#api.update(WRITER, { ...binding, metadata: { ...binding.metadata, finalizers } })
  }

  // The status of each member that has the objects. A member that is not ready reports nothing new.
  #statusOf({ metadata, status }: Binding) {
    const before = status?.aggregatedStatus ?? []
    const works = this.works.get(keyOf(metadata.namespace, metadata.name)) ?? new Set<string>()
    const after = [...works].sort().flatMap((clusterName) => {
      const known = before.find((item) => item.clusterName === clusterName)
      return this.#isReady(clusterName) ? [{ clusterName, applied: true, health: 'Healthy' }] : known ? [known] : []
    })
    return JSON.stringify(after) === JSON.stringify(before) ? undefined : after
  }

  #isReady(name: string): boolean {
    const cluster = this.#api.get<Cluster>('Cluster', undefined, name)
    return cluster?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  }

  #isUsed(cluster: string): boolean {
    const bindings = this.#api.list<Binding>('ResourceBinding')
    const isTarget = bindings.some(({ spec }) => namesOf(spec.clusters).includes(cluster))
    return isTarget || [...this.works.values()].some((works) => works.has(cluster))
  }

  #unjoin(name: string): void {
    const cluster = this.#api.get<Cluster>('Cluster', undefined, name)
    if (!cluster?.metadata.deletionTimestamp || this.#isUsed(name)) return
    this.#api.update(WRITER, { ...cluster, metadata: { ...cluster.metadata, finalizers: [] } })
  }
}

// Without a grace period, the one of the flag counts. A task of purge mode Never has no end.
function timeoutOf({ creationTimestamp, gracePeriodSeconds, suppressDeletion }: EvictionTask): number | undefined {
  if (!creationTimestamp || suppressDeletion) return undefined
  const timeoutMs = gracePeriodSeconds === undefined ? EVICTION_TIMEOUT_MS : gracePeriodSeconds * 1000
  return Date.parse(creationTimestamp) + timeoutMs
}

// binding_types_helper.go, GracefulEvictCluster
function withTask(
  { clusters = [], gracefulEvictionTasks: tasks = [], ...spec }: BindingSpec,
  fromCluster: string,
  task: Pick<EvictionTask, 'purgeMode' | 'reason' | 'producer'>,
): BindingSpec {
  const left = clusters.filter(({ name }) => name !== fromCluster)
  const { replicas } = clusters.find(({ name }) => name === fromCluster) ?? {}
  const isKnown = tasks.some((one) => one.fromCluster === fromCluster)
  return {
    ...spec,
    ...(left.length > 0 && { clusters: left }),
    gracefulEvictionTasks: isKnown ? tasks : [...tasks, { fromCluster, ...task, ...(replicas && { replicas }) }],
  }
}
