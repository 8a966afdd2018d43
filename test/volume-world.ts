/** A small cluster for tests of volumes: a store in memory, and in it a scheduler, kubelets with disks, and movers that do their work. */
import { MOVER_LABEL } from '../src/api/lodestone.ts'
import { type K8sObject, keyOfObject, type ResourceType } from '../src/api/meta.ts'
import { namespaces } from '../src/api/namespace.ts'
import { type Node, nodes, type Taint } from '../src/api/node.ts'
import { persistentVolumeClaims } from '../src/api/persistent-volume.ts'
import { type Pod, type PodStatus, pods } from '../src/api/pod.ts'
import { type VolumeManager, volumeManagers } from '../src/api/volume-manager.ts'
import type { VolumeStatus } from '../src/api/volume-status.ts'
import type { ClockJump } from '../src/base/time/clock-jumps.ts'
import { toTime } from '../src/base/time/timestamp.ts'
import type { MoverDisk } from '../src/core/mover-contract/contract.ts'
import type { ReadMoverResult } from '../src/core/mover-contract/termination-message.ts'
import type { EventAction } from '../src/core/plan.ts'
import { directoryOfMover } from '../src/core/volume-manager/mover/affinity.ts'
import {
  allowsNode,
  hasDiskPressure,
  readNodeHealth,
  toleratesNode,
} from '../src/core/volume-manager/nodes/feasibility.ts'
import { DEFAULT_VOLUME_LIMITS, type VolumeSettings } from '../src/core/volume-manager/rules/settings.ts'
import type { ReconcileContext, ReconcileLoop } from '../src/reconcile/define.ts'
import type { MoverLogs } from '../src/reconcile/volumes/mover-logs.ts'
import { openVolumeEvictionLoop } from '../src/reconcile/volumes/volume-eviction.ts'
import { openVolumeLeftoverLoop } from '../src/reconcile/volumes/volume-leftover.ts'
import { openVolumeManagerLoop } from '../src/reconcile/volumes/volume-manager.ts'
import { ApiError } from '../src/store/cluster/api-error.ts'
import { type FolderStore, openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import { kueueKinds } from '../src/store/kinds/kueue.ts'
import { OverlayStore } from '../src/store/overlay-store.ts'
import { ConflictError, NamespaceTerminatingError, NotFoundError, type ObjectStore } from '../src/store/store.ts'
import { NOW } from './builders.ts'
import { loopSettings } from './loop-settings.ts'

export const VOLUME_SETTINGS: VolumeSettings = {
  allowedRoots: ['/var/datasets'],
  localRoots: ['/mnt/local'],
  allowedLocalNetworks: [],
  allowedMoverImages: [],
  movers: {
    ...DEFAULT_VOLUME_LIMITS.movers,
    image: 'lodestone:test',
    architectures: ['amd64', 'arm64'],
    serviceAccountName: 'lodestone-mover',
    imagePullSecrets: [],
    resources: {},
    keepFree: '1Gi',
    maxInAll: 20,
    maxPerNode: 5,
    prepareTimeoutSeconds: 1800,
    progressTimeoutSeconds: 600,
    preemptAfterSeconds: 1800,
    minBytesPerSecond: 65_536,
    awaitNewNodes: false,
    logLines: 100,
  },
  nodeLossSeconds: 300,
  deletionNodeTimeoutSeconds: 600,
  checks: { intervalSeconds: 0, timeoutSeconds: 3600 },
  eviction: { enabled: true, pauseSeconds: 300, lowWatermarkPercent: 80, minUnusedSeconds: 600 },
}

/** The labels of a node that runs movers. */
export const PLATFORM = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' }

/** The kubelet of a node with disk pressure accepts critical Pods only (pkg/kubelet/eviction, Admit). */
const REJECTED: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'The node had condition: [DiskPressure].' }

function isRejected({ spec }: Pod, node: Node | undefined): boolean {
  return node !== undefined && hasDiskPressure(node) && spec.priorityClassName !== 'system-node-critical'
}

/** The behavior of a mover when it runs: its work, or one of the ways in which it fails. */
export type MoverFate = 'completes' | 'goes on' | PodStatus

/** Thrown in place of a crash of the controller. */
export class Crash extends Error {}

export class VolumeWorld {
  readonly store: FolderStore = openFolderStore({ kinds: [...cachedKinds, ...kueueKinds] })
  readonly events: EventAction[] = []
  /** The data of each directory of each node, by `node:path`. */
  readonly disks = new Map<string, 'part' | 'whole'>()
  /** The directories with changes of pods that were not written back, by `node:path`. */
  readonly changed = new Set<string>()
  /** How often data was downloaded, by `node:path`. */
  readonly downloads = new Map<string, number>()
  /** What must never be: data deleted under a pod, pods led to what is not there, two movers in one directory. */
  readonly violations: string[] = []
  settings = VOLUME_SETTINGS
  now = NOW
  /** How far the clocks of the nodes are ahead of that. */
  nodesAheadMs = 0
  /** The jumps of the clock of `now` (`jump`). */
  #jumps: readonly ClockJump[] = []
  /** What becomes of the next movers. */
  fate: (pod: Pod) => MoverFate = () => 'completes'
  /** Whether the nodes have room for a mover. */
  hasRoom: (pod: Pod) => boolean = () => true
  /** The disk of a node, as its movers report it; undefined for movers that report none. */
  disk: ((node: string) => MoverDisk) | undefined
  /** Takes the logs of movers. */
  logs: MoverLogs | undefined
  /** The reason why the API server rejects new movers, or the error for a new object. */
  refuse: string | ((type: ResourceType, object: K8sObject) => Error | undefined) | undefined
  /** The error for a change or a deletion of an object. */
  refuseChange: ((type: ResourceType, name: string) => Error | undefined) | undefined
  /** The namespaces that are being deleted: the API server rejects every new object in them. */
  readonly terminating = new Set<string>()
  /** How often the API server rejected a new object. */
  rejected = 0
  /** The number of writes before the controller crashes. */
  writesLeft = Number.POSITIVE_INFINITY
  #forged = 0
  /** The old objects that the controller reads while its watches are behind. */
  #view: OverlayStore | undefined
  #loop = this.#openLoop()
  /** The loop of the leader before the last restart, with its memory. */
  #former = this.#loop
  #eviction = openVolumeEvictionLoop(() => this.settings)
  #leftovers = openVolumeLeftoverLoop(() => this.settings)

  async start(...names: string[]): Promise<this> {
    await this.store.start(new AbortController().signal)
    for (const name of names) await this.addNode(name)
    return this
  }

  /** A node that is ready, with what is given on top. */
  async addNode(
    name: string,
    { labels = {} as Record<string, string>, conditions = [] as object[] } = {},
  ): Promise<void> {
    const ready = { type: 'Ready', status: 'True' }
    const node = {
      metadata: { name, labels: { ...PLATFORM, 'kubernetes.io/hostname': name, ...labels } },
      status: { conditions: [ready, ...conditions] },
    }
    await this.store.create(nodes, { apiVersion: 'v1', kind: 'Node', ...node } as Node)
  }

  async setCondition(name: string, type: string, status: string): Promise<void> {
    const lastTransitionTime = new Date(this.now).toISOString()
    const other = type === 'Ready' ? [] : [{ type: 'Ready', status: 'True' }]
    const conditions = [...other, { type, status, lastTransitionTime }]
    await this.store.patch(nodes, { name }, { status: { conditions } }, { subresource: 'status' })
  }

  async taint(name: string, ...taints: Taint[]): Promise<void> {
    await this.store.patch(nodes, { name }, { spec: { taints } })
  }

  async removeNode(name: string): Promise<void> {
    const node = await this.store.read(nodes, undefined, name)
    if (node) await this.store.delete(nodes, node)
    for (const pod of this.movers()) if (pod.spec.nodeName === name) await this.remove(pods, pod)
    for (const key of this.disks.keys()) if (key.startsWith(`${name}:`)) this.disks.delete(key)
    for (const key of this.changed) if (key.startsWith(`${name}:`)) this.changed.delete(key)
  }

  /** Creates a pod that mounts the directory, on this node or unscheduled. */
  async use(name: string, path: string, nodeName?: string): Promise<void> {
    await this.store.create(pods, podOf(name, path, nodeName))
  }

  async end(name: string): Promise<void> {
    const patch = { status: this.#endedNow() }
    await this.store.patch(pods, { namespace: 'default', name }, patch, { subresource: 'status' })
  }

  /** Creates a pod that has already ended when the controller first sees it. */
  async cameAndWent(name: string, path: string, nodeName: string): Promise<void> {
    await this.store.create(pods, { ...podOf(name, path, nodeName), status: this.#endedNow() })
  }

  async useOnce(name: string, path: string, nodeName: string): Promise<void> {
    if (!(await this.store.read(pods, 'default', name))) await this.use(name, path, nodeName)
  }

  /** A pod changes data of a directory on a node. */
  write(path: string, nodeName: string): void {
    this.changed.add(`${nodeName}:${path}`)
  }

  /** A user creates a Pod that looks like an ended mover with another name, and says that its work is done. */
  async forgeMover(): Promise<void> {
    const [real] = this.movers().filter(({ metadata }) => !metadata.name?.startsWith('forged'))
    if (!real) return
    const { name = '', namespace, labels, annotations, ownerReferences } = real.metadata
    const message = moverSays({ outcome: 'completed', bytes: 4096, files: 2 })
    const status = ended('Succeeded', { exitCode: 0, message, finishedAt: this.#timeOfNodes() })
    const metadata = { name: `forged-${name}-${this.#forged++}`, namespace, labels, annotations, ownerReferences }
    await this.store.create(pods, { ...real, metadata, status } as Pod)
  }

  async removeForged(): Promise<void> {
    for (const pod of this.movers()) if (pod.metadata.name?.startsWith('forged')) await this.remove(pods, pod)
  }

  async unuse(name: string): Promise<void> {
    const pod = await this.store.read(pods, 'default', name)
    if (pod) await this.store.delete(pods, pod)
  }

  async unlabel(name: string): Promise<void> {
    const node = await this.store.read(nodes, undefined, name)
    const own = Object.keys(node?.metadata.labels ?? {}).filter((label) => !Object.hasOwn(PLATFORM, label))
    const labels = Object.fromEntries(own.map((label) => [label, null]))
    if (node) await this.store.patch(nodes, { name }, { metadata: { labels } })
  }

  async change(patch: Record<string, unknown>, name = 'sales'): Promise<void> {
    await this.store.patch(volumeManagers, { namespace: 'default', name }, patch)
  }

  async deleteManager(name = 'sales'): Promise<void> {
    const manager = await this.manager(name)
    if (manager) await this.store.delete(volumeManagers, manager)
  }

  async addNamespace(name: string): Promise<void> {
    const metadata = { name, finalizers: ['kubernetes'] }
    await this.store.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata })
  }

  /**
   * `kubectl delete namespace`: the namespace controller deletes what is in it. Without a Namespace in the store, it is as with a cache that
   * is behind.
   */
  async deleteNamespace(name = 'default'): Promise<void> {
    this.terminating.add(name)
    const namespace = await this.store.read(namespaces, undefined, name)
    if (namespace) await this.store.delete(namespaces, namespace)
    for (const { object, type } of this.store.objects().map(({ object }) => ({ object, type: CONTENT[object.kind] }))) {
      if (type && object.metadata.namespace === name) await this.store.delete(type, object)
    }
  }

  /** The namespace is gone; another one may have its name. */
  async endNamespace(name = 'default'): Promise<void> {
    await this.store.patch(namespaces, { name }, { metadata: { finalizers: null } })
    this.terminating.delete(name)
  }

  async manager(name = 'sales'): Promise<VolumeManager | undefined> {
    return this.store.read(volumeManagers, 'default', name)
  }

  async volume(id = 'vol1', name = 'sales'): Promise<VolumeStatus | undefined> {
    return (await this.manager(name))?.status?.volumes?.find((volume) => volume.id === id)
  }

  /** The nodes that have all of a volume and lead pods to it, by the volume's own word for them. */
  async nodesOf(id = 'vol1', name = 'sales'): Promise<string[]> {
    const volume = await this.volume(id, name)
    return [...this.store.list(nodes)]
      .filter((node) => volume?.nodeAffinity && allowsNode(volume.nodeAffinity, node))
      .map(({ metadata }) => metadata.name ?? '')
      .sort()
  }

  /** Another client removes the Pods of all movers, and the controller learns only of that. */
  async loseMovers(): Promise<void> {
    for (const pod of this.movers()) {
      await this.remove(pods, pod)
      this.#loop.observe?.({ type: pods, before: pod }, this.store)
    }
  }

  movers(): Pod[] {
    return this.#raw<Pod>('Pod').filter(({ metadata }) => metadata.labels?.[MOVER_LABEL] !== undefined)
  }

  /** One look of the controller at a VolumeManager. A conflict is what it is in the loop: another look. */
  async reconcile(name = 'sales'): Promise<number | undefined> {
    const key = name.includes('/') ? name : `default/${name}`
    try {
      return await this.#loop.reconcile(key, this.#context())
    } catch (error) {
      if (error instanceof ConflictError || error instanceof NotFoundError) return 0
      throw error
    }
  }

  /** The former leader, which does not know yet that another one has its place, reconciles once more. */
  async reconcileAsFormer(name = 'sales'): Promise<void> {
    const present = this.#loop
    this.#loop = this.#former
    try {
      await this.reconcile(name)
    } finally {
      this.#loop = present
    }
  }

  /** Returns a reconcile with the present objects of these kinds, for later: as with watches that are behind. */
  remember(types: readonly ResourceType[], name = 'sales'): () => Promise<number | undefined> {
    const old = types.flatMap((type) =>
      this.#raw(type.kind).map((object) => ({ type, object: structuredClone(object) })),
    )
    return async () => {
      const view = new OverlayStore(this.store, cachedKinds)
      for (const type of types)
        for (const { metadata } of [...this.store.list(type)]) {
          view.remove(type, metadata.namespace, metadata.name ?? '')
        }
      for (const { type, object } of old) view.put(type, object)
      this.#view = view
      try {
        return await this.reconcile(name)
      } finally {
        this.#view = undefined
      }
    }
  }

  async evict(node: string): Promise<number | undefined> {
    return this.#eviction.reconcile(node, this.#context())
  }

  /** Reconciles every leftover once. */
  async deleteLeftovers(): Promise<void> {
    for (const key of this.#leftovers.allKeys(this.store)) {
      if (key !== undefined) await this.#leftovers.reconcile(key, this.#context())
    }
  }

  /** The controller dies, and another one takes its place: what is not in the store is forgotten. */
  restart(): void {
    this.writesLeft = Number.POSITIVE_INFINITY
    this.#former = this.#loop
    this.#loop = this.#openLoop()
    this.#eviction = openVolumeEvictionLoop(() => this.settings)
    this.#leftovers = openVolumeLeftoverLoop(() => this.settings)
  }

  /** One step of scheduler and kubelets: movers find nodes, begin, and end as they are fated to. */
  async live(): Promise<void> {
    for (const pod of this.movers()) {
      const phase = pod.status?.phase
      if (phase !== 'Succeeded' && phase !== 'Failed') await this.#liveOn(pod)
    }
  }

  async #liveOn(pod: Pod): Promise<void> {
    const node = this.store.get(nodes, undefined, pod.spec.nodeName ?? '')
    // A node that is not ready starts and ends nothing.
    if (node && !readNodeHealth(node).isReady) return
    if (!pod.spec.nodeName) await this.#schedule(pod)
    else if (pod.status?.phase === 'Running') await this.#finish(pod)
    else await this.setStatus(pod, isRejected(pod, node) ? REJECTED : { phase: 'Running' })
  }

  /** As with data that is small: each mover finds a node, runs and ends before the scheduler looks at the next. */
  async rush(): Promise<void> {
    const isOver = ({ status }: Pod) => status?.phase === 'Succeeded' || status?.phase === 'Failed'
    for (const { metadata } of this.movers().filter((pod) => !isOver(pod))) {
      const now = () => this.movers().find((pod) => pod.metadata.name === metadata.name)
      for (let pod = now(), steps = 0; pod && !isOver(pod) && steps < 3; pod = now(), steps++) await this.#liveOn(pod)
    }
  }

  async setStatus(pod: Pod, status: PodStatus): Promise<void> {
    const { namespace, name = '' } = pod.metadata
    await this.store.patch(pods, { ...(namespace && { namespace }), name }, { status }, { subresource: 'status' })
  }

  /** Controller and cluster take turns until neither has anything to do; gives the number of turns. */
  async settle(...names: string[]): Promise<number> {
    const all = names.length > 0 ? names : [...this.store.list(volumeManagers)].map(keyOfObject)
    for (let turn = 0; turn < 200; turn++) {
      const before = this.#version()
      for (const name of all) await this.reconcile(name)
      await this.deleteLeftovers()
      await this.live()
      this.check()
      if (this.#version() === before) return turn
      this.now += 1000
    }
    throw new Error(`nothing settles: ${JSON.stringify((await this.manager())?.status, undefined, 1)}`)
  }

  async pass(seconds: number): Promise<number> {
    this.now += seconds * 1000
    return this.settle()
  }

  /** The clock jumps forward: no time passes in which a mover or a node could do anything. */
  jump(seconds: number): void {
    this.now += seconds * 1000
    this.#jumps = [...this.#jumps, { to: this.now, byMs: seconds * 1000 }]
  }

  async remove<T extends K8sObject>(type: ResourceType<T>, object: T): Promise<void> {
    const { namespace, name = '' } = object.metadata
    const stored = await this.store.read(type, namespace, name)
    if (stored) await this.store.delete(type, stored)
  }

  async #schedule(pod: Pod): Promise<void> {
    const node = (this.hasRoom(pod) ? [...this.store.list(nodes)] : [])
      .filter((one) => allowsNode(pod.spec.affinity?.nodeAffinity ?? undefined, one))
      .filter((one) => toleratesNode(pod.spec.tolerations, one))
      .filter((one) => !this.movers().some((other) => isApart(pod, other, one)))
      // The node controller taints such nodes.
      .filter(
        (one) =>
          (readNodeHealth(one).isReady && !hasDiskPressure(one)) ||
          pod.spec.tolerations?.some(({ key }) => key === undefined),
      )
      .map(({ metadata }) => metadata.name ?? '')
      .sort()[0]
    const { namespace, name = '' } = pod.metadata
    if (node) await this.store.patch(pods, { ...(namespace && { namespace }), name }, { spec: { nodeName: node } })
    else {
      const message = '0 nodes are available'
      const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
      await this.setStatus(pod, { phase: 'Pending', conditions: [unscheduled] })
    }
  }

  async #finish(pod: Pod): Promise<void> {
    const fate = this.fate(pod)
    if (fate === 'goes on') return undefined
    const place = placeOf(pod)
    const [verb] = pod.spec.containers[0]?.args?.slice(1) ?? []
    if (fate !== 'completes') {
      if (verb === 'download' && !this.disks.has(place)) this.disks.set(place, 'part')
      return this.setStatus(pod, fate)
    }
    if (verb === 'prepare' && place.includes(':/')) this.disks.set(place, 'whole')
    if (verb === 'delete') {
      if (this.#isUsed(place)) this.violations.push(`${place} was deleted under a pod`)
      if (this.changed.has(place)) this.violations.push(`${place} was deleted with changes that were not written back`)
      this.disks.delete(place)
    }
    if (verb === 'upload') this.changed.delete(place)
    if (verb === 'download' && this.disks.get(place) !== 'whole') {
      this.downloads.set(place, (this.downloads.get(place) ?? 0) + 1)
      this.disks.set(place, 'whole')
    }
    const disk = this.disk && { disk: this.disk(pod.spec.nodeName ?? '') }
    const message = moverSays({ outcome: 'completed', bytes: 4096, files: 2, ...disk })
    await this.setStatus(pod, ended('Succeeded', { exitCode: 0, message, finishedAt: this.#timeOfNodes() }))
  }

  /** Whether every label leads to data, and every directory has one mover at most. */
  check(): void {
    const running = this.movers().filter(({ status }) => status?.phase === 'Running')
    const places = running.map(placeOf)
    for (const place of places.filter((one, i) => places.indexOf(one) < i)) {
      this.violations.push(`two movers run in ${place}`)
    }
    for (const { metadata } of this.store.list(nodes)) {
      const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith('vck.intelai.org/'))
      const whole = [...this.disks].filter(
        ([place, state]) => state === 'whole' && place.startsWith(`${metadata.name}:`),
      )
      if (labels.length > whole.length) this.violations.push(`${metadata.name} has a label and no data`)
    }
  }

  #endedNow(): PodStatus {
    return ended('Succeeded', { exitCode: 0, finishedAt: this.#timeOfNodes() })
  }

  #timeOfNodes(): string {
    return toTime(this.now + this.nodesAheadMs)
  }

  #isUsed(place: string): boolean {
    return this.#raw<Pod>('Pod').some(
      (pod) =>
        pod.metadata.labels?.[MOVER_LABEL] === undefined &&
        pod.status?.phase !== 'Succeeded' &&
        `${pod.spec.nodeName}:${pod.spec.volumes?.[0]?.hostPath?.path.replace(/\/data$/, '')}` === place,
    )
  }

  #raw<T extends K8sObject>(kind: string): T[] {
    return this.store
      .objects()
      .map(({ object }) => object as T)
      .filter((object) => object.kind === kind)
  }

  #version(): string {
    return this.store
      .objects()
      .map(({ object }) => object.metadata.resourceVersion)
      .join()
  }

  #errorOf(member: string, args: readonly unknown[]): Error | undefined {
    const [type, of] = args as [ResourceType, K8sObject & { name?: string }]
    if (member === 'create') return this.#refusalOf(type, of)
    const isChange = member === 'patch' || member === 'delete'
    return isChange ? this.refuseChange?.(type, of.name ?? of.metadata.name ?? '') : undefined
  }

  #refusalOf(type: ResourceType, object: K8sObject): Error | undefined {
    const { namespace = '', name = '' } = object.metadata
    if (this.terminating.has(namespace)) {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`
      return new NamespaceTerminatingError(`${type.plural} "${name}" is forbidden: ${why}`)
    }
    if (typeof this.refuse === 'function') return this.refuse(type, object)
    return type.kind === pods.kind && this.refuse !== undefined ? forbidden(this.refuse) : undefined
  }

  #openLoop(): ReconcileLoop {
    return openVolumeManagerLoop(() => this.settings, {
      collect: (pod, lines) => this.logs?.collect(pod, lines) ?? true,
      forget: (pod) => this.logs?.forget(pod),
      stop: async () => this.logs?.stop(),
    })
  }

  #context(): ReconcileContext {
    return {
      ...loopSettings,
      store: this.#mortal(),
      events: { record: (event) => void this.events.push(event) },
      now: () => this.now,
      jumps: () => this.#jumps,
      signal: new AbortController().signal,
      enqueue: () => undefined,
      moves: { take: () => 0, withdraw: () => {} },
      observer: { queryEnded: () => undefined, moved: () => undefined },
    }
  }

  /** The store as a controller sees it that may die at any write. */
  #mortal(): ObjectStore {
    const die = () => {
      if (this.writesLeft-- <= 0) throw new Crash()
    }
    return new Proxy<ObjectStore>(this.store, {
      get: (store, member: keyof ObjectStore) => {
        const isRead = ['get', 'list', 'byIndex', 'size'].includes(member)
        const reader: ObjectStore = (isRead && this.#view) || store
        const method = reader[member] as (...args: unknown[]) => unknown
        return (...args: unknown[]) => {
          if (['create', 'update', 'patch', 'delete'].includes(member)) die()
          const error = this.#errorOf(member, args)
          if (error === undefined) return method.apply(reader, args)
          this.rejected++
          return Promise.reject(error)
        }
      },
    })
  }
}

/** As kube-apiserver rejects an object because of a policy or a quota. */
export function forbidden(message: string): ApiError {
  return new ApiError({ status: 403, reason: 'Forbidden', message })
}

/** What a namespace controller deletes in a test. */
const CONTENT: Readonly<Record<string, ResourceType>> = {
  VolumeManager: volumeManagers,
  Pod: pods,
  PersistentVolumeClaim: persistentVolumeClaims,
}

/** A termination message as movers write it. */
export function moverSays(result: Partial<ReadMoverResult>): string {
  const common = { v: 1, verb: 'download', outcome: 'failed', attempt: 1, bytes: 0, files: 0, movedBytes: 0 }
  return JSON.stringify({ ...common, message: result.code ?? '', ...result })
}

/** A pod that has ended. */
export function ended(phase: 'Succeeded' | 'Failed', terminated: object, reason?: string): PodStatus {
  return { phase, ...(reason && { reason }), containerStatuses: [{ name: 'mover', state: { terminated } }] }
}

function podOf(name: string, path: string, nodeName: string | undefined): Pod {
  const spec = { containers: [], volumes: [{ name: 'data', hostPath: { path } }], ...(nodeName && { nodeName }) }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec }
}

function placeOf(pod: Pod): string {
  return `${pod.spec.nodeName}:${directoryOfMover(pod) ?? pod.metadata.name}`
}

/** Whether a pod may not come to this node because of another one: by its own word, and not when that one has ended. */
function isApart(pod: Pod, other: Pod, { metadata }: Node): boolean {
  const isOver = other.status?.phase === 'Succeeded' || other.status?.phase === 'Failed'
  const terms = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  return (
    !isOver &&
    other.spec.nodeName === metadata.name &&
    terms.some(
      ({ labelSelector, namespaces = [pod.metadata.namespace ?? ''] }) =>
        namespaces.includes(other.metadata.namespace ?? '') &&
        Object.entries(labelSelector.matchLabels ?? {}).every(([key, value]) => other.metadata.labels?.[key] === value),
    )
  )
}
