/** The only place that constructs things: store, certificates, servers and loops, started in order and stopped in reverse. */
import type { AddressInfo } from 'node:net'
import { interpretObject, isStoredWorkload } from '../queries/dependents.ts'
import { openHealthServer } from '../server/health.ts'
import { type AdmissionServer, buildServer, type TlsMaterial } from '../server/server.ts'
import type { ObjectStore, PodLogReader } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CertificateSource } from '../tls/source.ts'
import { webhooks } from '../webhooks/index.ts'
import { type Interpreter, interpreterTypes } from '../webhooks/interpreter.ts'
import { openServingCertificates } from './certificates.ts'
import { openClientCa } from './client-ca.ts'
import type { Config } from './config.ts'
import { type ConfigSource, openLiveConfig } from './live-config.ts'
import { startLoops } from './loops.ts'
import { observeCertificates } from './observe.ts'
import { type Part, stopParts } from './parts.ts'
import { reasonsNotReady } from './readiness.ts'
import { startRegistration } from './registration.ts'
import { limitsOf } from './server-config.ts'

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

const READY_POLL_MS = 20
/** After the drain, the server and the loops have this long to end what they are doing … */
const FINISH_MS = 3000
/** … and what they work with has this long to close. Together 1 s less than is promised for a stop. */
const CLOSE_MS = 1000

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
  /** What the server and the loops work with. */
  const basis: Part[] = []
  /** What answers callers, until the drain is over. */
  const serving: Part[] = []
  /** What writes to the API server: stopped when the drain begins, so that another replica takes over. */
  const writing: Part[] = []
  const aborter = new AbortController()
  const registers = config.registration.mode !== 'none'
  const interpreter = openInterpreter(config, store)
  /** The CA bundle that the API server was last seen to have. */
  let published: string | undefined
  let registered = !registers
  let certificates: CertificateSource | undefined
  let server: AdmissionServer | undefined
  let stopping: Promise<void> | undefined
  const live = openLiveConfig({ config, source: configSource, log })
  basis.push({ name: 'configuration', stop: () => live.stop() })

  const notReady = () =>
    reasonsNotReady({
      store,
      draining: stopping !== undefined,
      certificate: certificates?.current(),
      registered,
      now: now(),
    })

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

  async function stop(drainMs: number): Promise<void> {
    server?.drain()
    const written = stopParts(writing, drainMs + FINISH_MS)
    await new Promise((resolve) => setTimeout(resolve, drainMs))
    aborter.abort()
    const served = await stopParts(serving, FINISH_MS)
    const late = [...served, ...(await written), ...(await stopParts(basis, CLOSE_MS))]
    if (late.length > 0) log.warn({ parts: late }, 'not stopped in time')
  }

  async function drain(): Promise<void> {
    const { drainSeconds } = config.server
    log.info({ drainSeconds }, 'draining')
    await stop(drainSeconds * 1000)
    log.info('stopped')
  }

  try {
    const { healthHost, healthPort, livenessStallSeconds } = config.server
    const health = await openHealthServer({
      ...{ host: healthHost, port: healthPort, livenessStallMs: livenessStallSeconds * 1000 },
      ...{ notReady, metrics, log },
    })
    basis.push({ name: 'health server', stop: () => health.close() })

    const source = await openServingCertificates(config, observeCertificates(log, metrics), now, (bundle) =>
      registers ? published === bundle : undefined,
    )
    certificates = source
    basis.push({ name: 'certificates', stop: () => source.stop() })
    // Closed after the server: a request in flight is still answered from memory.
    basis.push({ name: 'store', stop: () => store.stop() })

    const clientCa = openClientCa({ file: config.server.clientCaFile, log, changed: () => useCertificates() })
    basis.push({ name: 'client CA', stop: () => clientCa.stop() })
    const material = (): TlsMaterial => {
      const { certPem: cert, keyPem: key } = source.current()
      const ca = clientCa.current()
      return { cert, key, ...(ca && { clientCa: ca }) }
    }
    const admission = buildServer({
      webhooks,
      ...(interpreter && { interpreter }),
      store,
      now,
      propagateDeps: config.dependencies.propagate,
      clusterScopedClaims: config.claims.clusterScoped,
      volumes: () => {
        const { volumes } = live.current()
        return { whenNotReady: volumes.whenNotReady, volumeLimits: volumes }
      },
      log,
      metrics,
      tls: material(),
      clientNames: config.server.clientNames,
      limits: limitsOf(config.server),
    })
    server = admission
    const useCertificates = () => admission.useCertificate(material())
    source.subscribe(useCertificates)
    serving.push({ name: 'admission server', stop: () => admission.close(FINISH_MS - 500) })
    await admission.fastify.listen({ host: config.server.host, port: config.server.port })

    const synced = store.start(aborter.signal)
    // Loops begin when everything is read: an empty cache is no reason to act.
    let stopLoops: (() => Promise<void>) | undefined
    const loops = synced.then(async () => {
      if (!config.loops.enabled || stopping) return
      stopLoops = await startLoops({ config, live, store, leaseStore, eventStore, podLogs, log, metrics, now })
      if (stopping) await stopLoops()
    })
    loops.catch(() => undefined) // Told by `ready`.
    writing.push({ name: 'loops', stop: () => stopLoops?.() })

    if (registers) {
      const registration = startRegistration({
        ...{ config, store, interpreter, certificates: source, log, metrics },
        registered() {
          registered = true
        },
        published(bundle) {
          published = bundle
        },
      })
      source.subscribe(() => registration.trigger())
      // Only now is it known whether this is a hub, and only now could a question be answered.
      synced.then(registration.trigger, () => undefined)
      writing.push({ name: 'registration', stop: () => registration.stop() })
    }

    const ready = loops.then(() => until(() => notReady().length === 0, aborter.signal))
    ready.catch(() => undefined) // Stopped before it was ready; whoever waits is told by the promise itself.
    return {
      addresses: { admission: portOf(admission.fastify.server.address()), health: health.port },
      ready,
      stop: () => (stopping ??= drain()),
    }
  } catch (error) {
    await stop(0)
    throw error
  }
}

/** Answers what Karmada's resource interpreter asks; not where nothing is held that an answer would follow from. */
function openInterpreter({ claims, dependencies }: Config, store: ObjectStore): Interpreter | undefined {
  if (dependencies.distribution === 'none') return undefined
  return {
    types: interpreterTypes,
    isStored: (object) => isStoredWorkload(object, store),
    interpret: (object) => interpretObject(object, store, claims.clusterScoped),
  }
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
