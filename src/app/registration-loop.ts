/**
 * Keeps the registrations current. Only the leader replaces them, and only if all live replicas want the same registration. The other replicas add
 * their CA.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { CLAIMED_WORKLOADS_POLICY, validatingAdmissionPolicies } from '../api/admission-policy.ts'
import type { InterpreterWebhookConfiguration } from '../api/interpreter.ts'
import { resourceBindings } from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { apiVersionOf } from '../api/meta.ts'
import {
  DIGEST_ANNOTATION,
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  type Replica,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { listDigest } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import { listNames } from '../base/names.ts'
import { type Clock, systemClock } from '../base/time/clock.ts'
import { describeExempt } from '../core/admission/exempt-namespaces.ts'
import { eventAbout } from '../core/plan.ts'
import type { EventReason } from '../core/signal-tables.ts'
import { type EventRecorder, openEventRecorder } from '../reconcile/event-recorder.ts'
import { Exemption, type ExemptionChange } from '../reconcile/exemption.ts'
import { type Loop, startLoop } from '../reconcile/loop.ts'
import { type LeaderTerm, Registrar, type RegistrarInput, type RegistrarResult } from '../reconcile/registrar.ts'
import type { KeepCause, KeptRegistration } from '../reconcile/registration-turn.ts'
import {
  compareAbsencePolicies,
  readAbsencePolicies,
  readAdmissionRegistration,
  readInterpreterRegistration,
} from '../reconcile/webhook-registration.ts'
import { ApiError } from '../store/cluster/api-error.ts'
import { APPLY_ROLES } from '../store/cluster/apply-roles.ts'
import { leases } from '../store/cluster/lease.ts'
import { ReplicaList } from '../store/cluster/replica-list.ts'
import { guardWrites } from '../store/guarded-store.ts'
import type { ObjectStore } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { CertificateSource, ServingCertificates } from '../tls/source.ts'
import type { Interpreter } from '../webhooks/interpreter.ts'
import type { Config } from './config/config.ts'
import { DENIED_REMEDY, type LeadershipState } from './election.ts'
import { openFailureLog } from './monitoring/failure-log.ts'
import { observeEvents } from './monitoring/observe.ts'
import {
  storedExemptNamespaces,
  VERSION,
  wantedAbsencePolicies,
  wantedInterpreterRegistration,
  wantedRegistration,
} from './registration.ts'
import type { RegistrationState } from './registration-state.ts'

const INTERVAL_MS = 10_000

export interface RegistrationInput {
  config: Config
  store: ObjectStore
  /** The store of the Lease, which has the list of replicas. */
  leaseStore: ObjectStore
  /** Whether the Lease is in another API server than the one that is served. */
  hasLeaseElsewhere?: boolean | undefined
  eventStore: ObjectStore
  interpreter: Interpreter | undefined
  certificates: CertificateSource
  leadership: LeadershipState
  /** Receives what is registered. */
  state: RegistrationState
  log: Logger
  metrics: Metrics
  /** Milliseconds since the epoch. */
  now: () => number
  /** Default: the clock of the system. */
  clock?: Clock
}

/** Keeps the registrations current until the returned loop is stopped. */
export function startRegistration(input: RegistrationInput): Loop {
  const { config, store, interpreter, certificates, leadership, state, log, metrics, clock = systemClock } = input
  const replicas = openReplicas(input, clock)
  const registrars = {
    admission: new Registrar(clock),
    interpreter: new Registrar(clock),
    absence: new Registrar(clock),
  }
  const events = openEvents(input)
  const report = openReport(input, events)
  const exemption = new Exemption({ store, clock, onChange: (change) => reportExemption(change, log, events) })

  async function reconcile(): Promise<void> {
    const served = certificates.current()
    const wanted: WantedRegistrations = {
      admission: wantedRegistration(config, served),
      interpreter: interpreter && wantedInterpreterRegistration(config, interpreter.types, served),
    }
    const own = describeReplica(wanted, served, input)
    const others = await replicas.announce(own)
    const term = leaderTerm(leadership, store)
    const context: RegistrarInput = { own, others, term, store }
    const keepsOtherCas = term === undefined || others.some(({ ca }) => ca !== own.ca)
    const read = await readAdmissionRegistration(store, wanted.admission, keepsOtherCas)
    const admission = await registrars.admission.run(read, context)
    // Called before the interpreter is registered: admission works already, and Karmada's own webhook may be unavailable while a hub
    // starts.
    if (admission.isServed) state.registered()
    const results = [admission, ...(await keepHubRegistrations(wanted.interpreter, keepsOtherCas, context))]
    // A new CA must not sign before all registrations have it.
    if (store.synced() && results.every(({ isServed }) => isServed)) state.published(served.caBundlePem)
    report(
      results.reduce((sum, { written }) => sum + written, 0),
      results.find(({ kept }) => kept)?.kept,
    )
  }

  /**
   * Keeps the interpreter and the admission policies of a hub current. Each is kept although the other one cannot be: roles are granted one by one.
   */
  async function keepHubRegistrations(
    wanted: InterpreterWebhookConfiguration | undefined,
    keepsOtherCas: boolean,
    context: RegistrarInput,
  ): Promise<RegistrarResult[]> {
    // Before it is synced, Lodestone neither knows whether this is a hub nor can answer queries.
    if (!store.synced() || !store.serves(resourceBindings)) return []
    const ended = await Promise.allSettled([keepInterpreter(), keepPolicies(context)])
    return ended.flatMap((one) => {
      if (one.status === 'rejected') throw one.reason
      return one.value ?? []
    })

    async function keepInterpreter(): Promise<RegistrarResult> {
      return registrars.interpreter.run(await readInterpreterRegistration(store, wanted, keepsOtherCas), context)
    }
  }

  /** Keeps the admission policies current, if the installation created them. */
  async function keepPolicies(context: RegistrarInput): Promise<RegistrarResult | undefined> {
    const policies = await readAbsencePolicies(store)
    if (policies.length === 0) return undefined
    const exempt = exemption.names(storedExemptNamespaces(policies, config), context.term !== undefined)
    const readPolicies = compareAbsencePolicies(policies, wantedAbsencePolicies(config, exempt), exempt)
    return registrars.absence.run(readPolicies, context)
  }

  const loop = startLoop({
    reconcile,
    intervalMs: INTERVAL_MS,
    onError(error, retryInMs) {
      metrics.registrations.labels('failed').inc()
      const reason = error instanceof Error ? error.message : String(error)
      log.warn(defined({ reason, remedy: remedyFor(error), retryInMs }), 'registration failed')
    },
  })
  leadership.subscribe(loop.trigger)
  return {
    trigger: loop.trigger,
    async stop() {
      await loop.stop()
      await replicas.leave()
    },
  }
}

/** Returns the way to grant the right that a request lacked: the Lease, with the list of replicas, has a role of its own. */
function remedyFor(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.status !== 403) return undefined
  return error.details.kind === leases.plural ? DENIED_REMEDY : APPLY_ROLES
}

/** The term of the leader, with a store that writes only while it lasts. */
function leaderTerm(state: LeadershipState, store: ObjectStore): LeaderTerm | undefined {
  const current = state.current()
  return current && { store: guardWrites(store, () => current.leadership.check()), sinceMs: current.sinceMs }
}

interface WantedRegistrations {
  admission: readonly WebhookConfiguration[]
  /** Undefined if Karmada does not ask Lodestone for dependencies. */
  interpreter: InterpreterWebhookConfiguration | undefined
}

/** Describes this replica for the others: what it wants to register, and with which CA. */
function describeReplica(
  { admission, interpreter }: WantedRegistrations,
  { caBundlePem }: ServingCertificates,
  { config, hasLeaseElsewhere }: RegistrationInput,
): Replica {
  const wanted = [...admission, ...(interpreter ? [interpreter] : []), ...wantedAbsencePolicies(config)]
  return {
    host: hostname(),
    version: VERSION,
    registration: listDigest(wanted.map(registeredDigest)),
    ...(caBundlePem !== undefined && { ca: listDigest([caBundlePem]) }),
    ...(hasLeaseElsewhere && { elsewhere: true }),
  }
}

function registeredDigest({ metadata: { annotations = {} } }: K8sObject): string {
  return annotations[DIGEST_ANNOTATION] ?? ''
}

/** Without an election there is one replica. */
function openReplicas({ config: { leaderElection }, leaseStore, log, now }: RegistrationInput, clock: Clock) {
  if (!leaderElection.enabled) return { announce: async () => [], leave: async () => undefined }
  const { namespace, name } = leaderElection
  const list = new ReplicaList({ store: leaseStore, namespace, name, id: randomUUID(), clock, now })
  return {
    announce: (own: Replica) => list.announce(own),
    leave: () => list.leave().catch((error: unknown) => log.debug({ reason: String(error) }, 'replica not removed')),
  }
}

const EVENTS: Readonly<Record<KeepCause, { type: 'Normal' | 'Warning'; reason: EventReason }>> = {
  otherReplicas: { type: 'Normal', reason: 'RegistrationKept' },
  unnamed: { type: 'Normal', reason: 'RegistrationKept' },
  reverted: { type: 'Warning', reason: 'RegistrationReverted' },
}

function openEvents({ eventStore, log, metrics, now }: RegistrationInput): EventRecorder {
  return openEventRecorder({ store: eventStore, now, observer: observeEvents(openFailureLog(log, now), metrics) })
}

/** Returns a function that reports the result of a run: in metrics, in `/readyz`, and, when it changes, in the log and in an Event. */
function openReport({ leadership, state, log, metrics }: RegistrationInput, events: EventRecorder) {
  let logged: string | undefined
  let recorded: string | undefined
  return (written: number, kept: KeptRegistration | undefined): void => {
    count(written, kept)
    state.keep(kept?.message)
    const isWhole = !kept && leadership.current() !== undefined
    if (written > 0) log.info({ written }, isWhole ? 'webhooks registered' : 'CA of the webhooks renewed')
    logChange(kept)
    recordChange(kept)
  }

  function count(written: number, kept: KeptRegistration | undefined): void {
    metrics.registrations.labels(kept ? 'kept' : written > 0 ? 'written' : 'current').inc()
    for (const cause of Object.keys(EVENTS)) metrics.registrationKept.labels(cause).set(cause === kept?.cause ? 1 : 0)
  }

  function logChange(kept: KeptRegistration | undefined): void {
    if (kept?.message === logged) return
    if (kept) log.warn({ cause: kept.cause, reason: kept.message }, 'registration kept')
    else log.info('registration is as wanted again')
    logged = kept?.message
  }

  /** Only the leader records it. A replica that becomes the leader later has logged the reason already. */
  function recordChange(kept: KeptRegistration | undefined): void {
    if (kept && (!leadership.current() || kept.message === recorded)) return
    if (kept) events.record({ kind: 'event', about: ABOUT, message: kept.message, ...EVENTS[kept.cause] })
    recorded = kept?.message
  }
}

/** Reports a change of the exempt namespaces in the log, and in an Event if there are more. */
function reportExemption({ exempt, added, removed }: ExemptionChange, log: Logger, events: EventRecorder): void {
  log.info(
    { added: listNames(added), removed: listNames(removed), exempt: exempt.length },
    'namespaces exempt from the policy for claimed workloads changed',
  )
  if (added.length === 0) return
  events.record(eventAbout(CLAIMED_WORKLOADS, 'Warning', 'NamespacesExempt', describeExempt(added)))
}

const CLAIMED_WORKLOADS: K8sObject = {
  apiVersion: apiVersionOf(validatingAdmissionPolicies),
  kind: validatingAdmissionPolicies.kind,
  metadata: { name: CLAIMED_WORKLOADS_POLICY },
}

const ABOUT: K8sObject = {
  apiVersion: apiVersionOf(mutatingWebhookConfigurations),
  kind: mutatingWebhookConfigurations.kind,
  metadata: { name: REGISTRATION_NAME },
}
