// A model of Kueue with MultiKueue (v0.17.0, pkg/controller): it creates the Workloads of Jobs, reserves quota, and copies a Workload to the
// nominated worker clusters. The first worker that admits it gets it.
import { type ApiServer, keyOf } from './api-server.ts'
import type { VirtualClock } from './clock.ts'
import type { ApiObject, Cluster } from './karmada.ts'

const WRITER = 'kueue'
const CHECK = 'multikueue'
const CONFIG = 'workers'
const API_VERSION = 'kueue.x-k8s.io/v1beta2'

interface Condition {
  type: string
  status: 'True' | 'False'
  reason: string
  message: string
  lastTransitionTime: string
}

export interface QueuedWorkload extends ApiObject {
  status?: {
    conditions?: Condition[]
    admissionChecks?: { name: string; state: string; message: string; lastTransitionTime: string }[]
    nominatedClusterNames?: string[]
    clusterName?: string
  }
}

export interface QueueAction {
  do: 'queue'
  what: 'create' | 'collect' | 'reserve' | 'admit'
  // `namespace/name` of a Job or of its Workload.
  key: string
  // The worker that admits the Workload.
  cluster?: string
}

export class Kueue {
  readonly #api: ApiServer
  readonly #clock: VirtualClock

  constructor(api: ApiServer, clock: VirtualClock) {
    this.#api = api
    this.#clock = clock
  }

  // Every cluster is a worker of the only AdmissionCheck.
  setUp(clusters: readonly string[]): void {
    const create = (kind: string, name: string, spec: object) =>
      this.#api.create('setup', { apiVersion: API_VERSION, kind, metadata: { name }, spec } as ApiObject)
    const parameters = { apiGroup: 'kueue.x-k8s.io', kind: 'MultiKueueConfig', name: CONFIG }
    create('AdmissionCheck', CHECK, { controllerName: 'kueue.x-k8s.io/multikueue', parameters })
    create('MultiKueueConfig', CONFIG, { clusters })
    for (const name of clusters) create('MultiKueueCluster', name, {})
  }

  // Everything that Kueue or a worker would do now.
  pending(): QueueAction[] {
    const created = this.#api.list('Job').flatMap(({ metadata }): QueueAction[] => {
      const { namespace, name = '', deletionTimestamp } = metadata
      const isQueued = deletionTimestamp || this.#api.get('Workload', namespace, workloadNameOf(name))
      return isQueued ? [] : [{ do: 'queue', what: 'create', key: keyOf(namespace, name) }]
    })
    return [...created, ...this.#api.list<QueuedWorkload>('Workload').flatMap((workload) => this.#next(workload))]
  }

  run({ what, key, cluster }: QueueAction): void {
    const [namespace = '', name = ''] = key.split('/')
    if (what === 'create') {
      this.#create(namespace, name)
      return
    }
    const workload = this.#api.get<QueuedWorkload>('Workload', namespace, name)
    if (!workload || !this.#next(workload).some((next) => next.what === what && next.cluster === cluster)) return
    if (what === 'collect') this.#api.delete('garbage-collector', 'Workload', namespace, name)
    else if (what === 'reserve') this.#setStatus(workload, this.#reserved())
    else this.#setStatus(workload, this.#admitted(workload, cluster ?? ''))
  }

  // An eviction resets the checks, the worker and the nomination (pkg/workload).
  preempt(key: string): void {
    const [namespace = '', name = ''] = key.split('/')
    const workload = this.#api.get<QueuedWorkload>('Workload', namespace, name)
    if (workload) this.#setStatus(workload, { conditions: [this.#condition('QuotaReserved', 'False')] })
  }

  #next(workload: QueuedWorkload): QueueAction[] {
    const { metadata, status } = workload
    const key = keyOf(metadata.namespace, metadata.name)
    const [owner] = metadata.ownerReferences ?? []
    const isOwned = this.#api.get('Job', metadata.namespace, owner?.name ?? '')?.metadata.uid === owner?.uid
    if (!isOwned) return [{ do: 'queue', what: 'collect', key }]
    if (!isReserved(workload)) return [{ do: 'queue', what: 'reserve', key }]
    if (status?.clusterName !== undefined) return []
    const connected = (status?.nominatedClusterNames ?? []).filter((cluster) => this.#isConnected(cluster))
    return connected.map((cluster) => ({ do: 'queue', what: 'admit', key, cluster }))
  }

  #create(namespace: string, name: string): void {
    const job = this.#api.get('Job', namespace, name)
    if (!job || job.metadata.deletionTimestamp) return
    const { apiVersion, kind, metadata } = job
    const ownerReferences = [{ apiVersion, kind, name, uid: metadata.uid ?? '', controller: true }]
    const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main' }] } }
    const workload: ApiObject & { spec: object } = {
      apiVersion: API_VERSION,
      kind: 'Workload',
      metadata: { namespace, name: workloadNameOf(name), ownerReferences },
      spec: { podSets: [{ name: 'main', template }] },
    }
    this.#api.create(WRITER, workload)
  }

  #reserved(): QueuedWorkload['status'] {
    const check = { name: CHECK, state: 'Pending', message: '', lastTransitionTime: this.#clock.stamp() }
    return { conditions: [this.#condition('QuotaReserved', 'True')], admissionChecks: [check] }
  }

  // The CRD allows a worker or a nomination, not both.
  #admitted({ status }: QueuedWorkload, clusterName: string): QueuedWorkload['status'] {
    const { nominatedClusterNames: _nominated, conditions = [], admissionChecks = [], ...rest } = status ?? {}
    return {
      ...rest,
      conditions: [...conditions, this.#condition('Admitted', 'True')],
      admissionChecks: admissionChecks.map((check) => ({ ...check, state: 'Ready' })),
      clusterName,
    }
  }

  #condition(type: string, status: 'True' | 'False'): Condition {
    return { type, status, reason: type, message: '', lastTransitionTime: this.#clock.stamp() }
  }

  #setStatus({ kind, metadata, status: before = {} }: QueuedWorkload, status: QueuedWorkload['status']): void {
    const { namespace, name = '', resourceVersion } = metadata
    const removed = Object.fromEntries(Object.keys(before).map((field) => [field, null]))
    const of = { kind, namespace, name }
    this.#api.patch(WRITER, of, { metadata: { resourceVersion }, status: { ...removed, ...status } }, 'status')
  }

  #isConnected(name: string): boolean {
    const cluster = this.#api.get<Cluster>('Cluster', undefined, name)
    return cluster?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  }
}

// Whether Kueue has reserved quota, so that MultiKueue waits for a worker.
export function isReserved({ status }: QueuedWorkload): boolean {
  return status?.conditions?.some((one) => one.type === 'QuotaReserved' && one.status === 'True') ?? false
}

function workloadNameOf(job: string): string {
  return `job-${job}`
}
