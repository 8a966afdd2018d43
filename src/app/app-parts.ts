/** The parts of the application that consist of several others. Each function receives what its part needs, and returns the open part. */
import type { AddressInfo } from 'node:net'
import { defined } from '../base/json.ts'
import { aborted } from '../base/time/clock.ts'
import type { WallClock } from '../base/time/wall-clock.ts'
import { interpretObject, isStoredWorkload } from '../queries/dependents.ts'
import { type HealthOptions, type HealthServer, openHealthServer } from '../server/health.ts'
import { listen } from '../server/listen.ts'
import { type AdmissionServer, buildServer, type TlsMaterial } from '../server/server.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CertificateSource } from '../tls/source.ts'
import { allWebhooks } from '../webhooks/index.ts'
import { type Interpreter, interpreterTypes } from '../webhooks/interpreter.ts'
import type { ClientCa } from './client-ca.ts'
import type { Config } from './config/config.ts'
import { configuredDecisions } from './config/decision-settings.ts'
import type { LiveConfig } from './config/live-config.ts'
import { configuredLimits } from './config/server-config.ts'
import { configuredWorkloadKinds } from './config/workload-kinds-config.ts'
import { startElection } from './election.ts'
import { type FeaturesInput, openFeatureReport } from './features.ts'
import type { KarmadaVersion } from './karmada.ts'
import { type LoopsInput, startLoops } from './loops.ts'
import type { CredentialsReport } from './monitoring/credentials.ts'
import { type RegistrationInput, startRegistration } from './registration-loop.ts'

/** Resolves when the health server listens. */
export function openHealth({
  config,
  ...options
}: Pick<HealthOptions, 'notReady' | 'warnings' | 'log' | 'metrics'> & { config: Config }): Promise<HealthServer> {
  const { healthHost, healthPort: port, livenessStallSeconds } = config.server
  return listen(
    { host: healthHost, port, option: '--health-port', portKey: 'server.healthPort', hostSetting: 'server.healthHost' },
    (host) => openHealthServer({ host, port, livenessStallMs: livenessStallSeconds * 1000, ...options }),
  )
}

/** Answers the queries of Karmada's resource interpreter; undefined if dependencies are disabled and not cached. */
export function openInterpreter(config: Config, store: ObjectStore): Interpreter | undefined {
  const { claims, dependencies } = config
  if (dependencies.distribution === 'none') return undefined
  const kinds = configuredWorkloadKinds(config)
  return {
    types: interpreterTypes(kinds),
    isStored: (object) => isStoredWorkload(object, store),
    interpret: (object) => interpretObject(object, store, kinds, claims.clusterScoped),
  }
}

export interface AdmissionInput {
  config: Config
  live: LiveConfig
  store: ObjectStore
  wallClock: WallClock
  karmada: KarmadaVersion
  interpreter: Interpreter | undefined
  certificates: CertificateSource
  clientCa: ClientCa
  /** When it aborts, every response closes its connection. */
  stopping: AbortSignal
  log: Logger
  metrics: Metrics
}

/** Opens the admission server, which follows its certificate and its client CA. */
export function openAdmissionServer({
  config,
  live,
  store,
  wallClock,
  karmada,
  interpreter,
  certificates,
  clientCa,
  stopping,
  log,
  metrics,
}: AdmissionInput): AdmissionServer {
  function currentTls(): TlsMaterial {
    const { certPem: cert, keyPem: key } = certificates.current()
    return defined({ cert, key, clientCa: clientCa.current() })
  }
  const { kinds, ...decisions } = configuredDecisions(config)
  const server = buildServer({
    webhooks: allWebhooks(kinds),
    interpreter,
    store,
    now: wallClock.now,
    jumps: wallClock.jumps,
    propagateDeps: config.dependencies.propagate,
    ...decisions,
    karmadaRules: karmada.rules,
    loopsEnabled: config.loops.enabled,
    volumes: () => {
      const { volumes } = live.current()
      return { whenNotReady: volumes.whenNotReady, volumeLimits: volumes }
    },
    log,
    metrics,
    tls: currentTls(),
    clientNames: config.server.clientNames,
    limits: configuredLimits(config.server),
  })
  for (const source of [certificates, clientCa]) source.subscribe(() => server.useCertificate(currentTls()))
  stopping.addEventListener('abort', server.drain, { once: true })
  return server
}

/** Resolves to the port when the admission server listens. */
export async function listenForReviews({ fastify }: AdmissionServer, config: Config): Promise<number> {
  const { host, port } = config.server
  const address = { host, port, option: '--port', portKey: 'server.port', hostSetting: 'server.host' }
  await listen(address, (usable) => fastify.listen({ host: usable, port }))
  return (fastify.server.address() as AddressInfo).port
}

export interface LateLoops {
  /** Resolves when the loops run, or are not needed. */
  started: Promise<void>
  stop(): Promise<void>
}

/** Starts the loops after all kinds are cached: an incomplete cache must not cause actions. */
export function startLoopsAfter(synced: Promise<void>, input: LoopsInput, stopping: AbortSignal): LateLoops {
  let stop: (() => Promise<void>) | undefined
  const { config, metrics } = input
  // Without a value, an alert could not tell that no replica is the leader, for instance if none can read its objects.
  if (config.loops.enabled) metrics.leaderStatus.labels(config.leaderElection.name).set(0)
  const started = synced.then(async () => {
    if (stopping.aborted) return
    stop = config.loops.enabled ? await startLoops(input) : startIdleElection(input)
    if (stopping.aborted) await stop?.()
  })
  started.catch(() => undefined) // The promise `ready` of the application reports the error.
  return { started, stop: async () => stop?.() }
}

/** Elects the replica that writes the registration. */
function startIdleElection(input: LoopsInput): (() => Promise<void>) | undefined {
  const { config, leaseStore, leadership, log, wallClock } = input
  if (config.registration.mode === 'none') return undefined
  return startElection({
    config,
    leaseStore,
    state: leadership,
    work: aborted,
    onError: (error) => log.warn({ reason: String(error) }, 'leader election failed'),
    log,
    now: wallClock.now,
  })
}

/** An upgrade of the hub takes longer. */
const FEATURES_INTERVAL_MS = 600_000

export interface FeatureChecksInput extends Omit<FeaturesInput, 'usesGates'> {
  config: Config
  karmada: KarmadaVersion
}

/**
 * Reports missing features after the caches are synced, which shows that the API server answers, and after an upgrade of the API server.
 * Returns a function that stops the checks.
 */
export function startFeatureChecks(
  synced: Promise<void>,
  { config, karmada, ...input }: FeatureChecksInput,
): () => void {
  const report = openFeatureReport({ ...input, usesGates: config.volumes.whenNotReady === 'gate' })
  synced.then(report, () => undefined)
  const timer = setInterval(() => {
    void report()
    void karmada.refresh()
  }, FEATURES_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** A kubeconfig that is replaced shows within this time. */
const CREDENTIALS_INTERVAL_MS = 60_000

/** Checks now and regularly when the credentials end. Returns a function that stops the checks. */
export function startCredentialChecks({ check }: Pick<CredentialsReport, 'check'>): () => void {
  void check()
  const timer = setInterval(check, CREDENTIALS_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** Keeps the registration current, also after a change of the certificates. Returns a function that stops that. */
export function startRegistrationAfter(synced: Promise<void>, input: RegistrationInput): () => Promise<void> {
  const loop = startRegistration(input)
  input.certificates.subscribe(loop.trigger)
  // Only a synced store knows whether this is a hub, and can answer queries of the interpreter.
  synced.then(loop.trigger, () => undefined)
  return loop.stop
}
