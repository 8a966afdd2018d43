/** Converts the observations of the store, certificates, data systems, loops and movers into log lines and metrics. */
import { defined } from '../../base/json.ts'
import type { SystemsObserver } from '../../locality/observer.ts'
import type { ControllerObserver } from '../../reconcile/controller.ts'
import type { EventObserver } from '../../reconcile/event-recorder.ts'
import type { MoverLogObserver } from '../../reconcile/volumes/mover-logs.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import { APPLY_ROLES } from '../../store/cluster/apply-roles.ts'
import type { StoreObserver } from '../../store/observer.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { CertificateObserver } from '../../tls/source.ts'
import type { FailureLog } from './failure-log.ts'

/** The remedy for each status of a response. A kind that may be absent causes no error. */
const STORE_REMEDIES: Readonly<Record<number, string>> = {
  401: 'check the credentials in the kubeconfig',
  403: APPLY_ROLES,
  404: "apply the CRDs: 'lodestone manifests crds' prints them",
}

/** Logs and counts the observations of the store. */
export function observeStore(log: Logger, metrics: Metrics): Partial<StoreObserver> {
  return {
    listed({ kind, items, durationMs }) {
      metrics.lists.labels(kind).inc()
      log.info({ kind, items, ms: Math.round(durationMs) }, 'listed')
    },
    relisted: ({ kind, reason }) => metrics.relists.labels(kind, reason).inc(),
    watchEnded({ kind, result, livedMs }) {
      metrics.watches.labels(kind, result).inc()
      log.debug({ kind, result, livedMs: Math.round(livedMs) }, 'watch ended')
    },
    served: ({ kind, served }) =>
      log.info(
        { kind, served },
        served ? 'the API server serves this kind' : 'the API server does not serve this kind',
      ),
    availability({ kind, unavailable }) {
      if (unavailable) log.warn({ kind, cause: unavailable.reason, reason: unavailable.message }, 'kind not available')
      else log.info({ kind }, 'kind available again')
    },
    error({ kind, message, error, retryInMs }) {
      metrics.storeErrors.labels(kind).inc()
      const remedy = error instanceof ApiError ? STORE_REMEDIES[error.status] : undefined
      log.warn(defined({ kind, reason: message, remedy, retryInMs: retryInMs && Math.round(retryInMs) }), 'store error')
    },
    fileError({ file, line, message }) {
      metrics.storeErrors.labels('file').inc()
      log.error(
        { file, line, reason: message },
        `manifest refused: ${file}${line === undefined ? '' : `:${line}`}: ${message}`,
      )
    },
  }
}

/** Has the metrics count the cached objects, the kinds that are not available and the ages of the watches. */
export function observeObjects(store: ObjectStore, metrics: Metrics): void {
  metrics.observeObjects(() => countObjects(store))
  metrics.observeContacts(() => contactAges(store))
  metrics.observeUnavailable(() => store.unavailable().map(({ type: { kind }, reason }) => ({ kind, reason })))
}

/** The age of the oldest watch of each kind, in ms. Kinds with the same name in several groups count as one. */
function contactAges(store: ObjectStore): { kind: string; ageMs: number }[] {
  const known = (store.contactAges?.() ?? []).filter(({ ageMs }) => ageMs !== undefined)
  return [...Map.groupBy(known, ({ kind }) => kind)].map(([kind, ages]) => ({
    kind,
    ageMs: Math.max(...ages.map(({ ageMs = 0 }) => ageMs)),
  }))
}

/**
 * The number of objects by kind. A kind that is not cached yet is left out. Kinds with the same name in several groups, such as Job, are
 * added up.
 */
function countObjects(store: ObjectStore): { kind: string; size: number }[] {
  const unread = new Set(store.unsynced())
  const read = store.kinds().filter((type) => !unread.has(type))
  return [...Map.groupBy(read, ({ kind }) => kind)].map(([kind, types]) => ({
    kind,
    size: types.reduce((sum, type) => sum + store.size(type), 0),
  }))
}

export function observeCertificates(log: Logger, metrics: Metrics): CertificateObserver {
  return {
    renewed: (certificate, reason) => log.info({ certificate, reason }, 'certificate renewed'),
    changed({ notAfter }) {
      metrics.certificateExpiry.set(notAfter / 1000)
      log.info({ notAfter: new Date(notAfter).toISOString() }, 'certificate in use')
    },
    failed: (error) => log.error({ err: error }, 'certificate check failed; keeping the last valid certificate'),
  }
}

export function observeSystems(log: Logger, metrics: Metrics): Partial<SystemsObserver> {
  return {
    loaded: ({ system, file }) => log.info({ system, file }, 'data system configured'),
    removed({ system }) {
      metrics.systemHealthy.remove(system)
      log.info({ system }, 'data system removed')
    },
    configError: ({ file, message }) =>
      log.error({ file, reason: message }, 'invalid data system configuration; keeping the last valid one'),
    configWarning: ({ system, file, message }) =>
      log.warn({ system, file, reason: message }, 'data system configured with a warning'),
    health({ system, healthy, message }) {
      metrics.systemHealthy.labels(system).set(healthy ? 1 : 0)
      if (!healthy) log.warn({ system, reason: message }, 'data system health check failed')
    },
  }
}

export function observeLoops(log: Logger, metrics: Metrics, logFailure: FailureLog): ControllerObserver {
  return {
    queryEnded: (system, seconds, result) => metrics.queries.labels(system, result).observe(seconds),
    moved: () => metrics.moves.inc(),
    moveDelayed: () => metrics.movesDelayed.inc(),
    holdNotHonored(binding, { result, message, decisionId }) {
      metrics.holdsNotHonored.labels(result).inc()
      log.warn({ binding, result, decisionId, reason: message }, 'hold not honored')
    },
    reducedCrd: () =>
      log.warn('the CRD of DataSources lacks location, size and phase; apply `lodestone manifests crds` to have them'),
    evicted(eviction) {
      metrics.evictions.inc()
      log.info(eviction, 'replica evicted')
    },
    moverFailed: ({ task, reason }) => metrics.moverFailures.labels(task, reason).inc(),
    moverEnded({ task, result, seconds, movedBytes }) {
      if (seconds !== undefined) metrics.moverSeconds.labels(task, result).observe(seconds)
      metrics.moverBytes.labels(task).inc(movedBytes)
    },
    added: (loop) => metrics.queueAdds.labels(loop).inc(),
    done(loop, { waitedMs, ranMs, failed }) {
      metrics.reconciles.labels(loop, failed ? 'error' : 'success').inc()
      metrics.reconcileSeconds.labels(loop).observe(ranMs / 1000)
      if (failed) metrics.queueRetries.labels(loop).inc()
      metrics.queueSeconds.labels(loop).observe(waitedMs / 1000)
    },
    failed: (loop, key, error, retryInMs) => logFailure(error, 'reconcile failed', { loop, key, retryInMs }),
  }
}

export function observeEvents(logFailure: FailureLog, metrics: Metrics): EventObserver {
  return {
    recorded(result, error) {
      metrics.events.labels(result).inc()
      if (error) logFailure(error, 'event not written')
    },
  }
}

/** Logs the log of a mover between two lines with its name, so that it can be found among other log lines. */
export function observeMoverLogs(log: Logger): MoverLogObserver {
  return {
    collected(head, lines) {
      const { pod } = head
      log.info({ ...head, lines: lines.length }, 'mover log begins')
      for (const line of lines) log.info({ pod, line }, 'mover log')
      log.info({ pod }, 'mover log ends')
    },
    failed(head, error) {
      const reason = error instanceof Error ? error.message : String(error)
      log[head.phase === 'Failed' ? 'warn' : 'debug']({ ...head, reason }, 'mover log not collected')
    },
  }
}
