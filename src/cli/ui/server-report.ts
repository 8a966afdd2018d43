/**
 * What the page shows about an installation: the leader, replicas, registration, certificates, versions, and the watches of the page itself.
 * Its sentences are those of `lodestone check-install`. It only reads, and never a Secret.
 */
import {
  ABSENCE_POLICIES,
  type ValidatingAdmissionPolicy,
  validatingAdmissionPolicies,
} from '../../api/admission-policy.ts'
import { type K8sObject, objectKey, type ResourceType } from '../../api/meta.ts'
import {
  DIGEST_ANNOTATION,
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  VERSION_ANNOTATION,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../../api/registration.ts'
import type { Config } from '../../app/config/config.ts'
import { VERSION } from '../../app/registration.ts'
import { defined, isObject } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import { formatAge } from '../../base/time/duration.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError, CredentialsError, RequestError } from '../../store/cluster/api-error.ts'
import { isUninstalling, type Lease, leaseHolder, leases } from '../../store/cluster/lease.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { type AnnouncedReplica, announcedReplicas } from '../../store/cluster/replica-list.ts'
import type { ObjectStore } from '../../store/store.ts'
import { parseCertificates } from '../../tls/x509.ts'
import { absence } from '../check-install/absence.ts'
import {
  type Check,
  type Finding,
  failed,
  type NamedFinding,
  passed,
  type ReadContext,
  runChecks,
  skipped,
  warning,
} from '../check-install/check.ts'
import { credentials } from '../check-install/credentials.ts'
import { certificateAuthority, registration } from '../check-install/registration.ts'
import { crds, karmadaVersion, kubernetesVersion } from '../check-install/versions.ts'

/** The report of an API server, or why there is none. */
export type ServerReport = { absent: string; versions: Versions } | FoundServer

interface Versions {
  /** Of the program that serves the page. */
  lodestone: string
  /** Absent if it cannot be read. */
  kubernetes?: string
}

export interface FoundServer {
  absent?: never
  /** When the API server was asked (RFC 3339). */
  readTime: string
  versions: Versions
  /** What `lodestone check-install` says, and what it says if a right is missing. */
  findings: NamedFinding[]
  /** Absent without a Lease, and without the right to read it. */
  leader?: LeaderReport
  replicas: ReplicaReport[]
  registrations: RegistrationReport[]
  certificates: CertificateReport[]
  watches: WatchReport[]
}

/** The announcement of a replica, without what is for the other replicas only. */
type ReplicaReport = Pick<AnnouncedReplica, 'host' | 'version' | 'registration' | 'time'>

interface LeaderReport {
  /** Empty if no replica holds the Lease. */
  holder: string
  since?: string
  renewTime?: string
  durationSeconds?: number
  /** How often another replica became the leader. */
  transitions?: number
  /** Whether the holder should have renewed it before now. */
  isOld: boolean
}

/** An object that makes the API server call Lodestone, or decide without it. */
interface RegistrationReport {
  kind: string
  name: string
  version?: string
  /** A digest of its webhooks, which depend on the version and the configuration. */
  digest?: string
  webhooks: number
  /** The number of webhooks with each failure policy. */
  failurePolicies: Record<string, number>
  /** The client that wrote it last. */
  writer?: { manager: string; time?: string }
}

interface CertificateReport {
  /** Its purpose, in words. */
  use: string
  /** Absent for a token. */
  subject?: string
  /** RFC 3339. */
  end: string
}

interface WatchReport {
  kind: string
  /** Since the last answer of the API server. */
  ageSeconds?: number
  /** Why the kind cannot be read. */
  problem?: string
}

export interface ServerReportInput {
  /** Absent for a folder. */
  connection: ApiConnection | undefined
  /** Leads to the cluster of the pod of the page, if it is another one. There is the Lease of a hub whose Lodestone runs in pods. */
  host?: ApiConnection | undefined
  store: ObjectStore
  config: Config
  signal: AbortSignal
  /** Milliseconds since the epoch. */
  now: () => number
  clock: Clock
}

/** The API server cannot be read at present. */
class UnavailableError extends Error {
  override name = 'UnavailableError'
  readonly statusCode = 503
}

/** Any number of readers cause one read in this time. */
export const KEPT_MS = 10_000
const TIMEOUT_MS = 20_000

const CHECKS: readonly Check<ReadContext>[] = [
  kubernetesVersion,
  karmadaVersion,
  crds,
  registration,
  certificateAuthority,
  absence,
  credentials,
]

/** Returns a function that reports the installation. It answers from the last report for `KEPT_MS`, and throws if the server does not respond. */
export function openServerReport(input: ServerReportInput): () => Promise<ServerReport> {
  const { connection, clock } = input
  const versions = { lodestone: VERSION }
  const absent = 'a folder has no server; to see one, start lodestone ui with --kubeconfig'
  if (!connection) return async () => ({ absent, versions })
  let last: { report: Promise<ServerReport>; at: number } | undefined
  return () => {
    if (last && clock.now() - last.at < KEPT_MS) return last.report
    const report = readServer(connection, input)
    const reading = { report, at: Number.POSITIVE_INFINITY }
    last = reading
    report.then(
      () => {
        reading.at = clock.now()
      },
      () => {
        last = undefined
      },
    )
    return report
  }
}

async function readServer(connection: ApiConnection, input: ServerReportInput): Promise<FoundServer> {
  const { config, now, store } = input
  const signal = AbortSignal.any([input.signal, AbortSignal.timeout(TIMEOUT_MS)])
  const context = { connection: readingOnce(connection), config, signal, now: now() }
  try {
    const inHost = input.host ? { ...context, connection: readingOnce(input.host) } : context
    const findings = [...(await runChecks([leader], inHost)), ...(await runChecks(CHECKS, context))]
    const lease = await orNothing(readLease(inHost))
    const registered = await readRegistered(context)
    return {
      readTime: new Date(context.now).toISOString(),
      versions: defined({ lodestone: VERSION, kubernetes: await readKubernetesVersion(context) }),
      findings,
      ...defined({ leader: lease && leaderReport(lease, context.now) }),
      replicas: lease ? announcedReplicas(lease).map(replicaReport) : [],
      registrations: registered.map(registrationReport),
      certificates: [...reportAuthorities(registered), ...(await credentialsEnd(connection))],
      watches: reportWatches(store),
    }
  } catch (error) {
    const isOurs = error instanceof RequestError || error instanceof CredentialsError || error === signal.reason
    if (!isOurs) throw error
    throw new UnavailableError(`the API server cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function replicaReport({ host, version, registration, time }: AnnouncedReplica): ReplicaReport {
  return defined({ host, version, registration, time })
}

/** Sends each GET once, so that all checks and rows of a report are about the same objects. */
function readingOnce(connection: ApiConnection): ApiConnection {
  const answers = new Map<string, Promise<unknown>>()
  return {
    ...connection,
    request(method, path, request) {
      if (method !== 'GET') throw new Error(`${method} ${path}: the page only reads`)
      const known = answers.get(path) ?? connection.request(method, path, request)
      answers.set(path, known)
      return known
    },
  }
}

/** A rejected read has a finding with the reason. */
async function orNothing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  return reading.catch((error) => {
    if (error instanceof ApiError) return undefined
    throw error
  })
}

function readLease({ connection, config: { leaderElection } }: ReadContext): Promise<Lease | undefined> {
  return readObject(connection, leases, leaderElection.namespace, leaderElection.name)
}

async function readKubernetesVersion({ connection }: ReadContext): Promise<string | undefined> {
  const found = await orNothing(connection.request('GET', '/version'))
  return isObject(found) ? String(found['gitVersion']) : undefined
}

function leaderReport(lease: Lease, now: number): LeaderReport {
  const { acquireTime, renewTime, leaseDurationSeconds, leaseTransitions } = lease.spec ?? {}
  return {
    holder: leaseHolder(lease),
    ...defined({
      since: acquireTime,
      renewTime,
      durationSeconds: leaseDurationSeconds,
      transitions: leaseTransitions,
    }),
    isOld: isOldLease(lease, now),
  }
}

type Registered = WebhookConfiguration | ValidatingAdmissionPolicy

async function readRegistered({ connection }: ReadContext): Promise<Registered[]> {
  const wanted: [ResourceType<Registered>, string][] = [
    [mutatingWebhookConfigurations as ResourceType<Registered>, REGISTRATION_NAME],
    [validatingWebhookConfigurations as ResourceType<Registered>, REGISTRATION_NAME],
    ...ABSENCE_POLICIES.map((name): [ResourceType<Registered>, string] => [
      validatingAdmissionPolicies as ResourceType<Registered>,
      name,
    ]),
  ]
  const found = await Promise.all(
    wanted.map(([type, name]) => orNothing(readObject(connection, type, undefined, name))),
  )
  return found.filter((object) => object !== undefined)
}

function registeredWebhooks(object: Registered): NonNullable<WebhookConfiguration['webhooks']> {
  return 'webhooks' in object ? (object.webhooks ?? []) : []
}

function registrationReport(object: Registered): RegistrationReport {
  const { annotations = {}, name = '' } = object.metadata
  const webhooks = registeredWebhooks(object)
  const policies = 'spec' in object ? [object.spec.failurePolicy] : webhooks.map(({ failurePolicy }) => failurePolicy)
  const counts = Map.groupBy(policies, (policy) => policy ?? 'Fail')
  return {
    kind: object.kind,
    name,
    ...defined({
      version: annotations[VERSION_ANNOTATION],
      digest: annotations[DIGEST_ANNOTATION],
      writer: lastWriter(object),
    }),
    webhooks: webhooks.length,
    failurePolicies: Object.fromEntries([...counts].map(([policy, of]) => [policy, of.length])),
  }
}

/** By the fields that the API server manages. */
function lastWriter({ metadata }: K8sObject): { manager: string; time?: string } | undefined {
  const { managedFields = [] } = metadata
  const [{ manager, time } = {}] = managedFields.toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))
  return manager === undefined ? undefined : defined({ manager, time })
}

/** The certificates in the CA bundles of webhooks, each once. An invalid bundle has a finding. */
function reportAuthorities(registered: readonly Registered[]): CertificateReport[] {
  const bundles = new Set(registered.flatMap(registeredWebhooks).map(({ clientConfig }) => clientConfig.caBundle ?? ''))
  return [...bundles].flatMap((bundle) => {
    try {
      return parseCertificates(Buffer.from(bundle, 'base64').toString('utf8')).map(({ x509, notAfter }) => ({
        use: 'CA of the webhooks',
        subject: x509.subject.replaceAll('\n', ', '),
        end: new Date(notAfter).toISOString(),
      }))
    } catch (error) {
      if (!(error instanceof Error)) throw error
      return []
    }
  })
}

async function credentialsEnd(connection: ApiConnection): Promise<CertificateReport[]> {
  const lifetime = await connection.credentialsLifetime()
  return lifetime ? [{ use: 'credentials of this page', end: new Date(lifetime.endsAt).toISOString() }] : []
}

function reportWatches(store: ObjectStore): WatchReport[] {
  const problems = new Map(store.unavailable().map(({ type, message }) => [type.kind, message]))
  return (store.contactAges?.() ?? []).map(({ kind, ageMs }) => ({
    kind,
    ...defined({
      ageSeconds: ageMs === undefined ? undefined : Math.round(ageMs / 1000),
      problem: problems.get(kind),
    }),
  }))
}

const DEFAULT_SECONDS = 15
/** Clocks of this machine and of the leader may differ by this much. */
const TOLERANCE_MS = 5_000

const leader: Check<ReadContext> = {
  name: 'leader',
  async run({ connection, config, now }) {
    const { namespace, name, enabled } = config.leaderElection
    if (!enabled) return skipped('leaderElection.enabled is false: each process writes')
    const lease = await readObject(connection, leases, namespace, name)
    return judgeLease(lease, objectKey(namespace, name), now)
  },
}

/** Decides on the Lease with this key. `now` in ms since the epoch. */
export function judgeLease(lease: Lease | undefined, key: string, now: number): Finding {
  if (!lease)
    return skipped(
      `there is no Lease ${key}: Lodestone did not run yet, runs without leader election, or its Lease is in the host cluster`,
    )
  if (isUninstalling(lease, now))
    return warning(`lodestone uninstall has Lease ${key}`, 'wait until the uninstallation ends')
  const holder = leaseHolder(lease)
  if (holder === '') return failed(`no replica holds Lease ${key}`, 'start Lodestone; see the log of its replicas')
  if (!isOldLease(lease, now)) return passed(`${holder} holds Lease ${key}`)
  const age = formatAge(now - Date.parse(lease.spec?.renewTime ?? ''))
  return failed(
    `${holder} has not renewed Lease ${key} for ${age}`,
    'check that Lodestone runs and reaches the API server; compare the clocks of this machine and Lodestone',
  )
}

/** Whether the holder should have renewed the Lease before now. */
function isOldLease({ spec = {} }: Lease, now: number): boolean {
  const { renewTime = '', leaseDurationSeconds = DEFAULT_SECONDS } = spec
  return !(now - Date.parse(renewTime) <= leaseDurationSeconds * 1000 + TOLERANCE_MS)
}
