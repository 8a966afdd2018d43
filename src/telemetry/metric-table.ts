/**
 * The table of all metrics: docs/reference/metrics.md is generated from it, and no other metric can be opened. Names are those of client-go and
 * controller-runtime where they have the metric. No label has the name of an object, a namespace or a user.
 */

export interface MetricDefinition {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  labels?: readonly string[]
  /** The upper bounds of a histogram. */
  buckets?: readonly number[]
  /** A remark for the documentation, in Markdown. A line of the page has at most 160 characters. */
  remark?: string
}

/** In seconds. One of them is 10 ms, the longest time that a review up to 64 KiB should take. */
const REVIEW_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1] as const

export const METRICS = {
  controller_runtime_webhook_requests_total: {
    type: 'counter',
    help: 'Admission requests by HTTP status code',
    labels: ['webhook', 'code'],
  },
  controller_runtime_webhook_requests_in_flight: {
    type: 'gauge',
    help: 'Complete requests that wait for their decision',
  },
  controller_runtime_webhook_latency_seconds: {
    type: 'histogram',
    help: 'Duration of a decision',
    labels: ['webhook'],
    buckets: REVIEW_SECONDS,
  },
  lodestone_review_duration_seconds: {
    type: 'histogram',
    help: 'From the complete body to the answer',
    labels: ['size'],
    buckets: REVIEW_SECONDS,
    remark: '`small` is up to 64 KiB, else `large`; [objective](slo.md)',
  },
  controller_runtime_webhook_panics_total: {
    type: 'counter',
    help: 'Reviews that failed inside and were answered with HTTP 500',
    labels: ['webhook'],
  },
  lodestone_decisions_total: {
    type: 'counter',
    help: 'Decisions by result',
    labels: ['webhook', 'result'],
    remark: 'see [below](#values-of-labels)',
  },
  lodestone_slow_reviews_total: {
    type: 'counter',
    help: 'Reviews that took longer than 100 ms to decide',
    labels: ['webhook'],
  },
  lodestone_requests_shed_total: {
    type: 'counter',
    help: 'Requests and connections rejected at a limit, by limit',
    labels: ['reason'],
    remark: '`in-flight`, `bytes` or `connections`',
  },
  lodestone_bytes_in_flight: { type: 'gauge', help: 'Bytes of request bodies and answers in memory' },
  lodestone_connections: { type: 'gauge', help: 'Open connections of the admission server' },
  lodestone_main_thread_stall_seconds: { type: 'gauge', help: 'For how long the main thread has been busy' },
  lodestone_metrics_age_seconds: {
    type: 'gauge',
    help: 'Age of the other metrics; grows only while the main thread is busy',
  },
  lodestone_cached_objects: { type: 'gauge', help: 'Cached objects', labels: ['kind'] },
  lodestone_kind_unavailable: {
    type: 'gauge',
    help: 'Kinds that cannot be read now: 1 each',
    labels: ['kind', 'reason'],
    remark: '[reasons](../guides/troubleshooting.md#a-kind-is-not-available)',
  },
  lodestone_watch_age_seconds: {
    type: 'gauge',
    help: 'Time since the last event of a watch; an idle watch gets one in about a minute',
    labels: ['kind'],
  },
  lodestone_lists_total: { type: 'counter', help: 'Complete lists', labels: ['kind'] },
  lodestone_relists_total: { type: 'counter', help: 'Attempts to list, by reason', labels: ['kind', 'reason'] },
  lodestone_watches_total: { type: 'counter', help: 'Ended watches, by result', labels: ['kind', 'result'] },
  lodestone_store_errors_total: {
    type: 'counter',
    help: 'Failed reads of the API server or of a manifest',
    labels: ['kind'],
    remark: 'kind `file`: rejected manifests',
  },
  rest_client_requests_total: {
    type: 'counter',
    help: 'Requests to API servers, by HTTP status code',
    labels: ['code', 'method', 'host'],
    remark: '`code` is `<error>` without a response',
  },
  lodestone_registrations_total: {
    type: 'counter',
    help: 'Checks of the webhook registration, by result',
    labels: ['result'],
    remark: '`written`, `current`, `kept` or `failed`',
  },
  lodestone_registration_kept: {
    type: 'gauge',
    help: 'Whether the registration of another version is kept, by cause: 1 or 0',
    labels: ['cause'],
    remark: '`otherReplicas`, `unnamed` or `reverted`',
  },
  lodestone_webhooks_seen: {
    type: 'gauge',
    help: 'Whether the API server was seen to call the webhooks since this replica became the leader: 1 or 0',
  },
  lodestone_webhook_probes_total: {
    type: 'counter',
    help: 'Probes of the webhooks, by result',
    labels: ['result'],
    remark: '`seen`, `unseen` or `notNeeded` (no hub)',
  },
  lodestone_certificate_expiry_timestamp_seconds: { type: 'gauge', help: 'Expiry of the serving certificate' },
  lodestone_credentials_expiry_timestamp_seconds: {
    type: 'gauge',
    help: 'Expiry of the credentials for the API server; 0 if they do not expire, or if a plugin renews them',
  },
  lodestone_missing_features: {
    type: 'gauge',
    help: 'Features that the API server or Karmada lacks: 1 each',
    labels: ['feature'],
    remark: '[features](compatibility.md)',
  },
  leader_election_master_status: {
    type: 'gauge',
    help: 'Whether this replica is the leader, which runs the loops: 1 or 0',
    labels: ['name'],
  },
  lodestone_claims: { type: 'gauge', help: 'DataSourceClaims by phase', labels: ['phase'] },
  lodestone_holds: {
    type: 'gauge',
    help: 'Workloads on hold, by reason',
    labels: ['reason'],
    remark: '`Unresolved`, `Unsatisfiable` or `ClaimMissing`',
  },
  lodestone_oldest_hold_seconds: {
    type: 'gauge',
    help: 'Age of the oldest hold, by reason; 0 without a hold',
    labels: ['reason'],
  },
  lodestone_holds_overdue: {
    type: 'gauge',
    help: 'Holds whose timeout ended more than a minute ago, by reason',
    labels: ['reason'],
  },
  lodestone_holds_not_honored_total: {
    type: 'counter',
    help: 'Workloads that were scheduled on hold, by result',
    labels: ['result'],
    remark: '`restored` on hold, or `scheduled`: the hold ended',
  },
  lodestone_claim_narrowing_seconds: {
    type: 'histogram',
    help: 'Time from a claim with a known location to its narrowed binding; 60 without one',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    remark: 'an [objective](slo.md)',
  },
  lodestone_moves_total: { type: 'counter', help: 'Scheduled workloads that were moved to their data' },
  lodestone_moves_delayed_total: {
    type: 'counter',
    help: 'Moves that waited because of the limit of moves per minute',
    remark: '`loops.maxMovesPerMinute`',
  },
  lodestone_source_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest confirmed location with a claim, by system',
    labels: ['system'],
  },
  lodestone_locality_query_seconds: {
    type: 'histogram',
    help: 'Duration of queries to data systems, by result',
    labels: ['system', 'result'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
  },
  lodestone_system_healthy: {
    type: 'gauge',
    help: 'Whether the last health check of a data system passed: 1 or 0',
    labels: ['system'],
  },
  lodestone_replicas: { type: 'gauge', help: 'Replicas of volumes, by state', labels: ['state'] },
  lodestone_mover_queue_length: {
    type: 'gauge',
    help: 'Work that waits for a slot of a mover, by task',
    labels: ['task'],
    remark: 'see [below](#values-of-labels)',
  },
  lodestone_mover_queue_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest work that waits for a slot of a mover, by task; 0 without any',
    labels: ['task'],
  },
  lodestone_mover_duration_seconds: {
    type: 'histogram',
    help: 'Duration of movers whose Pod was deleted after its end',
    labels: ['task', 'result'],
    buckets: [1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200],
    remark: '`succeeded` or `failed`',
  },
  lodestone_mover_failures_total: {
    type: 'counter',
    help: 'Failed movers, by task and reason',
    labels: ['task', 'reason'],
    remark: 'see [below](#values-of-labels)',
  },
  lodestone_mover_bytes_total: { type: 'counter', help: 'Bytes that movers moved, by task', labels: ['task'] },
  lodestone_write_back_conflicts: {
    type: 'gauge',
    help: 'Replicas whose write-back waits because the source changed too',
  },
  lodestone_volume_evictions_total: {
    type: 'counter',
    help: 'Replicas of volumes that were deleted because their node was short of disk',
  },
  lodestone_events_total: {
    type: 'counter',
    help: 'Events by result; dropped: too many of one object, or too many waited',
    labels: ['result'],
    remark: '`written`, `failed` or `dropped`',
  },
  lodestone_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels tell what is running',
    labels: ['version', 'commit', 'node'],
  },
  controller_runtime_reconcile_total: {
    type: 'counter',
    help: 'Runs of a loop for one key, by result',
    labels: ['controller', 'result'],
    remark: '`success` or `error`',
  },
  controller_runtime_reconcile_time_seconds: {
    type: 'histogram',
    help: 'Duration of a run',
    labels: ['controller'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
  },
  workqueue_depth: { type: 'gauge', help: 'Keys that wait in the queue', labels: ['name'] },
  workqueue_adds_total: { type: 'counter', help: 'Keys that were added to the queue', labels: ['name'] },
  workqueue_retries_total: { type: 'counter', help: 'Runs that failed and are repeated', labels: ['name'] },
  workqueue_queue_duration_seconds: {
    type: 'histogram',
    help: 'How long a key waited in the queue',
    labels: ['name'],
    buckets: [0.001, 0.01, 0.1, 1, 10, 60, 600],
  },
  workqueue_longest_running_processor_seconds: {
    type: 'gauge',
    help: 'For how long the oldest present run has been running; 0 without one',
    labels: ['name'],
  },
  lodestone_queue_oldest_seconds: {
    type: 'gauge',
    help: 'For how long the oldest key has been waiting in the queue; 0 without one',
    labels: ['name'],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof METRICS

/** The names of the metrics of one type. */
export type MetricOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never
}[MetricName]

/** The names of the labels of a metric. */
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name] extends { labels: readonly (infer Label)[] }
  ? Extract<Label, string>
  : string

/** The metrics that the thread of the health server adds, since they describe the main thread. */
export const THREAD_METRICS = [
  'lodestone_main_thread_stall_seconds',
  'lodestone_metrics_age_seconds',
] as const satisfies readonly MetricName[]
