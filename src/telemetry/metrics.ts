/** Every metric of Lodestone, declared in one place. Names that dashboards know (controller-runtime's) where there is one. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  registry: Registry
  requests: Counter<'webhook' | 'code'>
  latency: Histogram<'webhook'>
  /** The gauge asks when it is read, instead of being told twice a request. */
  observeInFlight(read: () => number): void
  /** Likewise for how many objects of each kind are in memory. */
  observeObjects(read: () => Iterable<{ kind: string; size: number }>): void
  decisions: Counter<'webhook' | 'result'>
  faults: Counter<'webhook'>
  shed: Counter
  lists: Counter<'kind'>
  watches: Counter<'kind' | 'result'>
  relists: Counter<'kind' | 'reason'>
  storeErrors: Counter<'kind'>
  registrations: Counter<'result'>
  certificateExpiry: Gauge
}

/** Makes a registry of its own, so that two servers in one process (tests) do not share counts. */
export function openMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  let readInFlight = () => 0
  new Gauge({
    name: 'controller_runtime_webhook_requests_in_flight',
    help: 'Admission requests being served',
    registers,
    collect() {
      this.set(readInFlight())
    },
  })
  let readObjects: () => Iterable<{ kind: string; size: number }> = () => []
  new Gauge({
    name: 'lodestone_cached_objects',
    help: 'Objects in memory',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, size } of readObjects()) this.labels(kind).set(size)
    },
  })
  return {
    registry,
    requests: new Counter({
      name: 'controller_runtime_webhook_requests_total',
      help: 'Admission requests by HTTP status code',
      labelNames: ['webhook', 'code'],
      registers,
    }),
    latency: new Histogram({
      name: 'controller_runtime_webhook_latency_seconds',
      help: 'Time from the whole body to the answer',
      labelNames: ['webhook'],
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
      registers,
    }),
    observeInFlight(read) {
      readInFlight = read
    },
    observeObjects(read) {
      readObjects = read
    },
    decisions: new Counter({
      name: 'lodestone_decisions_total',
      help: 'Decisions by result',
      labelNames: ['webhook', 'result'],
      registers,
    }),
    faults: new Counter({
      name: 'controller_runtime_webhook_panics_total',
      help: 'Reviews that failed inside and were answered with HTTP 500',
      labelNames: ['webhook'],
      registers,
    }),
    shed: new Counter({
      name: 'lodestone_requests_shed_total',
      help: 'Requests turned away at the in-flight cap',
      registers,
    }),
    lists: new Counter({ name: 'lodestone_lists_total', help: 'Complete lists read', labelNames: ['kind'], registers }),
    watches: new Counter({
      name: 'lodestone_watches_total',
      help: 'Watches ended, by how',
      labelNames: ['kind', 'result'],
      registers,
    }),
    relists: new Counter({
      name: 'lodestone_relists_total',
      help: 'Lists read again, by why',
      labelNames: ['kind', 'reason'],
      registers,
    }),
    storeErrors: new Counter({
      name: 'lodestone_store_errors_total',
      help: 'Failed reads of the API server or of a manifest',
      labelNames: ['kind'],
      registers,
    }),
    registrations: new Counter({
      name: 'lodestone_registrations_total',
      help: 'Times the webhook registration was looked at, by result',
      labelNames: ['result'],
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'lodestone_certificate_expiry_timestamp_seconds',
      help: 'When the serving certificate expires',
      registers,
    }),
  }
}
