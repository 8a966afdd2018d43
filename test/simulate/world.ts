// One simulated world: an API server, Karmada, users, and two replicas of Lodestone. Every change is an action, applied one at a time.

import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../../src/store/store.ts'
import type { Action, AskedAction, ClusterChange, ComponentAction, WorldConfig } from './actions.ts'
import { type AdmissionCall, ApiServer, DeniedError, keyOf, type Write } from './api-server.ts'
import { nameOf } from './bindings.ts'
import { Catalogs } from './catalogs.ts'
import { VirtualClock } from './clock.ts'
import {
  bindingNameOf,
  claimedPolicyOf,
  detect,
  nameOfPolicy,
  POLICY_KINDS,
  policyNameOf,
  selects,
  type WorkloadRef,
} from './detector.ts'
import { Guarantees } from './guarantees.ts'
import {
  type ApiObject,
  type Binding,
  type Cluster,
  namesOf,
  type Placement,
  type Policy,
  type Taint,
} from './karmada.ts'
import { Kueue } from './kueue.ts'
import { Leader } from './leader.ts'
import { bytesOf, type PriceLink } from './prices.ts'
import { ask, checkAnswer } from './questions.ts'
import { Replica } from './replica.ts'
import { CAPACITY } from './schedule.ts'
import { Scheduler } from './scheduler.ts'
import { ControllerManager } from './taint-manager.ts'
import { NAMESPACES, OUR_CRDS, WORKLOAD_KINDS } from './users.ts'
import { Violation } from './violation.ts'

// A rest covers every window and timeout of Lodestone and of Karmada.
const REST_MS = 20 * 60_000
// A rest advances by at least this much at once: whatever is due meanwhile runs late.
const REST_STEP_MS = 15_000
// More rounds without a pause count as a loop that does not converge.
const MAX_ROUNDS = 60

export class World {
  readonly config: WorldConfig
  readonly clock = new VirtualClock()
  readonly api = new ApiServer(this.clock)
  readonly catalogs: Catalogs
  readonly clusterNames: string[]
  readonly guarantees: Guarantees
  readonly scheduler: Scheduler
  readonly controllers: ControllerManager
  readonly kueue: Kueue
  readonly replicas: Replica[]
  leader: Leader
  readonly #toDetect = new Map<string, WorkloadRef & { isByKarmada: boolean }>()
  // The placements that the detector has written, by workload.
  readonly #applied = new Map<string, Placement>()
  readonly #toRecreate = new Map<string, ApiObject>()
  readonly #restoreTimers: () => void
  #via = 0
  #started = 0
  #links: readonly PriceLink[]

  constructor(config: WorldConfig) {
    this.config = config
    this.#restoreTimers = this.clock.install()
    this.#links = config.links ?? []
    this.catalogs = new Catalogs(config.links && bytesOf)
    this.clusterNames = clusterNamesOf(config.clusters)
    for (const name of NAMESPACES) this.api.create('setup', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    for (const name of this.clusterNames) this.api.create('setup', newCluster(name, config))
    this.kueue = new Kueue(this.api, this.clock)
    if (config.queues) this.kueue.setUp(this.clusterNames)
    this.replicas = [0, 1].map(() => this.#newReplica())
    this.leader = this.#newLeader()
    this.scheduler = new Scheduler(this.api, this.clock, config)
    this.controllers = new ControllerManager(this.api, this.clock, config.failover)
    this.guarantees = new Guarantees(this)
    this.scheduler.onResult = (binding, result) => this.guarantees.scheduled(binding, result)
    this.api.admit = (call) => this.#admit(call)
    this.api.onWrite = (write) => this.#written(write)
  }

  isCrdServed(kind: string): boolean {
    return this.api.isEstablished(kind)
  }

  // The replica that answers the reviews of this step.
  get reviewer(): Replica {
    return this.replicas[this.#via] as Replica
  }

  // Everything that a component would do now, by component.
  pending(via: () => number): ComponentAction[][] {
    const receive = (who: 'scheduler' | number, kinds: string[]): ComponentAction[] =>
      kinds.map((kind) => ({ do: 'receive', who, kind, count: 1 }))
    return [
      receive(0, this.replicas[0]?.backlog() ?? []),
      receive(1, this.replicas[1]?.backlog() ?? []),
      receive('scheduler', this.scheduler.backlog()),
      this.leader.due().map((due) => ({ do: 'reconcile', ...due, via: via() })),
      [...this.#toDetect.values()].map(({ isByKarmada: _, ...ref }) => ({ do: 'detect', ...ref, via: via() })),
      this.scheduler.queued().map((key) => ({ do: 'schedule', key, via: via() })),
      this.controllers.pending().map((action) => ({ ...action, via: via() })),
      this.#recreatable().map((key) => ({ do: 'recreate', key, via: via() })),
      this.config.queues ? this.kueue.pending() : [],
    ]
  }

  // Performs one action. Does nothing if the action is not possible now. Throws Violation.
  async perform(action: Action): Promise<void> {
    if ('via' in action) this.#via = action.via
    try {
      await this.#do(action)
    } catch (error) {
      if (!isExpected(error)) throw error
    }
    this.guarantees.afterStep()
  }

  stop(): void {
    this.leader.stop()
    this.#restoreTimers()
  }

  async #do(action: Action): Promise<void> {
    switch (action.do) {
      case 'receive': {
        const reader = action.who === 'scheduler' ? this.scheduler : this.replicas[action.who]
        return reader?.receive(action.kind, action.count)
      }
      case 'reconcile':
        return this.leader.run(action)
      case 'detect':
        return this.#detect(action)
      case 'schedule':
        return this.scheduler.run(action.key)
      case 'recreate':
        return this.#recreate(action.key)
      case 'apply':
        return this.#apply(action.object)
      case 'delete':
        return this.api.delete('user', action.kind, action.namespace, action.name)
      case 'replace':
        return this.#replace(action.object)
      case 'annotate':
        return this.#annotate(action)
      case 'rebalance':
        return this.#rebalance(action.key)
      case 'fail':
        return this.controllers.failOver(action)
      case 'purge':
        return this.controllers.purge(action.key)
      case 'suspend':
        return this.#suspend(action)
      case 'catalog':
        return this.catalogs.set(action.data, action.answer)
      case 'cluster':
        return this.#changeCluster(action.name, action.change)
      case 'join':
        return this.#join(action.name)
      case 'leave':
        return this.api.delete('user', 'Cluster', undefined, action.name)
      case 'crd':
        return this.#changeCrd(action)
      case 'restart':
        return this.#restart(action.what)
      case 'queue':
        return this.kueue.run(action)
      case 'preempt':
        return this.kueue.preempt(action.key)
      case 'prices':
        return this.#changePrices(action.links)
      case 'advance':
        return this.clock.advance(action.ms)
      case 'settle':
        return this.#settle()
      case 'rest':
        return this.#rest()
      case 'ask':
        return this.#ask(action.action)
      default:
        return this.controllers.run(action)
    }
  }

  #admit(call: AdmissionCall): ApiObject {
    const { object, before } = call
    if (!before && this.api.terminating.has(object.kind)) throw new DeniedError('the CRD is being deleted')
    const replica = this.reviewer
    const admitted = replica.review(call)
    if (object.kind === 'ResourceBinding') this.guarantees.reviewed(call, admitted, replica)
    return admitted
  }

  #written(write: Write): void {
    const { before, after } = write
    const object = after ?? before
    if (!object) return
    this.guarantees.written(write)
    if (WORKLOAD_KINDS.includes(object.kind)) this.#toDetectAgain(object)
    if (object.kind === 'ResourceBinding' && !after) this.#toDetectOwner(object as Binding)
    if (POLICY_KINDS.includes(object.kind)) {
      for (const workload of this.#workloads())
        if (this.#concerns(object as Policy, workload)) this.#toDetectAgain(workload, true)
    }
    if (this.api.terminating.has(object.kind) && this.api.list(object.kind).length === 0) {
      this.api.terminating.delete(object.kind)
      this.api.setServed(object.kind, false)
    }
  }

  #concerns(policy: Policy, workload: ApiObject): boolean {
    if (selects(policy, workload)) return true
    const { namespace, name = '' } = workload.metadata
    const binding = this.api.get<Binding>('ResourceBinding', namespace, bindingNameOf(workload.kind, name))
    return binding !== undefined && policyNameOf(binding) === nameOfPolicy(policy)
  }

  #toDetectAgain({ kind, metadata }: ApiObject, isByKarmada = false): void {
    const { namespace = '', name = '' } = metadata
    const key = `${kind} ${keyOf(namespace, name)}`
    // A change by a user applies a lazy policy, whatever Karmada has changed before.
    const isByUser = !isByKarmada || this.#toDetect.get(key)?.isByKarmada === false
    this.#toDetect.set(key, { kind, namespace, name, isByKarmada: !isByUser })
  }

  // The placement that counts for a binding: that of its policy, or what was applied of a lazy one. Undefined without a policy.
  placementOf(binding: Binding): Placement | undefined {
    const { kind, namespace, name } = binding.spec.resource
    const policy = claimedPolicyOf(binding, this.api)
    if (!policy) return undefined
    const isLazy = policy.spec.activationPreference === 'Lazy'
    return (isLazy && this.#applied.get(`${kind} ${keyOf(namespace, name)}`)) || policy.spec.placement
  }

  // Whether the detector has not seen the last change of a workload or of its policy.
  awaitsDetector({ spec: { resource } }: Binding): boolean {
    return this.#toDetect.has(`${resource.kind} ${keyOf(resource.namespace, resource.name)}`)
  }

  #toDetectOwner({ metadata }: Binding): void {
    const [owner] = metadata.ownerReferences ?? []
    const workload = owner && this.api.get(owner.kind, metadata.namespace, owner.name)
    if (workload) this.#toDetectAgain(workload)
  }

  #workloads(): ApiObject[] {
    return WORKLOAD_KINDS.flatMap((kind) => this.api.list(kind))
  }

  #detect({ kind, namespace, name }: WorkloadRef): void {
    const key = `${kind} ${keyOf(namespace, name)}`
    const item = this.#toDetect.get(key)
    if (!item || !this.#toDetect.delete(key)) return
    try {
      const placement = detect(this.api, item, item.isByKarmada)
      if (placement === 'again') this.#toDetect.set(key, item)
      else if (placement) this.#applied.set(key, placement)
    } catch (error) {
      if (!isExpected(error)) throw error
      this.#toDetect.set(key, item)
    }
  }

  #apply(object: ApiObject): void {
    const { namespace, name = '' } = object.metadata
    const before = this.api.get(object.kind, namespace, name)
    if (!before) return void this.api.create('user', object)
    if (before.metadata.deletionTimestamp) return
    // The manifest owns its labels and annotations; what others set stays.
    const { annotations = before.metadata.annotations, labels = before.metadata.labels } = object.metadata
    const metadata = { ...before.metadata, ...(annotations && { annotations }), ...(labels && { labels }) }
    this.api.update('user', { ...before, ...object, metadata })
  }

  #replace(object: ApiObject): void {
    const { namespace, name = '' } = object.metadata
    const { kind } = object
    if (!this.api.get(kind, namespace, name)) return
    this.api.delete('user', kind, namespace, name)
    this.#toRecreate.set(`${kind} ${keyOf(namespace, name)}`, object)
  }

  #recreatable(): string[] {
    return [...this.#toRecreate].flatMap(([key, { kind, metadata }]) =>
      this.api.get(kind, metadata.namespace, metadata.name ?? '') ? [] : [key],
    )
  }

  #recreate(key: string): void {
    const object = this.#toRecreate.get(key)
    if (!object || !this.#recreatable().includes(key)) return
    this.#toRecreate.delete(key)
    this.api.create('user', object)
  }

  #annotate({ key, annotation, value }: { key: string; annotation: string; value: string | null }): void {
    const [namespace, name = ''] = key.split('/')
    if (!this.api.get('ResourceBinding', namespace, name)) return
    const patch = { metadata: { annotations: { [annotation]: value } } }
    this.api.patch('user', { kind: 'ResourceBinding', namespace, name }, patch)
  }

  #suspend({ key, value }: { key: string; value: boolean }): void {
    const [namespace, name = ''] = key.split('/')
    if (!this.api.get('ResourceBinding', namespace, name)) return
    const patch = { spec: { suspension: { scheduling: value || null } } }
    this.api.patch('suspender', { kind: 'ResourceBinding', namespace, name }, patch)
  }

  // pkg/controllers/workloadrebalancer: the time of the rebalancer, if it is later than the last one.
  #rebalance(key: string): void {
    const [namespace, name = ''] = key.split('/')
    const binding = this.api.get<Binding>('ResourceBinding', namespace, name)
    if (!binding) return
    const spec = { ...binding.spec, rescheduleTriggeredAt: this.clock.stamp() }
    this.api.update('workload-rebalancer', { ...binding, spec } as Binding)
  }

  // A new cluster has the taint until Karmada has seen it ready.
  #join(name: string): void {
    const cluster = newCluster(name, this.config)
    const spec = { ...cluster.spec, taints: [{ key: NOT_READY, effect: 'NoSchedule' as const }] }
    this.api.create('user', { ...cluster, spec } as Cluster)
    this.#changeCluster(name, { ready: true })
  }

  #changeCluster(name: string, { taints, ready, kinds, labels, room }: ClusterChange): void {
    const before = this.api.get<Cluster>('Cluster', undefined, name)
    if (!before || before.metadata.deletionTimestamp) return
    const isReady = ready ?? isClusterReady(before)
    // cluster_controller.go: a cluster that is not ready gets the taint; NoExecute only with --enable-no-execute-taint-eviction.
    const byUsers = taints ?? before.spec.taints?.filter(({ key }) => key !== NOT_READY) ?? []
    const effects = this.config.failover === 'Off' ? (['NoSchedule'] as const) : (['NoSchedule', 'NoExecute'] as const)
    const byKarmada: Taint[] = isReady ? [] : effects.map((effect) => ({ key: NOT_READY, effect }))
    const { taints: _taints, ...spec } = before.spec
    const all = [...byUsers, ...byKarmada].map((taint) => this.#stamped(taint, before))
    const metadata = { ...before.metadata, ...(labels && { labels }) }
    this.api.update('user', {
      ...before,
      metadata,
      spec: { ...spec, ...(all.length > 0 && { taints: all }) },
    } as Cluster)
    const rooms = { room: room ?? before.status?.room ?? CAPACITY }
    const status = { ...statusOf(isReady, kinds ?? kindsOf(before)), ...(this.config.rooms && rooms) }
    this.api.patch('cluster-controller', { kind: 'Cluster', name }, { status }, 'status')
  }

  // pkg/apis/cluster/mutation: a NoExecute taint gets the time when it is added. It keeps this time until it is removed.
  #stamped(taint: Taint, before: Cluster): Taint {
    if (taint.effect !== 'NoExecute') return taint
    const present = before.spec.taints?.find(({ key, effect }) => key === taint.key && effect === taint.effect)
    return { ...taint, timeAdded: present?.timeAdded ?? this.clock.stamp() }
  }

  #changeCrd({ kind, served }: { kind: string; served: boolean }): void {
    if (served && !this.api.terminating.has(kind)) this.api.setServed(kind, true)
    if (served || !this.isCrdServed(kind)) return
    this.guarantees.crdDeleted(kind)
    this.api.terminating.add(kind)
    const objects = this.api.list(kind)
    for (const { metadata } of objects) this.api.delete('crd-finalizer', kind, metadata.namespace, metadata.name ?? '')
    if (objects.length > 0) return
    this.api.terminating.delete(kind)
    this.api.setServed(kind, false)
  }

  #restart(what: 'detector' | 'scheduler' | 'leader' | 'replica'): void {
    if (what === 'detector') for (const workload of this.#workloads()) this.#toDetectAgain(workload)
    if (what === 'scheduler') this.scheduler.restart()
    if (what !== 'leader' && what !== 'replica') return
    // The other replica becomes the leader. With `replica`, the old one starts again with a new cache.
    const old = this.replicas.indexOf(this.leader.replica)
    this.leader.stop()
    // A replica without the CRDs is never ready, so it replaces no other.
    if (what === 'replica' && OUR_CRDS.every((kind) => this.isCrdServed(kind))) {
      void this.replicas[old]?.stop()
      this.replicas[old] = this.#newReplica()
    }
    this.leader = this.#newLeader(1 - old)
    this.guarantees.leaderChanged()
  }

  // Both replicas start again with other prices, which move no workload that runs.
  async #changePrices(links: readonly PriceLink[]): Promise<void> {
    await this.#rest()
    if (!OUR_CRDS.every((kind) => this.isCrdServed(kind))) return
    const before = this.#running()
    this.#links = links
    this.leader.stop()
    for (const replica of this.replicas) void replica.stop()
    this.replicas.splice(0, 2, this.#newReplica(), this.#newReplica())
    this.leader = this.#newLeader()
    this.guarantees.leaderChanged()
    await this.#rest()
    const after = this.#running()
    for (const [name, clusters] of before) {
      if (after.get(name) === clusters) continue
      throw new Violation('prices-move-nothing', `${name}: new prices move it from ${clusters} to ${after.get(name)}`)
    }
  }

  // The clusters of each binding that has some.
  #running(): Map<string, string> {
    const bindings = this.api.list<Binding>('ResourceBinding').filter(({ spec }) => spec.clusters?.length)
    return new Map(bindings.map((binding) => [nameOf(binding), namesOf(binding.spec.clusters).sort().join()]))
  }

  #newReplica(): Replica {
    return new Replica(`replica-${this.#started++}`, this.api, this.clock, this.#links, this.config)
  }

  #newLeader(index = 0): Leader {
    return new Leader(this.replicas[index] as Replica, this.clock, this.catalogs, this.config)
  }

  // Lets every component finish, again at each due time, until nothing happens for REST_MS.
  async #rest(): Promise<void> {
    const endMs = this.clock.now() + REST_MS
    for (;;) {
      await this.#settle()
      const next = [this.leader.nextDueMs(), this.clock.nextTimerMs(), this.controllers.nextTimeoutMs()]
      const dueMs = Math.min(...next.filter((ms) => ms !== undefined))
      if (!(dueMs < endMs)) break
      this.clock.advance(Math.max(REST_STEP_MS, dueMs - this.clock.now() + 1))
    }
    this.clock.advance(Math.max(0, endMs - this.clock.now()))
    await this.#settle()
    this.guarantees.atRest()
  }

  async #ask(action: AskedAction): Promise<void> {
    await this.#rest()
    const isKnown = OUR_CRDS.every((kind) => this.isCrdServed(kind)) && this.api.list('Cluster').length > 0
    if (this.#toDetect.size + this.#toRecreate.size > 0 || !isKnown) return
    const asked = await ask(this, action)
    await this.#do(action)
    await this.#rest()
    checkAnswer(this, action, asked)
  }

  async #settle(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const version = this.api.version
      let done = 0
      for (const action of this.pending(() => round % 2).flat()) {
        done++
        const count = action.do === 'receive' ? { count: 1000 } : {}
        await this.perform({ ...action, ...count } as ComponentAction)
      }
      // The scheduler tries again for ever if a binding cannot be scheduled.
      if (done === 0 || (version === this.api.version && round > 2 && this.#isOnlyRetrying())) return
    }
    throw new Violation('converges', `writes go on after ${MAX_ROUNDS} rounds without a change by users`)
  }

  #isOnlyRetrying(): boolean {
    return this.pending(() => 0)
      .flat()
      .every(({ do: what }) => what === 'schedule' || what === 'detect' || what === 'recreate')
  }
}

const NOT_READY = 'cluster.karmada.io/not-ready'

// An error that an API server may answer. The component tries again.
function isExpected(error: unknown): boolean {
  return [ConflictError, NotFoundError, MissingPrerequisiteError, DeniedError].some((type) => error instanceof type)
}

export function clusterNamesOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `m${i + 1}`)
}

function newCluster(name: string, { links }: WorldConfig): Cluster {
  const number = Number(name.slice(1))
  return {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels: { tier: number % 2 ? 'core' : 'edge' }, finalizers: ['karmada.io/cluster-controller'] },
    spec: { region: `r${number % 2}`, ...(links && { provider: name }) },
    status: statusOf(true, WORKLOAD_KINDS),
  }
}

function statusOf(isReady: boolean, kinds: readonly string[]): NonNullable<Cluster['status']> {
  const inGroup = (groupVersion: string, candidates: string[]) => ({
    groupVersion,
    resources: candidates.filter((kind) => kinds.includes(kind)).map((kind) => ({ kind })),
  })
  return {
    conditions: [
      { type: 'Ready', status: isReady ? 'True' : 'False' },
      { type: 'CompleteAPIEnablements', status: 'True' },
    ],
    apiEnablements: [inGroup('apps/v1', ['Deployment', 'StatefulSet']), inGroup('batch/v1', ['Job'])],
  }
}

function kindsOf({ status }: Cluster): string[] {
  return (status?.apiEnablements ?? []).flatMap(({ resources }) => resources.map(({ kind }) => kind))
}

function isClusterReady({ status }: Cluster): boolean {
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}
