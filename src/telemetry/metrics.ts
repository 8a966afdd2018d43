/** All metrics of Lodestone. Names are those of controller-runtime where it has the metric. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type ApiMetrics, openApiMetrics } from './api-metrics.ts'
import { readBuildInfo } from './build-info.ts'
import { type CallCounter, openCallMetrics } from './call-metrics.ts'
import { openServerMetrics, type ServerMetrics } from './server-metrics.ts'

export interface Metrics extends ServerMetrics, ApiMetrics {
  registry: Registry
  countCalls: CallCounter
  /** Sets the source of `lodestone_cached_objects`, which is called at each scrape. */
  observeObjects(read: () => Iterable<{ kind: string; size: number }>): void
  faults: Counter<'webhook'>
  slowReviews: Counter<'webhook'>
  lists: Counter<'kind'>
  watches: Counter<'kind' | 'result'>
  relists: Counter<'kind' | 'reason'>
  storeErrors: Counter<'kind'>
  registrations: Counter<'result'>
  registrationKept: Gauge<'cause'>
  reconciles: Counter<'controller' | 'result'>
  reconcileSeconds: Histogram<'controller'>
  queueSeconds: Histogram<'name'>
  /** Sets the source of `workqueue_depth`, which is called at each scrape. */
  observeQueues(read: () => Iterable<{ loop: string; depth: number }>): void
  leaderStatus: Gauge<'name'>
  queries: Histogram<'system' | 'result'>
  moves: Counter
  holdsNotHonored: Counter<'result'>
  evictions: Counter
  events: Counter<'result'>
  systemHealthy: Gauge<'system'>
  /** Sets the source of the metrics of claims, holds and sources, which is called at each scrape. */
  observeDomain(read: () => DomainMetrics): void
  certificateExpiry: Gauge
  credentialsExpiry: Gauge
  missingFeatures: Gauge<'feature'>
}

export interface DomainMetrics {
  /** Claims by phase. */
  claims: Record<string, number>
  onHold: number
  /** Seconds since the least recently confirmed location of each system was confirmed. */
  sourceAges: Record<string, number>
}

/** Opens all metrics in a new registry, so that two servers in one process (tests) do not share counts. */
export function openMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'lodestone_build_info',
    help: 'Always 1; the labels tell what is running',
    labelNames: ['version', 'commit', 'node'],
    registers,
  }).set({ ...readBuildInfo() }, 1)
  let readDomain: () => DomainMetrics = () => ({ claims: {}, onHold: 0, sourceAges: {} })
  new Gauge({
    name: 'lodestone_claims',
    help: 'DataSourceClaims by phase',
    labelNames: ['phase'],
    registers,
    collect() {
      this.reset()
      for (const [phase, count] of Object.entries(readDomain().claims)) this.labels(phase).set(count)
    },
  })
  new Gauge({
    name: 'lodestone_holds',
    help: 'Workloads on hold',
    registers,
    collect() {
      this.set(readDomain().onHold)
    },
  })
  new Gauge({
    name: 'lodestone_source_age_seconds',
    help: 'Age of the oldest confirmed location, by system',
    labelNames: ['system'],
    registers,
    collect() {
      this.reset()
      for (const [system, age] of Object.entries(readDomain().sourceAges)) this.labels(system).set(age)
    },
  })
  let readQueues: () => Iterable<{ loop: string; depth: number }> = () => []
  new Gauge({
    name: 'workqueue_depth',
    help: 'Keys that wait in the queue',
    labelNames: ['name'],
    registers,
    collect() {
      for (const { loop, depth } of readQueues()) this.labels(loop).set(depth)
    },
  })
  let readObjects: () => Iterable<{ kind: string; size: number }> = () => []
  new Gauge({
    name: 'lodestone_cached_objects',
    help: 'Cached objects',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, size } of readObjects()) this.labels(kind).set(size)
    },
  })
  return {
    registry,
    countCalls: openCallMetrics(registers),
    ...openServerMetrics(registers),
    ...openApiMetrics(registers),
    observeObjects(read) {
      readObjects = read
    },
    faults: new Counter({
      name: 'controller_runtime_webhook_panics_total',
      help: 'Reviews that failed inside and were answered with HTTP 500',
      labelNames: ['webhook'],
      registers,
    }),
    slowReviews: new Counter({
      name: 'lodestone_slow_reviews_total',
      help: 'Reviews that took longer than 100 ms to decide',
      labelNames: ['webhook'],
      registers,
    }),
    lists: new Counter({ name: 'lodestone_lists_total', help: 'Complete lists', labelNames: ['kind'], registers }),
    watches: new Counter({
      name: 'lodestone_watches_total',
      help: 'Ended watches, by result',
      labelNames: ['kind', 'result'],
      registers,
    }),
    relists: new Counter({
      name: 'lodestone_relists_total',
      help: 'Attempts to list, by reason',
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
      help: 'Checks of the webhook registration, by result',
      labelNames: ['result'],
      registers,
    }),
    registrationKept: new Gauge({
      name: 'lodestone_registration_kept',
      help: 'Whether the registration of another version or configuration is kept, by cause: 1 or 0',
      labelNames: ['cause'],
      registers,
    }),
    reconciles: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Runs of a loop for one key, by result',
      labelNames: ['controller', 'result'],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of a run',
      labelNames: ['controller'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
      registers,
    }),
    queueSeconds: new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'How long a key waited in the queue',
      labelNames: ['name'],
      buckets: [0.001, 0.01, 0.1, 1, 10, 60, 600],
      registers,
    }),
    observeQueues(read) {
      readQueues = read
    },
    queries: new Histogram({
      name: 'lodestone_locality_query_seconds',
      help: 'Duration of queries to data systems, by result',
      labelNames: ['system', 'result'],
      buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
      registers,
    }),
    systemHealthy: new Gauge({
      name: 'lodestone_system_healthy',
      help: 'Whether the last health check of a data system passed: 1 or 0',
      labelNames: ['system'],
      registers,
    }),
    moves: new Counter({
      name: 'lodestone_moves_total',
      help: 'Scheduled workloads that were moved to their data',
      registers,
    }),
    holdsNotHonored: new Counter({
      name: 'lodestone_holds_not_honored_total',
      help: 'Workloads that were scheduled on hold, by result; restored: they are on hold again',
      labelNames: ['result'],
      registers,
    }),
    evictions: new Counter({
      name: 'lodestone_volume_evictions_total',
      help: 'Replicas of volumes that were deleted because their node was short of disk',
      registers,
    }),
    events: new Counter({
      name: 'lodestone_events_total',
      help: 'Events by result; dropped: too many were waiting',
      labelNames: ['result'],
      registers,
    }),
    observeDomain(read) {
      readDomain = read
    },
    missingFeatures: new Gauge({
      name: 'lodestone_missing_features',
      help: 'Features that the API server or Karmada lacks: 1 each',
      labelNames: ['feature'],
      registers,
    }),
    leaderStatus: new Gauge({
      name: 'leader_election_master_status',
      help: 'Whether this replica is the leader, which runs the loops: 1 or 0',
      labelNames: ['name'],
      registers,
    }),
    credentialsExpiry: new Gauge({
      name: 'lodestone_credentials_expiry_timestamp_seconds',
      help: 'Expiry of the credentials for the API server; 0 if they do not expire, or if a plugin renews them',
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'lodestone_certificate_expiry_timestamp_seconds',
      help: 'Expiry of the serving certificate',
      registers,
    }),
  }
}
