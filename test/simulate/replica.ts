// A replica of Lodestone: its cache, which lags behind the API server, and its webhooks. The code of all three is that of src.
import jsonPatch from 'fast-json-patch'
import type { AdmissionReview } from '../../src/api/admission.ts'
import { groupOf, type K8sObject, type ResourceType } from '../../src/api/meta.ts'
import { type KarmadaRules, newestRules } from '../../src/core/karmada-rules.ts'
import { openTransferMatrix, type TransferMatrix } from '../../src/core/transfer-cost/matrix.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { admissionSettings } from '../../src/server/admission.fake.ts'
import { serveWebhook } from '../../src/server/admission.ts'
import type { Serve } from '../../src/server/call.ts'
import { CachedStore, type KindCache } from '../../src/store/cache/cached-store.ts'
import { endsObject } from '../../src/store/cluster/watch/absence.ts'
import { kindsFor } from '../../src/store/kinds/cached-kinds.ts'
import { completeObserver } from '../../src/store/observer.ts'
import type { ObjectName, ObjectStore, PatchOptions, UnavailableReason } from '../../src/store/store.ts'
import { silentLog as log } from '../../src/telemetry/logger.fake.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'
import type { Webhook } from '../../src/webhooks/define.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'
import type { WorldConfig } from './actions.ts'
import { type AdmissionCall, type ApiServer, DeniedError, type Feed } from './api-server.ts'
import type { VirtualClock } from './clock.ts'
import type { ApiObject, Binding, Cluster } from './karmada.ts'
import type { PriceLink } from './prices.ts'

const kindsOf = (queues: boolean) =>
  kindsFor({ workloads: SHIPPED_KINDS, dependencies: false, movesData: false, kueue: queues, multiKueue: queues })
const KINDS = kindsOf(false)
const KINDS_OF_QUEUES = kindsOf(true)
// The kinds of this world that Lodestone reviews. The other webhooks are for pods and volumes.
const REVIEWED = ['ResourceBinding', 'PropagationPolicy', 'ClusterPropagationPolicy', 'DataSourceClaim', 'DataSource']
// Of each kind, the mutating ones first, as kube-apiserver calls them.
const WEBHOOKS: readonly [string, readonly Webhook[]][] = REVIEWED.map((kind) => [
  kind,
  allWebhooks(SHIPPED_KINDS)
    .filter(({ resources }) => resources.some((resource) => resource.kind === kind))
    .sort((a, b) => (a.type < b.type ? -1 : 1)),
])
const metrics = openMetrics()

export class Replica extends CachedStore implements ObjectStore {
  readonly name: string
  // The Clusters that this replica has received, with all fields.
  readonly clusters = new Map<string, Cluster>()
  // Its price matrix.
  readonly links: readonly PriceLink[]
  readonly matrix: TransferMatrix | undefined
  // Those of the scheduler of this world, which is that of 1.18; undefined if the replica cannot read them.
  readonly karmadaRules: KarmadaRules | undefined
  readonly #api: ApiServer
  readonly #feed: Feed
  readonly #webhooks: Map<string, readonly { operations: Webhook['operations']; serve: Serve }[]>
  #reviews = 0

  constructor(
    name: string,
    api: ApiServer,
    clock: VirtualClock,
    links: readonly PriceLink[],
    { queues = false, hidesVersion = false }: Pick<WorldConfig, 'queues' | 'hidesVersion'>,
  ) {
    super(
      queues ? KINDS_OF_QUEUES : KINDS,
      completeObserver({
        error: ({ message, error }) => {
          throw new Error(`${message}: ${(error as Error).stack}`)
        },
      }),
    )
    this.name = name
    this.links = links
    this.matrix = openTransferMatrix({ links })
    this.karmadaRules = hidesVersion ? undefined : newestRules
    this.#api = api
    const kinds = [...this.kindCaches.values()].map(({ type }) => type.kind)
    this.#feed = api.openFeed(kinds)
    for (const { type, cache, keep } of this.kindCaches.values()) {
      const staged = cache.stage()
      for (const raw of api.list(type.kind).filter(isOf(type))) staged.add(keep(raw as K8sObject))
      cache.commit()
      // A real replica that starts then is not ready.
      if (!api.isEstablished(type.kind)) this.#setGone(type, api.serves(type.kind) ? 'Terminating' : 'NotServed')
    }
    for (const cluster of api.list<Cluster>('Cluster')) this.clusters.set(cluster.metadata.name ?? '', cluster)
    this.#webhooks = new Map(
      WEBHOOKS.map(([kind, webhooks]) => [
        kind,
        webhooks.map((webhook) => ({
          operations: webhook.operations,
          serve: serveWebhook(webhook, {
            ...admissionSettings,
            store: this,
            karmadaRules: () => this.karmadaRules,
            matrix: this.matrix,
            now: () => clock.now(),
            log,
            metrics,
          }),
        })),
      ]),
    )
  }

  // The kinds with changes that the replica has not received.
  backlog(): string[] {
    return this.#feed.kinds()
  }

  // Receives up to `count` changes of a kind.
  receive(kind: string, count: number): void {
    for (let i = 0; i < count; i++) {
      const change = this.#feed.take(kind)
      if (!change) return
      for (const kindCache of this.kindCaches.values()) {
        if (kindCache.type.kind === kind) this.#receive(kindCache, change.before, change.after)
      }
    }
  }

  #receive(kindCache: KindCache, before: K8sObject | undefined, after: K8sObject | undefined): void {
    const { type, cache } = kindCache
    const object = after ?? before
    if (!object) {
      this.#servedChanged(kindCache)
      return
    }
    if (!isOf(type)(object) || this.#isUnavailable(type)) return
    const isEnd = endsObject(kindCache, after ? 'MODIFIED' : 'DELETED', object)
    if (isEnd && !this.#api.isEstablished(type.kind)) {
      this.#setGone(type, 'Terminating')
      return
    }
    if (type.kind === 'Cluster') this.#receiveCluster(after as Cluster | undefined, before as Cluster | undefined)
    const published = after
      ? cache.put(kindCache.keep(after))
      : cache.remove(object.metadata.namespace, object.metadata.name ?? '')
    if (published) this.publish(type, published)
  }

  // Sends a write to the webhooks of its kind, as kube-apiserver does. Returns the admitted object, and throws DeniedError.
  review({ before, object }: AdmissionCall): ApiObject {
    if (object.kind === 'ResourceBinding' && !(object as Binding).spec.placement) return object
    const operation = before ? 'UPDATE' : 'CREATE'
    const called = (this.#webhooks.get(object.kind) ?? []).filter(({ operations }) => operations.includes(operation))
    return called.reduce((reviewed, { serve }) => this.#reviewBy(serve, { before, object: reviewed }), object)
  }

  #reviewBy(serve: Serve, { before, object }: Pick<AdmissionCall, 'before' | 'object'>): ApiObject {
    const { apiVersion, kind, metadata } = object
    const [group, version] = [groupOf(apiVersion), apiVersion.split('/').at(-1) ?? '']
    const body = JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: `review-${++this.#reviews}`,
        kind: { group, version, kind },
        resource: { group, version, resource: `${kind.toLowerCase()}s` },
        operation: before ? 'UPDATE' : 'CREATE',
        ...(metadata.namespace && { namespace: metadata.namespace }),
        name: metadata.name,
        object,
        oldObject: before ?? null,
      },
    })
    const answer = serve(body)
    if (answer.status !== 200) throw new Error(`the webhook of ${kind} answered ${answer.status}: ${answer.body}`)
    const { response } = JSON.parse(answer.body) as AdmissionReview
    if (!response?.allowed) throw new DeniedError(response?.status?.message ?? 'denied')
    if (!response.patch) return object
    const operations = JSON.parse(Buffer.from(response.patch, 'base64').toString())
    return jsonPatch.applyPatch(JSON.parse(JSON.stringify(object)), operations).newDocument
  }

  async create<T extends K8sObject>(type: ResourceType<T>, object: T): Promise<T> {
    if (type.kind === 'Event') return object
    return this.#api.create('lodestone', object as ApiObject) as T
  }

  async update<T extends K8sObject>(_type: ResourceType<T>, object: T): Promise<T> {
    return this.#api.update('lodestone', object as ApiObject) as T
  }

  async patch<T extends K8sObject>(
    { kind }: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    { subresource }: PatchOptions = {},
  ): Promise<T> {
    return this.#api.patch('lodestone', { kind, ...reference }, patch, subresource) as T
  }

  async delete<T extends K8sObject>(_type: ResourceType<T>, { kind, metadata }: T): Promise<void> {
    const { namespace, name = '', resourceVersion } = metadata
    const stored = this.#api.get(kind, namespace, name)
    if (stored && stored.metadata.resourceVersion !== resourceVersion) return
    this.#api.delete('lodestone', kind, namespace, name)
  }

  async read<T extends K8sObject>(
    { kind }: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    return this.#api.get(kind, namespace, name) as T | undefined
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#api.closeFeed(this.#feed)
  }

  // As a list and its result: the last known objects of a CRD that is gone stay.
  #servedChanged(kindCache: KindCache): void {
    const { type, absence, cache, optional, keep } = kindCache
    kindCache.served = this.#api.serves(type.kind)
    if (!kindCache.served) {
      if (absence === undefined || (optional && cache.size === 0)) return
      this.#setGone(type, 'NotServed')
      return
    }
    const staged = cache.stage()
    for (const raw of this.#api.list(type.kind).filter(isOf(type))) staged.add(keep(raw as K8sObject))
    const changes = cache.commit()
    this.setUnavailable(type, undefined)
    for (const change of changes) this.publish(type, change)
  }

  #setGone(type: ResourceType, reason: UnavailableReason): void {
    this.setUnavailable(type, { type, reason, message: `the CRD of ${type.kind} is gone` })
  }

  #isUnavailable(type: ResourceType): boolean {
    return this.unavailable().some((other) => other.type === type)
  }

  #receiveCluster(after: Cluster | undefined, before: Cluster | undefined): void {
    const name = (after ?? before)?.metadata.name ?? ''
    if (after) this.clusters.set(name, after)
    else this.clusters.delete(name)
  }
}

function isOf(type: ResourceType): (object: ApiObject) => boolean {
  return ({ apiVersion }) => groupOf(apiVersion) === type.group
}
