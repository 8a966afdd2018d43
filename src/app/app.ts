/** Starts the application as a list of parts, in order, and stops it in reverse order. */
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../base/time/clock.ts'
import { watchWallClock } from '../base/time/wall-clock.ts'
import type { ServerInfo } from '../core/server-features.ts'
import type { WebhookProbe } from '../store/cluster/webhook-probe.ts'
import type { ObjectStore, PodLogReader } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type AppState, CLOSE_SERVER_MS, partsOf } from './app-parts.ts'
import { type Part, startParts, stopParts } from './components.ts'
import type { Config } from './config/config.ts'
import { type ConfigSource, openLiveConfig } from './config/live-config.ts'
import { openKarmadaVersion } from './karmada.ts'
import { reasonsNotReady } from './monitoring/readiness.ts'

export interface AppInput {
  config: Config
  /** The source of a changed configuration; absent if the configuration cannot change. */
  configSource?: ConfigSource | undefined
  store: ObjectStore
  /** The store of the Lease of the loops. Default: `store`. */
  leaseStore?: ObjectStore
  /** The store of Events. Default: `store`. */
  eventStore?: ObjectStore
  /** Reads logs of pods; absent if pods have no logs, as in a folder. */
  podLogs?: PodLogReader
  /** Sends a probe of the webhooks; absent if no API server calls them, as for a folder. */
  probeWebhooks?: WebhookProbe
  /** Reads the version of the API server; absent if there is none, as in a folder. */
  readServerInfo?: () => Promise<ServerInfo>
  log: Logger
  metrics: Metrics
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface App {
  /** The ports of the application after its start. */
  addresses: { admission: number; health: number }
  /** Resolves when every cache is synced and the registration is current. */
  ready: Promise<void>
  /** Sets the application to not ready, drains, then closes everything. May be called at any time, also twice. */
  stop(): Promise<void>
}

const READY_POLL_MS = 20
/** The time for the server and the loops to finish after the drain, in ms. */
const FINISH_MS = CLOSE_SERVER_MS + 500
/** The time for the other parts to close, in ms. The sum of both is 1 s less than the documented time of a stop. */
const CLOSE_MS = 1000

/**
 * Starts all parts. Resolves when the server listens, before the caches are synced. Until then, `/readyz` returns the reasons, and a review
 * gets HTTP 500.
 *
 * @throws if a port is in use or no certificate is available; the parts that were opened are closed again
 */
export async function startApp(input: AppInput): Promise<App> {
  const app = openState(input)
  const parts = partsOf(app)
  try {
    await startParts(parts)
  } catch (error) {
    await stopAll(app, parts, 0)
    throw error
  }
  const ready = (async () => {
    await app.loops
    while (app.notReady().length > 0) {
      app.aborter.signal.throwIfAborted()
      await wait(READY_POLL_MS)
    }
  })()
  ready.catch(() => undefined) // If it is stopped before it is ready, a caller that waits for `ready` gets the error.
  let stopping: Promise<void> | undefined
  return {
    addresses: { admission: portOf(app.server?.fastify.server.address()), health: app.health?.port ?? 0 },
    ready,
    stop: () => (stopping ??= drain(app, parts)),
  }
}

function openState({ configSource, ...input }: AppInput): AppState {
  const { config, store, log, metrics, readServerInfo } = input
  const wallClock = watchWallClock(input.now, systemClock)
  const app: AppState = {
    leaseStore: store,
    eventStore: store,
    ...input,
    wallClock,
    karmada: openKarmadaVersion({ version: config.karmada.version, readServerInfo, log }),
    live: openLiveConfig({ config, source: configSource, log }),
    aborter: new AbortController(),
    isStopping: false,
    isRegistered: config.registration.mode === 'none',
    notReady: () =>
      reasonsNotReady({
        store,
        draining: app.isStopping,
        certificate: app.certificates?.current(),
        registered: app.isRegistered,
        now: wallClock.now(),
      }),
  }
  metrics.observeObjects(() => sizesOf(store))
  metrics.observeUnavailable(() => store.unavailable().map(({ type: { kind }, reason }) => ({ kind, reason })))
  return app
}

/**
 * The number of objects by kind. A kind that is not cached yet is left out. Kinds with the same name in several groups, such as Job, are
 * added up.
 */
function sizesOf(store: ObjectStore): { kind: string; size: number }[] {
  const unread = new Set(store.unsynced())
  const read = store.kinds().filter((type) => !unread.has(type))
  return [...Map.groupBy(read, ({ kind }) => kind)].map(([kind, types]) => ({
    kind,
    size: types.reduce((sum, type) => sum + store.size(type), 0),
  }))
}

async function drain(app: AppState, parts: readonly Part[]): Promise<void> {
  const { drainSeconds } = app.config.server
  app.isStopping = true
  app.log.info({ drainSeconds }, 'draining')
  await stopAll(app, parts, drainSeconds * 1000)
  app.log.info('stopped')
}

async function stopAll(app: AppState, parts: readonly Part[], drainMs: number): Promise<void> {
  const at = (stopsAt: Part['stopsAt']) => parts.filter((part) => part.stopsAt === stopsAt)
  app.server?.drain()
  const drained = stopParts(at('drainStart'), drainMs + FINISH_MS)
  await wait(drainMs)
  app.aborter.abort()
  const served = await stopParts(at('drainEnd'), FINISH_MS)
  const late = [...served, ...(await drained), ...(await stopParts(at('last'), CLOSE_MS))]
  if (late.length > 0) app.log.warn({ parts: late }, 'not stopped in time')
}

function portOf(address: AddressInfo | string | null | undefined): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}
