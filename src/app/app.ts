/** Starts the application: opens its parts one after another, each with the parts that it uses. */
import { setTimeout as wait } from 'node:timers/promises'
import { compilePendingSchemas } from '../base/schema/schema-errors.ts'
import { systemClock } from '../base/time/clock.ts'
import { watchWallClock } from '../base/time/wall-clock.ts'
import type { ServerInfo } from '../core/server-features.ts'
import type { CredentialsLifetime } from '../store/cluster/credentials-lifetime.ts'
import { repeated } from '../store/cluster/repeated.ts'
import type { WebhookProbe } from '../store/cluster/webhook-probe.ts'
import type { ObjectStore, PodLogReader } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  listenForReviews,
  openAdmissionServer,
  openHealth,
  openInterpreter,
  startCredentialChecks,
  startFeatureChecks,
  startLoopsAfter,
  startRegistrationAfter,
} from './app-parts.ts'
import { openServingCertificates } from './certificates.ts'
import { openClientCa } from './client-ca.ts'
import type { Config } from './config/config.ts'
import { type ConfigSource, openLiveConfig } from './config/live-config.ts'
import { openLeadershipState } from './election.ts'
import { openKarmadaVersion } from './karmada.ts'
import { openCredentialsReport } from './monitoring/credentials.ts'
import { observeCertificates, observeObjects } from './monitoring/observe.ts'
import { electionWarning, openReadiness, volumesWarning } from './monitoring/readiness.ts'
import { openRegistrationState } from './registration-state.ts'
import { CLOSE_SERVER_MS, openShutdown, type Shutdown } from './shutdown.ts'

/** The served API server or folder. A folder has only the store. */
export interface Connections {
  store: ObjectStore
  /** The store of the Lease of the loops. Default: `store`. */
  leaseStore?: ObjectStore
  /** Whether the Lease is in another API server than the one that is served. */
  hasLeaseElsewhere?: boolean
  /** The store of Events. Default: `store`. */
  eventStore?: ObjectStore
  /** Reads logs of pods; absent if pods have no logs, as in a folder. */
  podLogs?: PodLogReader
  /** Sends a probe of the webhooks; absent if no API server calls them, as for a folder. */
  probeWebhooks?: WebhookProbe
  /** Reads the version of the API server; absent if there is none, as in a folder. */
  readServerInfo?: () => Promise<ServerInfo>
  /** Reads when the credentials for the API server end; absent if there is none, as in a folder. */
  readCredentials?: () => Promise<CredentialsLifetime | undefined>
  /** Returns why the kubeconfig is not used as it is now; undefined if it is. */
  sourceProblem?: () => string | undefined
}

export interface AppInput extends Connections {
  config: Config
  /** The source of a changed configuration; absent if the configuration cannot change. */
  configSource?: ConfigSource | undefined
  log: Logger
  metrics: Metrics
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface App {
  /** The ports on which the servers listen, which may be chosen by the system. */
  ports: { admission: number; health: number }
  /** Resolves when every cache is synced and the registration is current. */
  ready: Promise<void>
  /** Sets the application to not ready, drains, then closes everything. May be called at any time, also twice. */
  stop(): Promise<void>
}

const READY_POLL_MS = 20

/**
 * Starts all parts. Resolves when the server listens, before the caches are synced. Until then, `/readyz` returns the reasons, and a review
 * gets HTTP 500.
 *
 * @throws if a port is in use or no certificate is available; the parts that were opened are closed again
 */
export async function startApp(input: AppInput): Promise<App> {
  const { log, config } = input
  const shutdown = openShutdown(log)
  const started = await startParts(input, shutdown).catch(async (error: unknown) => {
    await shutdown.stop(0)
    throw error
  })
  let stopping: Promise<void> | undefined
  return { ...started, stop: () => (stopping ??= drain()) }

  async function drain(): Promise<void> {
    const { drainSeconds } = config.server
    log.info({ drainSeconds }, 'draining')
    await shutdown.stop(drainSeconds * 1000)
    log.info('stopped')
  }
}

/** Opens the parts in order, and adds each to the shutdown. */
async function startParts(input: AppInput, shutdown: Shutdown): Promise<Omit<App, 'stop'>> {
  const { config, configSource, store, readServerInfo, readCredentials, sourceProblem, log, metrics } = input
  // The first review must not wait for it.
  compilePendingSchemas()
  const live = openLiveConfig({ config, source: configSource, log })
  shutdown.add('last', 'configuration', live.stop)
  const wallClock = watchWallClock(input.now, systemClock)
  shutdown.add('last', 'wall clock', wallClock.stop)
  // Stopped after the server, so that requests in flight can read the cache.
  shutdown.add('last', 'store', () => store.stop())
  observeObjects(store, metrics)
  const karmada = openKarmadaVersion({
    version: config.karmada.version,
    readServerInfo,
    serves: (type) => (store.unsynced().some(({ kind }) => kind === type.kind) ? undefined : store.serves(type)),
    log,
  })
  const interpreter = openInterpreter(config, store)

  const registration = openRegistrationState(config)
  const credentials =
    readCredentials && openCredentialsReport({ read: readCredentials, sourceProblem, now: wallClock.now, log, metrics })
  if (credentials) shutdown.add('last', 'credentials', startCredentialChecks(credentials))
  const leadership = openLeadershipState(systemClock)
  const warnings = () =>
    [
      registration.kept(),
      ...(credentials?.warnings() ?? []),
      electionWarning(leadership),
      volumesWarning(config, store),
    ].flatMap((warning) => warning ?? [])
  const readiness = openReadiness({
    store,
    karmada,
    registration,
    leadership,
    stopping: shutdown.begun,
    now: wallClock.now,
  })
  const health = await openHealth({ config, notReady: readiness.reasons, warnings, log, metrics })
  shutdown.add('last', 'health server', health.close)

  const observer = observeCertificates(log, metrics)
  // The network of a node may come after its pods. An end of the process would delay the start by the back-off of the kubelet.
  const certificates = await repeated(
    () => openServingCertificates(config, observer, wallClock.now, registration.isPublished),
    {
      signal: shutdown.begun,
      onRetry: (error, retryInMs) =>
        log.warn(
          { reason: (error as Error).message, retryInMs: Math.round(retryInMs) },
          'certificates cannot be read yet',
        ),
    },
  )
  shutdown.add('last', 'certificates', certificates.stop)
  readiness.useCertificates(certificates)
  const clientCa = openClientCa({ file: config.server.clientCaFile, log })
  shutdown.add('last', 'client CA', clientCa.stop)

  const common = {
    leaseStore: store,
    eventStore: store,
    ...input,
    live,
    wallClock,
    karmada,
    interpreter,
    certificates,
    leadership,
  }
  const server = openAdmissionServer({ ...common, clientCa, stopping: shutdown.begun })
  shutdown.add('drainEnd', 'admission server', () => server.close(CLOSE_SERVER_MS))
  const admission = await listenForReviews(server, config)

  // The start does not wait for the caches. Decisions wait for them, and for the rules of Karmada.
  const synced = Promise.all([store.start(shutdown.drained), karmada.start(shutdown.drained)]).then(() => undefined)
  const loops = startLoopsAfter(synced, common, shutdown.begun)
  shutdown.add('drainStart', 'loops', loops.stop)
  if (readServerInfo) {
    const stop = startFeatureChecks(synced, { config, karmada, readServerInfo, log, metrics })
    shutdown.add('drainStart', 'features', stop)
  }
  if (config.registration.mode !== 'none') {
    const stop = startRegistrationAfter(synced, { ...common, state: registration })
    shutdown.add('drainStart', 'registration', stop)
  }

  const ready = (async () => {
    await loops.started
    while (readiness.reasons().length > 0) {
      shutdown.drained.throwIfAborted()
      await wait(READY_POLL_MS)
    }
  })()
  ready.catch(() => undefined) // If it is stopped before it is ready, a caller that waits for `ready` gets the error.
  return { ports: { admission, health: health.port }, ready }
}
