/** The parts of the application: each opens one thing at its start and closes it at its stop. */
import { interpretObject, isStoredWorkload } from '../queries/dependents.ts'
import { type HealthServer, openHealthServer } from '../server/health.ts'
import { type AdmissionServer, buildServer, type TlsMaterial } from '../server/server.ts'
import type { ObjectStore } from '../store/store.ts'
import type { CertificateSource } from '../tls/source.ts'
import { webhooks } from '../webhooks/index.ts'
import { type Interpreter, interpreterTypes } from '../webhooks/interpreter.ts'
import { openServingCertificates } from './certificates.ts'
import { type ClientCa, openClientCa } from './client-ca.ts'
import type { Config } from './config.ts'
import type { LiveConfig } from './live-config.ts'
import { type LoopsInput, startLoops } from './loops.ts'
import { observeCertificates } from './observe.ts'
import type { Part } from './parts.ts'
import { startRegistration } from './registration.ts'
import { limitsOf } from './server-config.ts'

/** The state that parts share: a part sets what it opens, and the parts after it read it. */
export interface AppState extends Omit<LoopsInput, 'live'> {
  live: LiveConfig
  /** The reasons why the application is not ready. */
  notReady: () => string[]
  /** Aborts when the drain is over. */
  aborter: AbortController
  isStopping: boolean
  /** Whether the API server calls the webhooks, or registration is not our task. */
  isRegistered: boolean
  /** The CA bundle that callers were given last. */
  publishedBundle?: string | undefined
  health?: HealthServer
  certificates?: CertificateSource
  clientCa?: ClientCa
  server?: AdmissionServer
  /** Resolves when every kind is read. */
  synced?: Promise<void>
  /** Resolves when the loops run, or when they need not. */
  loops?: Promise<void>
}

/** How long requests in flight have to end when the server closes. */
export const CLOSE_SERVER_MS = 2500

/** Every part, in the order of starting. */
export function partsOf(app: AppState): Part[] {
  const registers = app.config.registration.mode !== 'none'
  const interpreter = openInterpreter(app.config, app.store)
  return [
    { name: 'configuration', stopsAt: 'last', start: () => undefined, stop: () => app.live.stop() },
    healthPart(app),
    certificatesPart(app, registers),
    // Stopped after the server: a request in flight is still answered from memory.
    { name: 'store', stopsAt: 'last', start: () => undefined, stop: () => app.store.stop() },
    clientCaPart(app),
    serverPart(app, interpreter),
    loopsPart(app),
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
      app.health = await openHealthServer({
        host,
        port,
        livenessStallMs: livenessStallSeconds * 1000,
        notReady,
        metrics,
        log,
      })
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
      app.certificates = await openServingCertificates(app.config, observer, app.now, isPublished)
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
      const { config, live, store, now, log, metrics } = app
      const server = buildServer({
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
        tls: materialOf(app),
        clientNames: config.server.clientNames,
        limits: limitsOf(config.server),
      })
      app.server = server
      app.certificates?.subscribe(() => server.useCertificate(materialOf(app)))
      await server.fastify.listen({ host: config.server.host, port: config.server.port })
    },
    stop: () => app.server?.close(CLOSE_SERVER_MS),
  }
}

/** Reads the store, without a wait, and starts the loops when everything is read: an empty cache is no reason to act. */
function loopsPart(app: AppState): Part {
  let stopLoops: (() => Promise<void>) | undefined
  return {
    name: 'loops',
    stopsAt: 'drainStart',
    start() {
      app.synced = app.store.start(app.aborter.signal)
      app.loops = app.synced.then(async () => {
        if (!app.config.loops.enabled || app.isStopping) return
        stopLoops = await startLoops(app)
        if (app.isStopping) await stopLoops()
      })
      app.loops.catch(() => undefined) // The promise `ready` of the application reports it.
    },
    stop: () => stopLoops?.(),
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
        ...{ config, store, interpreter, certificates, log, metrics },
        registered() {
          app.isRegistered = true
        },
        published(bundle) {
          app.publishedBundle = bundle
        },
      })
      loop = started
      certificates.subscribe(() => started.trigger())
      // Now it is known whether this is a hub, and a query of the interpreter can be answered.
      app.synced?.then(started.trigger, () => undefined)
    },
    stop: () => loop?.stop(),
  }
}

/** The certificate and the client CA as they are now. */
function materialOf(app: AppState): TlsMaterial {
  const { certPem: cert, keyPem: key } = opened(app.certificates).current()
  const ca = app.clientCa?.current()
  return { cert, key, ...(ca && { clientCa: ca }) }
}

function opened<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('a part was started before a part that it needs')
  return part
}

/** Answers the queries of Karmada's resource interpreter. Absent where the kinds that an answer needs are not cached. */
function openInterpreter({ claims, dependencies }: Config, store: ObjectStore): Interpreter | undefined {
  if (dependencies.distribution === 'none') return undefined
  return {
    types: interpreterTypes,
    isStored: (object) => isStoredWorkload(object, store),
    interpret: (object) => interpretObject(object, store, claims.clusterScoped),
  }
}
