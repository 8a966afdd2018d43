/** Registers Lodestone: with the API server for admission, and with Karmada's resource interpreter for dependencies. */

import type { InterpreterWebhookConfiguration } from '../api/interpreter.ts'
import { resourceBindings } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import type { WebhookConfiguration } from '../api/registration.ts'
import { defined } from '../base/json.ts'
import { type Loop, startLoop } from '../reconcile/loop.ts'
import { reconcileInterpreterRegistration, reconcileRegistration } from '../reconcile/webhook-registration.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CertificateSource, ServingCertificates } from '../tls/source.ts'
import { allWebhooks } from '../webhooks/index.ts'
import { type Interpreter, interpreterRegistrationOf } from '../webhooks/interpreter.ts'
import { type Registration, webhookConfigurations } from '../webhooks/registration.ts'
import type { Config } from './config/config.ts'
import { configuredWorkloadKinds } from './config/workload-kinds-config.ts'

/** Returns the webhook configurations that the API server should have, with the present CA bundle. */
export function wantedRegistration(
  config: Config,
  certificates?: Pick<ServingCertificates, 'caBundlePem'>,
): WebhookConfiguration[] {
  return webhookConfigurations(
    allWebhooks(configuredWorkloadKinds(config)),
    registrationTerms(config, certificates),
    toBase64,
  )
}

/** Returns the configuration for Karmada's resource interpreter; undefined if Lodestone does not serve it. */
export function wantedInterpreterRegistration(
  config: Config,
  types: readonly ResourceType[],
  certificates?: Pick<ServingCertificates, 'caBundlePem'>,
): InterpreterWebhookConfiguration | undefined {
  if (config.dependencies.distribution !== 'karmada') return undefined
  return interpreterRegistrationOf(types, registrationTerms(config, certificates), toBase64)
}

/** The namespaces that the registration excludes, with that of Lodestone. */
export function allExcludedNamespaces({ registration: { service, excludedNamespaces } }: Config): string[] {
  return [...new Set([...excludedNamespaces, service.namespace])]
}

function registrationTerms(config: Config, certificates?: Pick<ServingCertificates, 'caBundlePem'>): Registration {
  const { mode, url = '', service, timeoutSeconds } = config.registration
  return defined({
    target: mode === 'url' ? { url } : { service },
    caBundlePem: certificates?.caBundlePem,
    timeoutSeconds,
    excludedNamespaces: allExcludedNamespaces(config),
  })
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The registration in the API server. Its loop writes this state; readiness and the rotation of the CA read it. */
export interface RegistrationState {
  /** Whether the admission webhooks are registered, or another tool registers them. */
  isRegistered(): boolean
  /** Whether all registrations have this CA bundle; undefined if another tool registers. */
  isPublished(caBundlePem: string): boolean | undefined
  /** Called when the admission webhooks are registered with the present CA bundle; the interpreter may still be missing. */
  registered(): void
  /** Called when all registrations have this CA bundle. */
  published(caBundlePem: string | undefined): void
}

export function openRegistrationState({ registration }: Config): RegistrationState {
  const isOurs = registration.mode !== 'none'
  let isRegistered = !isOurs
  let bundle: string | undefined
  return {
    isRegistered: () => isRegistered,
    isPublished: (caBundlePem) => (isOurs ? bundle === caBundlePem : undefined),
    registered() {
      isRegistered = true
    },
    published(caBundlePem) {
      bundle = caBundlePem
    },
  }
}

const REGISTRATION_INTERVAL_MS = 10_000

export interface RegistrationInput {
  config: Config
  store: ObjectStore
  interpreter: Interpreter | undefined
  certificates: CertificateSource
  /** Receives what is registered. */
  state: RegistrationState
  log: Logger
  metrics: Metrics
}

/** Keeps the registration current until the returned loop is stopped. */
export function startRegistration({
  config,
  store,
  interpreter,
  certificates,
  state,
  log,
  metrics,
}: RegistrationInput): Loop {
  return startLoop({
    async reconcile() {
      const served = certificates.current()
      const admission = await reconcileRegistration(store, wantedRegistration(config, served))
      // Called before the interpreter is registered: admission works already, and Karmada's own webhook may be unavailable while a hub
      // starts.
      state.registered()
      const written = admission + (await registerInterpreter({ config, store, interpreter, served }))
      // A new CA must not sign before all registrations have it.
      if (store.synced()) state.published(served.caBundlePem)
      metrics.registrations.labels(written > 0 ? 'written' : 'current').inc()
      if (written > 0) log.info({ written }, 'webhooks registered')
    },
    intervalMs: REGISTRATION_INTERVAL_MS,
    onError(error, retryInMs) {
      metrics.registrations.labels('failed').inc()
      log.warn({ reason: error instanceof Error ? error.message : String(error), retryInMs }, 'registration failed')
    },
  })
}

/**
 * Registers Lodestone with Karmada's resource interpreter, or withdraws the registration. It acts only on a hub with a synced store: before
 * that, Lodestone neither knows whether this is a hub nor can answer queries.
 *
 * @returns how many configurations were written
 */
export async function registerInterpreter({
  config,
  store,
  interpreter,
  served,
}: {
  config: Config
  store: ObjectStore
  interpreter: Interpreter | undefined
  served: ServingCertificates
}): Promise<number> {
  if (!store.synced() || !store.serves(resourceBindings)) return 0
  const wanted = interpreter && wantedInterpreterRegistration(config, interpreter.types, served)
  return reconcileInterpreterRegistration(store, wanted)
}
