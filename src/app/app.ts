/** The only place that constructs things: store, certificates, servers and loops, started in order and stopped in reverse. */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { startLoop } from '../reconcile/loop.ts'
import { reconcileRegistration } from '../reconcile/webhook-registration.ts'
import { buildHealthServer } from '../server/health.ts'
import { buildServer, DEFAULT_LIMITS, type TlsMaterial } from '../server/server.ts'
import { interpretObject } from '../store/gather-dependents.ts'
import type { ObjectStore, PodLogReader } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CertificateSource, ServingCertificates } from '../tls/source.ts'
import { webhooks } from '../webhooks/index.ts'
import { type Interpreter, interpreterTypes } from '../webhooks/interpreter.ts'
import { openServingCertificates } from './certificates.ts'
import type { Config } from './config.ts'
import { type ConfigSource, openLiveConfig } from './live-config.ts'
import { startLoops } from './loops.ts'
import { observeCertificates } from './observe.ts'
import { registerInterpreter, wantedRegistration } from './registration.ts'

export interface AppInput {
  config: Config
  /** Where the configuration is read again when it changes; absent where nothing changes. */
  configSource?: ConfigSource | undefined
  store: ObjectStore
  /** Where the Lease of the loops is kept; the store itself when it is not given. */
  leaseStore?: ObjectStore
  /** Where Events are written; the store itself when it is not given. */
  eventStore?: ObjectStore
  /** How logs of pods are read; absent where pods have none, as in a folder. */
  podLogs?: PodLogReader
  log: Logger
  metrics: Metrics
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface App {
  /** Where it is reached, once started. */
  addresses: { admission: number; health: number }
  /** Resolves when every cache is synced and the registration is current. */
  ready: Promise<void>
  /** Says that it is not ready, drains, then closes everything. Callable at any time, also twice. */
  stop(): Promise<void>
}

const REGISTRATION_INTERVAL_MS = 10_000
const READY_POLL_MS = 20
/** A quiet watch is heard of every minute or so by its bookmarks; this long a silence means that the cache may be out of date. */
const STALE_AFTER_MS = 5 * 60_000

/**
 * Starts everything. Resolves when the server listens, before the caches are synced: until then `/readyz` says why not, and a review
 * that arrives all the same is answered HTTP 500.
 *
 * @throws when a port is taken or no certificate can be had; what was opened is closed again
 */
export async function startApp({
  config,
  configSource,
  store,
  leaseStore = store,
  eventStore = store,
  podLogs,
  log,
  metrics,
  now,
}: AppInput): Promise<App> {
  const closers: (() => Promise<void> | void)[] = []
  const aborter = new AbortController()
  let draining = false
  const registers = config.registration.mode !== 'none'
  const interpreter = openInterpreter(config, store)
  const live = openLiveConfig({ config, source: configSource, log })
  closers.push(() => live.stop())
  /** The CA bundle that the API server was last seen to have. */
  let published: string | undefined
  let registered = !registers
  let certificates: CertificateSource | undefined
  let stopping: Promise<void> | undefined

  function notReady(): string[] {
    return [
      ...(draining ? ['shutting down'] : []),
      ...(certificates ? [] : ['no certificate yet']),
      ...store.unsynced().map(({ kind }) => `${kind} objects not read yet`),
      ...(registered ? [] : ['webhooks not registered yet']),
      ...staleKinds(store).map((kind) => `nothing heard of ${kind} objects for ${STALE_AFTER_MS / 60_000} minutes`),
    ]
  }

  metrics.observeObjects(() => {
    // A kind that is not read yet has no size: asking for it throws, and metrics are read long before all are there.
    const unread = new Set(store.unsynced())
    const read = store.kinds().filter((type) => !unread.has(type))
    // Kinds of one name in several groups, such as Job, are one figure.
    return [...Map.groupBy(read, ({ kind }) => kind)].map(([kind, types]) => ({
      kind,
      size: types.reduce((sum, type) => sum + store.size(type), 0),
    }))
  })

  async function closeAll(): Promise<void> {
    aborter.abort()
    for (const close of closers.reverse()) await close()
  }

  async function stop(): Promise<void> {
    draining = true
    log.info({ drainSeconds: config.server.drainSeconds }, 'draining')
    await new Promise((resolve) => setTimeout(resolve, config.server.drainSeconds * 1000))
    await closeAll()
    log.info('stopped')
  }

  try {
    const health = buildHealthServer({ notReady, metrics })
    closers.push(() => health.close())
    await health.listen({ host: config.server.healthHost, port: config.server.healthPort })

    certificates = await openServingCertificates(config, observeCertificates(log, metrics), now, (bundle) =>
      registers ? published === bundle : undefined,
    )
    const source = certificates
    closers.push(() => source.stop())

    // Closed after the server: a request in flight is still answered from memory.
    closers.push(() => store.stop())
    const clientCa = config.server.clientCaFile && readFileSync(config.server.clientCaFile, 'utf8')
    const material = ({ certPem, keyPem }: ServingCertificates): TlsMaterial => ({
      cert: certPem,
      key: keyPem,
      ...(clientCa && { clientCa }),
    })
    const server = buildServer({
      webhooks,
      ...(interpreter && { interpreter }),
      store,
      now,
      propagateDeps: config.dependencies.propagate,
      volumes: () => {
        const { volumes } = live.current()
        return { whenNotReady: volumes.whenNotReady, volumeLimits: volumes }
      },
      log,
      metrics,
      tls: material(source.current()),
      limits: { ...DEFAULT_LIMITS, inFlight: config.server.maxInFlight },
    })
    closers.push(source.subscribe((next) => server.useCertificate(material(next))))
    closers.push(() => server.fastify.close())
    await server.fastify.listen({ host: config.server.host, port: config.server.port })

    const synced = store.start(aborter.signal)
    // Loops begin when everything is read: an empty cache is no reason to act.
    let stopLoops: (() => Promise<void>) | undefined
    const loops = synced.then(async () => {
      if (!config.loops.enabled || aborter.signal.aborted) return
      stopLoops = await startLoops({ config, live, store, leaseStore, eventStore, podLogs, log, metrics, now })
      if (aborter.signal.aborted) await stopLoops()
    })
    loops.catch(() => undefined) // Told by `ready`.
    closers.push(() => stopLoops?.())

    if (registers) {
      const loop = startLoop({
        reconcile: async () => {
          const served = source.current()
          const admission = await reconcileRegistration(store, wantedRegistration(config, served))
          // Admission works from here on, whatever keeps the rest: on a hub that comes up, Karmada's own webhook may be away.
          registered = true
          const written = admission + (await registerInterpreter({ config, store, interpreter, served }))
          // A new CA must not sign before everybody who calls us was told of it.
          if (store.synced()) published = served.caBundlePem
          metrics.registrations.labels(written > 0 ? 'written' : 'current').inc()
          if (written > 0) log.info({ written }, 'webhooks registered')
        },
        intervalMs: REGISTRATION_INTERVAL_MS,
        onError(error, retryInMs) {
          metrics.registrations.labels('failed').inc()
          log.warn({ reason: error instanceof Error ? error.message : String(error), retryInMs }, 'registration failed')
        },
      })
      closers.push(source.subscribe(() => loop.trigger()))
      // Only now is it known whether this is a hub, and only now could a question be answered.
      synced.then(loop.trigger, () => undefined)
      closers.push(() => loop.stop())
    }

    const ready = loops.then(() => until(() => notReady().length === 0, aborter.signal))
    ready.catch(() => undefined) // Stopped before it was ready; whoever waits is told by the promise itself.
    return {
      addresses: { admission: portOf(server.fastify.server.address()), health: portOf(health.server.address()) },
      ready,
      stop: () => (stopping ??= stop()),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Answers what Karmada's resource interpreter asks; not where nothing is held that an answer would follow from. */
function openInterpreter({ dependencies }: Config, store: ObjectStore): Interpreter | undefined {
  if (dependencies.distribution === 'none') return undefined
  return { types: interpreterTypes, interpret: (object) => interpretObject(object, store) }
}

function staleKinds(store: ObjectStore): string[] {
  return (store.contactAges?.() ?? []).flatMap(({ kind, ageMs = 0 }) => (ageMs > STALE_AFTER_MS ? [kind] : []))
}

async function until(condition: () => boolean, signal: AbortSignal): Promise<void> {
  while (!condition()) {
    signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
  }
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}
