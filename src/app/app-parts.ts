/** The parts of the application. Each part opens a resource when it starts and closes it when it stops. */
import { interpretObject, isStoredWorkload } from '../queries/dependents.ts'
import { type HealthServer, openHealthServer } from '../server/health.ts'
import type { NotReady } from '../server/health-protocol.ts'
import { listen } from '../server/listen.ts'
import { type AdmissionServer, buildServer, type TlsMaterial } from '../server/server.ts'
import type { ObjectStore } from '../store/store.ts'
import type { CertificateSource } from '../tls/source.ts'
import { webhooksOf } from '../webhooks/index.ts'
import { type Interpreter, interpreterTypes } from '../webhooks/interpreter.ts'
import { openServingCertificates } from './certificates.ts'
import { type ClientCa, openClientCa } from './client-ca.ts'
import type { Part } from './components.ts'
import type { Config } from './config/config.ts'
import type { LiveConfig } from './config/live-config.ts'
import { limitsOf } from './config/server-config.ts'
import { workloadKindsOf } from './config/workload-kinds-config.ts'
import { type FeaturesInput, openFeatureReport } from './features.ts'
import { type LoopsInput, startLoops } from './loops.ts'
import { observeCertificates } from './monitoring/observe.ts'
import { startRegistration } from './registration.ts'

/** The state that parts share. A part sets the resource that it opens, and later parts read it. */
export interface AppState extends Omit<LoopsInput, 'live'> {
  live: LiveConfig
  readServerInfo?: FeaturesInput['readServerInfo']
  /** The reasons why the application is not ready. */
  notReady: () => NotReady[]
  /** Aborts at the end of the drain. */
  aborter: AbortController
  isStopping: boolean
  /** Whether the webhooks are registered with the API server, or another tool registers them. */
  isRegistered: boolean
  /** The CA bundle in the last registration. */
  publishedBundle?: string | undefined
  health?: HealthServer
  certificates?: CertificateSource
  clientCa?: ClientCa
  server?: AdmissionServer
  /** Resolves when all kinds are cached. */
  synced?: Promise<void>
  /** Resolves when the loops run, or are not needed. */
  loops?: Promise<void>
}

/** The time for requests in flight when the server closes, in ms. */
export const CLOSE_SERVER_MS = 2500

/** Returns all parts, in the order in which they start. */
export function partsOf(app: AppState): Part[] {
  const registers = app.config.registration.mode !== 'none'
  const interpreter = openInterpreter(app.config, app.store)
  return [
    { name: 'configuration', stopsAt: 'last', start: () => undefined, stop: () => app.live.stop() },
    { name: 'wall clock', stopsAt: 'last', start: () => undefined, stop: () => app.wallClock.stop() },
    healthPart(app),
    certificatesPart(app, registers),
    // Stopped after the server, so that requests in flight can read the cache.
    { name: 'store', stopsAt: 'last', start: () => undefined, stop: () => app.store.stop() },
    clientCaPart(app),
    serverPart(app, interpreter),
    loopsPart(app),
    ...(app.readServerInfo ? [featuresPart(app, app.readServerInfo)] : []),
    ...(registers ? [registrationPart(app, interpreter)] : []),
  ]
}

function healthPart(app: AppState): Part {
  const { healthHost: host, healthPort: port, livenessStallSeconds } = app.config.server
  return {
    name: 'health server',
    stopsAt: 'last',
    async start() {
      const { notReady, metrics, log } = app
      const livenessStallMs = livenessStallSeconds * 1000
      app.health = await listen(
        { host, port, option: '--health-port', portKey: 'server.healthPort', hostKey: 'server.healthHost' },
        () => openHealthServer({ host, port, livenessStallMs, notReady, metrics, log }),
      )
    },
    stop: () => app.health?.close(),
  }
}

function certificatesPart(app: AppState, registers: boolean): Part {
  return {
    name: 'certificates',
    stopsAt: 'last',
    async start() {
      const isPublished = (bundle: string) => (registers ? app.publishedBundle === bundle : undefined)
      const observer = observeCertificates(app.log, app.metrics)
      app.certificates = await openServingCertificates(app.config, observer, app.wallClock.now, isPublished)
    },
    stop: () => app.certificates?.stop(),
  }
}

function clientCaPart(app: AppState): Part {
  return {
    name: 'client CA',
    stopsAt: 'last',
    start() {
      const changed = () => app.server?.useCertificate(materialOf(app))
      app.clientCa = openClientCa({ file: app.config.server.clientCaFile, log: app.log, changed })
    },
    stop: () => app.clientCa?.stop(),
  }
}

function serverPart(app: AppState, interpreter: Interpreter | undefined): Part {
  return {
    name: 'admission server',
    stopsAt: 'drainEnd',
    async start() {
      const { config, live, store, wallClock, log, metrics } = app
      const server = buildServer({
        webhooks: webhooksOf(workloadKindsOf(config)),
        ...(interpreter && { interpreter }),
        store,
        now: wallClock.now,
        jumps: wallClock.jumps,
        propagateDeps: config.dependencies.propagate,
        clusterScopedClaims: config.claims.clusterScoped,
        karmadaRules: app.karmada.rules,
        volumes: () => {
          const { volumes } = live.current()
          return { whenNotReady: volumes.whenNotReady, volumeLimits: volumes }
        },
        log,
        metrics,
        tls: materialOf(app),
        clientNames: config.server.clientNames,
        limits: limitsOf(config.server),
      })
      app.server = server
      app.certificates?.subscribe(() => server.useCertificate(materialOf(app)))
      const { host, port } = config.server
      await listen({ host, port, option: '--port', portKey: 'server.port', hostKey: 'server.host' }, () =>
        server.fastify.listen({ host, port }),
      )
    },
    stop: () => app.server?.close(CLOSE_SERVER_MS),
  }
}

/** Starts the store without waiting, and the loops after all kinds are cached: an incomplete cache must not cause actions. */
function loopsPart(app: AppState): Part {
  let stopLoops: (() => Promise<void>) | undefined
  return {
    name: 'loops',
    stopsAt: 'drainStart',
    start() {
      // Decisions wait for the rules of Karmada as they wait for the caches.
      app.synced = Promise.all([app.store.start(app.aborter.signal), app.karmada.refresh()]).then(() => undefined)
      app.loops = app.synced.then(async () => {
        if (!app.config.loops.enabled || app.isStopping) return
        stopLoops = await startLoops(app)
        if (app.isStopping) await stopLoops()
      })
      app.loops.catch(() => undefined) // The promise `ready` of the application reports the error.
    },
    stop: () => stopLoops?.(),
  }
}

/** An upgrade of the hub takes longer. */
const FEATURES_INTERVAL_MS = 600_000

/** Reports missing features after the caches are synced, which shows that the API server answers, and after an upgrade of the API server. */
function featuresPart(app: AppState, readServerInfo: FeaturesInput['readServerInfo']): Part {
  let timer: NodeJS.Timeout | undefined
  return {
    name: 'features',
    stopsAt: 'drainStart',
    start() {
      const { config, log, metrics } = app
      const usesGates = config.volumes.whenNotReady === 'gate'
      const report = openFeatureReport({ readServerInfo, usesGates, log, metrics })
      app.synced?.then(report, () => undefined)
      timer = setInterval(() => {
        void report()
        void app.karmada.refresh()
      }, FEATURES_INTERVAL_MS)
    },
    stop: () => clearInterval(timer),
  }
}

function registrationPart(app: AppState, interpreter: Interpreter | undefined): Part {
  let loop: ReturnType<typeof startRegistration> | undefined
  return {
    name: 'registration',
    stopsAt: 'drainStart',
    start() {
      const { config, store, log, metrics } = app
      const certificates = opened(app.certificates)
      const started = startRegistration({
        config,
        store,
        interpreter,
        certificates,
        log,
        metrics,
        registered() {
          app.isRegistered = true
        },
        published(bundle) {
          app.publishedBundle = bundle
        },
      })
      loop = started
      certificates.subscribe(() => started.trigger())
      // Only a synced store knows whether this is a hub, and can answer queries of the interpreter.
      app.synced?.then(started.trigger, () => undefined)
    },
    stop: () => loop?.stop(),
  }
}

/** Returns the current certificate and client CA. */
function materialOf(app: AppState): TlsMaterial {
  const { certPem: cert, keyPem: key } = opened(app.certificates).current()
  const ca = app.clientCa?.current()
  return { cert, key, ...(ca && { clientCa: ca }) }
}

function opened<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('a part was started before a part that it needs')
  return part
}

/** Answers the queries of Karmada's resource interpreter; undefined if dependencies are disabled and not cached. */
function openInterpreter(config: Config, store: ObjectStore): Interpreter | undefined {
  const { claims, dependencies } = config
  if (dependencies.distribution === 'none') return undefined
  const kinds = workloadKindsOf(config)
  return {
    types: interpreterTypes(kinds),
    isStored: (object) => isStoredWorkload(object, store),
    interpret: (object) => interpretObject(object, store, kinds, claims.clusterScoped),
  }
}
