/** Lists the reasons why the application is not ready. */
import { VOLUME_FINALIZER } from '../../api/lodestone.ts'
import { keyOfObject, type ResourceType } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { listNames } from '../../base/names.ts'
import type { NotReady } from '../../server/health-protocol.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { CertificateSource, ServingCertificates } from '../../tls/source.ts'
import type { Config } from '../config/config.ts'
import type { LeadershipState } from '../election.ts'
import type { KarmadaVersion } from '../karmada.ts'
import type { RegistrationState } from '../registration-state.ts'

/** An idle watch receives a bookmark about every minute. After this silence, the cache may be out of date. */
const STALE_AFTER_MS = 5 * 60_000

export interface ReadinessInput {
  store: ObjectStore
  karmada: Pick<KarmadaVersion, 'isRead'>
  registration: Pick<RegistrationState, 'isRegistered'>
  leadership: Pick<LeadershipState, 'denied'>
  /** Aborts when the application stops. */
  stopping: AbortSignal
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface Readiness {
  /** Returns the reasons why the application is not ready; empty if it is. */
  reasons(): NotReady[]
  /** Called once, when a certificate is available. The health server answers before that. */
  useCertificates(certificates: Pick<CertificateSource, 'current'>): void
}

export function openReadiness(input: ReadinessInput): Readiness {
  let certificates: Pick<CertificateSource, 'current'> | undefined
  return {
    reasons: () => reasonsNotReady(input, certificates?.current()),
    useCertificates(opened) {
      certificates = opened
    },
  }
}

function reasonsNotReady(
  { store, karmada, registration, leadership, stopping, now }: ReadinessInput,
  certificate: ServingCertificates | undefined,
): NotReady[] {
  return [
    ...as('shutdown', stopping.aborted ? ['shutting down'] : []),
    ...as('certificate', certificateReasons(certificate, now())),
    ...as(
      'caches',
      store.unsynced().map((type) => `${kindTitle(type, store)} cache not synced`),
    ),
    ...as('caches', karmada.isRead() ? [] : ['rules of Karmada not read']),
    ...as('election', electionReasons(leadership)),
    ...as('registration', registration.isRegistered() ? [] : ['webhooks not registered yet']),
    ...as(
      'kinds',
      store.unavailable().map(({ type, message }) => `${kindTitle(type, store)} objects are not available: ${message}`),
    ),
    ...staleReasons(store),
  ]
}

/** Several projects have a kind of the same name, such as Job. */
function kindTitle({ kind, group }: ResourceType, store: Pick<ObjectStore, 'kinds'>): string {
  const isShared = store.kinds().some((other) => other.kind === kind && other.group !== group)
  return isShared ? `${kind} (${group || 'core'})` : kind
}

function as(check: NotReady['check'], messages: readonly string[]): NotReady[] {
  return messages.map((message) => ({ check, message }))
}

/** A replica that cannot lead must not replace one that does, in a rolling update. One that lost the right continues to serve. */
function electionReasons({ denied }: ReadinessInput['leadership']): string[] {
  const denial = denied()
  return denial?.isFirst ? [denial.reason] : []
}

/** Returns the warning of a replica that lost the right to the Lease; undefined if it has it. */
export function electionWarning({ denied }: ReadinessInput['leadership']): string | undefined {
  const denial = denied()
  return denial && !denial.isFirst ? denial.reason : undefined
}

/** Returns the warning that data was brought to nodes before `volumes.enabled` was set to false; undefined if it was not. */
export function volumesWarning(
  { volumes }: { volumes: Pick<Config['volumes'], 'enabled'> },
  store: Pick<ObjectStore, 'list' | 'synced'>,
): string | undefined {
  if (volumes.enabled || !store.synced()) return undefined
  const managed = [...store.list(volumeManagers)].filter(({ metadata }) =>
    metadata.finalizers?.includes(VOLUME_FINALIZER),
  )
  if (managed.length === 0) return undefined
  const names = listNames(managed.map(keyOfObject))
  return `volumes.enabled is false, so these VolumeManagers get no data, and their deletion does not end: ${names}; set it to true, and delete them first`
}

function certificateReasons(certificate: ServingCertificates | undefined, now: number): string[] {
  if (!certificate) return ['no certificate yet']
  if (certificate.notAfter > now) return []
  return [`the serving certificate expired at ${new Date(certificate.notAfter).toISOString()}`]
}

/**
 * Returns the kinds without a response. If the API server responds for others, a right or an aggregated server is missing. Each replica lacks the
 * same kind then, and none may leave the Service.
 */
function staleReasons(store: ObjectStore): NotReady[] {
  const ages = store.contactAges?.() ?? []
  const isStale = ({ ageMs = 0 }: (typeof ages)[number]) => ageMs > STALE_AFTER_MS
  const isCutOff = ages.every((age) => age.ageMs === undefined || isStale(age))
  const messages = ages
    .filter(isStale)
    .map(({ kind }) => `no watch event of ${kind} for ${STALE_AFTER_MS / 60_000} minutes`)
  return as(isCutOff ? 'watches' : 'kinds', messages)
}
