/** Opens the metrics of the table, each under the name that the code uses. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { readBuildInfo } from './build-info.ts'
import { openDomainMetrics } from './domain-metrics.ts'
import { openMetricFactory } from './metric-factory.ts'

/** The state of the queue of a loop. */
export interface QueueState {
  loop: string
  /** Keys that are due and wait. */
  depth: number
  /** For how long the oldest key has been due, and the oldest run has been running; 0 without one. */
  oldestMs: number
  longestRunMs: number
}

export type Metrics = ReturnType<typeof openMetrics>

/** Opens all metrics in a new registry, so that two servers in one process (tests) do not share counts. */
export function openMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { counter, gauge, histogram } = openMetricFactory(registry)
  gauge('lodestone_build_info').set({ ...readBuildInfo() }, 1)
  let readQueues: () => Iterable<QueueState> = () => []
  const depths = gauge('workqueue_depth', () => {
    for (const { loop, depth, oldestMs, longestRunMs } of readQueues()) {
      depths.labels(loop).set(depth)
      oldest.labels(loop).set(oldestMs / 1000)
      longest.labels(loop).set(longestRunMs / 1000)
    }
  })
  const oldest = gauge('lodestone_queue_oldest_seconds')
  const longest = gauge('workqueue_longest_running_processor_seconds')
  let readObjects: () => Iterable<{ kind: string; size: number }> = () => []
  gauge('lodestone_cached_objects', (objects) => {
    for (const { kind, size } of readObjects()) objects.labels(kind).set(size)
  })
  let readUnavailable: () => Iterable<{ kind: string; reason: string }> = () => []
  gauge('lodestone_kind_unavailable', (kinds) => {
    kinds.reset()
    for (const { kind, reason } of readUnavailable()) kinds.labels(kind, reason).set(1)
  })
  let readContacts: () => Iterable<{ kind: string; ageMs: number }> = () => []
  gauge('lodestone_watch_age_seconds', (ages) => {
    for (const { kind, ageMs } of readContacts()) ages.labels(kind).set(ageMs / 1000)
  })
  return {
    registry,
    countCalls: openCallMetrics(registry),
    ...openServerMetrics(registry),
    ...openDomainMetrics(registry),
    /** Sets the source of `lodestone_cached_objects`, which is called at each scrape. */
    observeObjects(read: typeof readObjects) {
      readObjects = read
    },
    /** Sets the source of `lodestone_kind_unavailable`, which is called at each scrape. */
    observeUnavailable(read: typeof readUnavailable) {
      readUnavailable = read
    },
    /** Sets the source of `lodestone_watch_age_seconds`, which is called at each scrape. */
    observeContacts(read: typeof readContacts) {
      readContacts = read
    },
    /** Sets the source of the depths and ages of queues, which is called at each scrape. */
    observeQueues(read: typeof readQueues) {
      readQueues = read
    },
    faults: counter('controller_runtime_webhook_panics_total'),
    slowReviews: counter('lodestone_slow_reviews_total'),
    lists: counter('lodestone_lists_total'),
    watches: counter('lodestone_watches_total'),
    relists: counter('lodestone_relists_total'),
    storeErrors: counter('lodestone_store_errors_total'),
    apiRequests: counter('rest_client_requests_total'),
    webhooksSeen: gauge('lodestone_webhooks_seen'),
    webhookProbes: counter('lodestone_webhook_probes_total'),
    registrations: counter('lodestone_registrations_total'),
    registrationKept: gauge('lodestone_registration_kept'),
    reconciles: counter('controller_runtime_reconcile_total'),
    reconcileSeconds: histogram('controller_runtime_reconcile_time_seconds'),
    queueSeconds: histogram('workqueue_queue_duration_seconds'),
    queueAdds: counter('workqueue_adds_total'),
    queueRetries: counter('workqueue_retries_total'),
    queries: histogram('lodestone_locality_query_seconds'),
    systemHealthy: gauge('lodestone_system_healthy'),
    moves: counter('lodestone_moves_total'),
    movesDelayed: counter('lodestone_moves_delayed_total'),
    holdsNotHonored: counter('lodestone_holds_not_honored_total'),
    narrowingSeconds: histogram('lodestone_claim_narrowing_seconds'),
    moverSeconds: histogram('lodestone_mover_duration_seconds'),
    moverFailures: counter('lodestone_mover_failures_total'),
    moverBytes: counter('lodestone_mover_bytes_total'),
    evictions: counter('lodestone_volume_evictions_total'),
    events: counter('lodestone_events_total'),
    missingFeatures: gauge('lodestone_missing_features'),
    leaderStatus: gauge('leader_election_master_status'),
    credentialsExpiry: gauge('lodestone_credentials_expiry_timestamp_seconds'),
    certificateExpiry: gauge('lodestone_certificate_expiry_timestamp_seconds'),
  }
}

/** A call with a response. */
interface CountedCall {
  status: number
  /** Absent when nothing was decided, as for a malformed request. */
  decision?: string | undefined
  seconds: number
}

/** Returns a function that counts the calls of a webhook. */
type CallCounter = (webhook: string) => (call: CountedCall) => void

export function openCallMetrics(registry: Registry): CallCounter {
  const { counter, histogram } = openMetricFactory(registry)
  const requests = counter('controller_runtime_webhook_requests_total')
  const latency = histogram('controller_runtime_webhook_latency_seconds')
  const decisions = counter('lodestone_decisions_total')
  return (webhook) => {
    const latencies = latency.labels(webhook)
    const requestsWith = remember((status: number) => requests.labels(webhook, String(status)))
    const decisionsFor = remember((result: string) => decisions.labels(webhook, result))
    return ({ status, decision, seconds }) => {
      requestsWith(status).inc()
      if (decision !== undefined) decisionsFor(decision).inc()
      latencies.observe(seconds)
    }
  }
}

/** Caches the counter of each label, because the lookup costs more than the count. */
function remember<Label, T>(find: (label: Label) => T): (label: Label) => T {
  const found = new Map<Label, T>()
  return (label) => {
    let known = found.get(label)
    if (known === undefined) {
      known = find(label)
      found.set(label, known)
    }
    return known
  }
}

/** The load of an admission server. */
interface ServerLoad {
  /** Complete requests that wait for their decision. */
  inFlight: number
  /** Bytes of bodies and answers. */
  bytes: number
  connections: number
}

/** The limit at which a request was rejected. */
type ShedReason = 'in-flight' | 'bytes' | 'connections'

/** In bytes. Nearly all reviews are smaller, and should be answered within 10 ms. */
const SMALL_BODY_BYTES = 64 * 1024

function openServerMetrics(registry: Registry) {
  const { counter, gauge, histogram } = openMetricFactory(registry)
  let load: () => ServerLoad = () => ({ inFlight: 0, bytes: 0, connections: 0 })
  gauge('controller_runtime_webhook_requests_in_flight', (requests) => requests.set(load().inFlight))
  gauge('lodestone_bytes_in_flight', (bytes) => bytes.set(load().bytes))
  gauge('lodestone_connections', (connections) => connections.set(load().connections))
  const durations = histogram('lodestone_review_duration_seconds')
  const [small, large] = [durations.labels('small'), durations.labels('large')]
  const shed: { labels(reason: ShedReason): { inc(): void } } = counter('lodestone_requests_shed_total')
  return {
    /** Sets the source of the gauges, which is called at each scrape. */
    observeServer(read: () => ServerLoad) {
      load = read
    },
    /** Counts an answered review, by the size of its body in bytes and the time since its body was complete. */
    countReview(bytes: number, ms: number) {
      const durationsOfSize = bytes <= SMALL_BODY_BYTES ? small : large
      durationsOfSize.observe(ms / 1000)
    },
    shed,
  }
}
