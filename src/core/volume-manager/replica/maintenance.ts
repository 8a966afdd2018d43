/**
 * The state machine of maintenance: checks of the data on a node, and refreshes of data that changed at its source.
 *
 * | State | Event | Next |
 * | --- | --- | --- |
 * | none, Failed | a check or a refresh is due, and the node is ready | Queued |
 * | none, Failed | the node has booted since the data was last found, and is ready | Queued: a check |
 * | none, Failed | a refresh is due, but pods use four replaced trees | Failed: it waits for the pods |
 * | Queued | its mover gets a slot | Running |
 * | Queued | the node is not ready, or a refresh and the spec has another source | none |
 * | Queued, Running | a refresh, and pods may write the data now | none: the mover is deleted |
 * | Running | the mover succeeded | none: its time is recorded |
 * | Running | a check found that data is lost | none: the data is downloaded again |
 * | Running | a check found files that pods have changed | Queued: it is repeated with the record |
 * | Running | the mover failed, was rejected, did not start in time, or stalled | Failed |
 * | Running | the mover was preempted | Queued |
 * | any | the data is not ready, or the volume is not in the spec | none |
 */
import { CHECK_ANNOTATION, REFRESH_ANNOTATION } from '../../../api/lodestone.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus, ReplicaDownload, ReplicaMaintenance, ReplicaUse } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { defined, without } from '../../../base/json.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { MESSAGES } from '../codes.ts'
import type { VolumeUser } from '../input.ts'
import type { MoverFailure, MoverSuccess } from '../mover/observed-state.ts'
import { moverSourceOf } from '../mover/source.ts'
import { ownerKey } from '../rules/names.ts'
import { isReadOnly, isRefreshable } from '../rules/published.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { MIN_REFRESH_SECONDS } from '../rules/volume-rules.ts'
import { fromTime } from '../time.ts'
import { isReady } from './download.ts'
import {
  enter,
  hasNewInput,
  inQueue,
  type Observation,
  stepWork,
  type Transition,
  withoutProgress,
} from './transition.ts'

/** The observed state of the maintenance of a replica. */
export interface MaintenanceObservation extends Observation {
  /** Undefined for a volume that is no longer in the spec, and for one with an invalid spec and no such mover. */
  config: VolumeConfig | undefined
  /** Whether the data is that of the source in the spec. A refresh of other data would replace it by data of the new source. */
  isCurrent: boolean
  /** Without a ready node, nothing is started: a check that cannot run says nothing about the data. */
  isNodeReady: boolean
  /** A digest of the boot of the node; undefined if its kubelet reports none. */
  boot?: string | undefined
  /** The pods that use the data on the node of the replica. */
  users: readonly VolumeUser[]
  requests: MaintenanceRequests
  /** From 0 to 1: when in each interval the replica is checked. */
  phase: number
}

/** Digests of the annotations that request a check or a refresh. */
export interface MaintenanceRequests {
  check?: string
  refresh?: string
}

/** The most replaced trees of a replica. A further refresh waits until pods that use them have ended. */
const MAX_OLD_TREES = 4
/**
 * The codes with which a check reports that data is lost. Any other failure says nothing about the data. The last two are those of `Local`
 * volumes, whose check asks no server. `PathNotMounted` is not one: the kubelet shows a Pod without a network in the same way
 * (pkg/kubelet/status, GeneratePodReadyToStartContainersCondition). The node would lose its label, and the DaemonSet controller deletes its pod then.
 */
const LOSSES: ReadonlySet<string> = new Set(['DataMissing', 'DataDamaged', 'NotFound', 'LinkInPath'])

/** The data of a replica: since when it is ready, and whether pods use it. */
type Data = Pick<ReplicaDownload, 'state' | 'since'> & ReplicaUse

/** The next maintenance, and what it found out about the data. */
export interface MaintenanceStep extends Transition<ReplicaMaintenance> {
  /** Why the data is lost; undefined if it is not. */
  loss?: MoverFailure
  /** The bytes on the node after a refresh; undefined if there was none. */
  refreshedBytes?: number | undefined
}

/** With a check or a refresh that waits, runs or failed. */
type Begun = ReplicaMaintenance & { maintenance: MaintenanceStatus }

type StepFrom = (known: Begun, data: Data, config: VolumeConfig, observed: MaintenanceObservation) => MaintenanceStep

const STATES: Readonly<Record<MaintenanceStatus['state'], StepFrom>> = {
  Queued: stepQueued,
  Running: stepRunning,
  Failed: stepIdle,
}

/** Computes the next maintenance of a replica. */
export function stepMaintenance(
  known: ReplicaMaintenance,
  data: Data,
  observed: MaintenanceObservation,
): MaintenanceStep {
  const { maintenance } = known
  const { config } = observed
  if (!isReady(data) || !config) return { next: without(known, 'maintenance') }
  return maintenance
    ? STATES[maintenance.state]({ ...known, maintenance }, data, config, observed)
    : stepIdle(known, data, config, observed)
}

/** Enters Running, for a mover that is created now. */
export function startMaintenance<T extends ReplicaMaintenance>(known: T, now: number): T {
  const { maintenance } = known
  if (!maintenance) return known
  const running = enter(withoutProgress(maintenance) as MaintenanceStatus, 'Running', now)
  return { ...known, maintenance: running, maintenances: maintenance.attempt }
}

/** Marks the requests as handled: data that was just downloaded needs neither a check nor a refresh. */
export function withHandled(known: ReplicaMaintenance, { check, refresh }: MaintenanceRequests): ReplicaMaintenance {
  return defined({
    ...known,
    handledCheck: check ?? known.handledCheck,
    handledRefresh: refresh ?? known.handledRefresh,
  })
}

/** Records in which boot of the node the data was found. */
export function withBoot(known: ReplicaMaintenance, boot: string | undefined): ReplicaMaintenance {
  return boot === undefined ? without(known, 'checkedBoot') : { ...known, checkedBoot: boot }
}

/** The replaced trees on the node of a replica after a mover. A mover that was killed may have replaced a tree without a report. */
export function withTrees(known: ReplicaMaintenance, { oldTrees = 0, replaced, endTime }: MoverSuccess) {
  const { oldTrees: before = 0, replacedTime } = known
  if (oldTrees === 0) return without(known, 'oldTrees', 'replacedTime')
  return defined({ ...known, oldTrees, replacedTime: replaced || oldTrees > before ? endTime : replacedTime })
}

/** If a mover exists, the controller was stopped between the creation of the mover and the write of the status. */
function stepQueued(known: Begun, data: Data, config: VolumeConfig, observed: MaintenanceObservation): MaintenanceStep {
  const { mover, isNodeReady, isCurrent, now } = observed
  if (mover) return stepRunning(startMaintenance(known, now), data, config, observed)
  const mayStart = isNodeReady && (known.maintenance.kind !== 'Refresh' || (isCurrent && isRefreshable(config)))
  return mayStart ? inQueue(known, now) : { next: without(known, 'maintenance') }
}

function stepIdle(
  known: ReplicaMaintenance,
  data: Data,
  config: VolumeConfig,
  observed: MaintenanceObservation,
): MaintenanceStep {
  const { isNodeReady, users, now } = observed
  const { maintenance, maintenances = 0, oldTrees = 0 } = known
  const [due] = dueMaintenance(known, data, config, observed).sort((a, b) => a.at - b.at)
  if (!due) return { next: without(known, 'maintenance') }
  if (!isNodeReady) return { next: known }
  if (due.at > now) return { next: known, dueAt: due.at }
  const { kind, request } = due
  const failures = maintenance?.kind === kind ? maintenance.failures : undefined
  const common = defined({ kind, attempt: maintenances + 1, failures, request, since: toTime(now) })
  if (kind === 'Refresh' && oldTrees >= MAX_OLD_TREES) {
    const explanation = { reason: 'InUse', message: MESSAGES.InUse(users[0]?.pod ?? '') }
    const waiting = { ...common, ...explanation, state: 'Failed' as const, retryTime: toTime(now + RETRY_MS) }
    return { next: { ...known, maintenance: waiting }, dueAt: now + RETRY_MS }
  }
  return inQueue({ ...known, maintenance: { ...common, state: 'Queued' } }, now)
}

function stepRunning(
  known: Begun,
  data: Data,
  config: VolumeConfig,
  observed: MaintenanceObservation,
): MaintenanceStep {
  const { maintenance, ...rest } = known
  const { mover, now } = observed
  const { kind } = maintenance
  if (kind !== 'Refresh' && mover?.kind === 'failed' && LOSSES.has(mover.code)) {
    // The check began before a pod used the data, so it compared files that the pod may have changed. It is repeated with the record.
    const isChangedByPods = mover.code === 'DataDamaged' && checkedContents(config, data) === 'record'
    return isChangedByPods
      ? stepIdle(rest, data, config, observed)
      : { next: handled(rest, maintenance, now), loss: mover }
  }
  const step = stepWork(maintenance, observed)
  // The spec was changed meanwhile. A refresh would drop files that pods write from now on.
  if (step && kind === 'Refresh' && !isRefreshable(config)) return stepIdle(rest, data, config, observed)
  if (!step) return finish(rest, maintenance, mover as MoverSuccess, observed)
  const { next, dueAt } = step
  if (next.state !== 'Failed') return { next: { ...known, maintenance: next }, dueAt }
  const isFinal = mover?.kind === 'failed' && !mover.retry
  // A scheduled check waits for its next time, unless the data may be lost since the node has booted.
  const isScheduled = kind === 'Check' && !hasBooted(known, observed)
  const at = isScheduled ? (nextCheck(now, observed) ?? now + RETRY_MS) : (fromTime(next.retryTime) ?? now)
  const failed = { ...next, retryTime: toTime(at) }
  return { next: { ...(isFinal ? handled(rest, maintenance, now) : rest), maintenance: failed }, dueAt: at }
}

/** Marks the request of a check or a refresh as handled. */
function handled(known: ReplicaMaintenance, { kind, request }: MaintenanceStatus, now: number): ReplicaMaintenance {
  if (request === undefined) return known
  return kind === 'Refresh'
    ? { ...known, handledRefresh: request }
    : { ...known, handledCheck: request, requestedCheckTime: toTime(now) }
}

function finish(
  known: ReplicaMaintenance,
  maintenance: MaintenanceStatus,
  mover: MoverSuccess,
  observed: MaintenanceObservation,
): MaintenanceStep {
  const { now } = observed
  const isRefresh = maintenance.kind === 'Refresh'
  const kept = withTrees(known, mover)
  // A refresh compares lists of the source, and looks at no file that is unchanged in them.
  const found = isRefresh
    ? { ...kept, refreshedTime: toTime(now) }
    : withBoot({ ...kept, checkedTime: toTime(now) }, observed.boot)
  const next = handled(found, maintenance, now)
  return { ...inQueue(next, now), refreshedBytes: isRefresh ? mover.bytes : undefined }
}

/** How often a refresh that waits for pods, and the deletion of old trees, is tried again. */
const RETRY_MS = 600_000

/**
 * The pause between two checks of a replica that annotations request. Each reads all data, so requests in a loop would take the slots of
 * other VolumeManagers. Scheduled checks do not count.
 */
const REQUESTED_CHECK_PAUSE_MS = 600_000

/** The pause after a check before one for another boot: a node reports its boots itself, and may do so in a loop. */
const BOOT_CHECK_PAUSE_MS = 600_000

/** A check or a refresh, and when it is due. */
interface Due {
  kind: MaintenanceStatus['kind']
  at: number
  request?: string | undefined
}

/** The checks and refreshes that a replica needs, and when. */
function dueMaintenance(
  known: ReplicaMaintenance,
  data: Data,
  config: VolumeConfig,
  observed: MaintenanceObservation,
): Due[] {
  const { requests, isCurrent, now } = observed
  const since = fromTime(data.since) ?? now
  const checked = Math.max(fromTime(known.checkedTime) ?? 0, since)
  const all: Due[] = []
  if (isCurrent && isRefreshable(config)) {
    const { refreshIntervalSeconds: seconds } = config
    const { refresh } = requests
    if (refresh && refresh !== known.handledRefresh) {
      const at = Math.max(now, (fromTime(known.refreshedTime) ?? 0) + MIN_REFRESH_SECONDS * 1000)
      all.push({ kind: 'Refresh', at, request: refresh })
    }
    if (seconds) all.push({ kind: 'Refresh', at: (fromTime(known.refreshedTime) ?? since) + seconds * 1000 })
  }
  if (isChecked(config, data)) {
    const requested = requestedCheckAt(known, observed)
    if (requested !== undefined) all.push({ kind: 'FullCheck', at: requested, request: requests.check })
    const at = nextCheck(checked, observed)
    // Another image may not know this verb.
    if (at !== undefined && config.mover?.image === undefined) all.push({ kind: 'Check', at })
    if (at !== undefined && config.mover?.image === undefined && hasBooted(known, observed)) {
      all.push({ kind: 'Check', at: Math.max(now, (fromTime(known.checkedTime) ?? 0) + BOOT_CHECK_PAUSE_MS) })
    }
    if (mayDeleteOldTrees(known, observed)) all.push({ kind: 'Check', at: Math.max(now, checked + RETRY_MS) })
  }
  return all.map((due) => ({ ...due, at: Math.max(due.at, retryAt(known, due, observed)) }))
}

/** When a check that an annotation requests begins; undefined without such a request. */
export function requestedCheckAt(
  { handledCheck, requestedCheckTime }: ReplicaMaintenance,
  { requests: { check }, now }: Pick<MaintenanceObservation, 'requests' | 'now'>,
): number | undefined {
  if (!check || check === handledCheck) return undefined
  return Math.max(now, (fromTime(requestedCheckTime) ?? 0) + REQUESTED_CHECK_PAUSE_MS)
}

/**
 * Whether the node has booted since the data was last found. Its disk may be another one, or its file system is not mounted. Instances with
 * local disks lose their data and keep their Node, with its uid.
 */
function hasBooted({ checkedBoot }: ReplicaMaintenance, { boot }: Pick<MaintenanceObservation, 'boot'>): boolean {
  return checkedBoot !== undefined && boot !== undefined && checkedBoot !== boot
}

/** A failed attempt of the same kind is retried at its retry time. A changed Secret or spec retries it at once. */
function retryAt(
  { maintenance }: ReplicaMaintenance,
  { kind }: Due,
  { retryTriggers, now }: MaintenanceObservation,
): number {
  if (maintenance?.kind !== kind || hasNewInput(retryTriggers)) return 0
  // It may be an interval of checks away, which is longer than every delay of a retry.
  const at = fromTime(maintenance.retryTime) ?? 0
  return at <= now ? 0 : at
}

/** The first time of the phase after the last check; undefined without scheduled checks. */
function nextCheck(last: number, { settings, phase }: MaintenanceObservation): number | undefined {
  const interval = settings.checks.intervalSeconds * 1000
  if (interval <= 0) return undefined
  const offset = Math.floor(phase * interval)
  return Math.floor((last - offset) / interval + 1) * interval + offset
}

/** Whether every pod with the data was started after the last replacement. Both times are by the clock of the node. */
function mayDeleteOldTrees(
  { oldTrees = 0, replacedTime }: ReplicaMaintenance,
  { users }: MaintenanceObservation,
): boolean {
  const replaced = fromTime(replacedTime) ?? 0
  return oldTrees > 0 && users.every(({ startTime }) => (fromTime(startTime) ?? 0) > replaced)
}

/** Whether the data of a replica can be checked: data that was downloaded, and directories of `Local` volumes. */
function isChecked(config: VolumeConfig, use: ReplicaUse): boolean {
  if (sourceTypeOf(config.sourceType).delivery === 'present') return true
  const source = moverSourceOf(config)
  // The record is beside the folder of the output, where pods may write.
  return source !== undefined && (!source.folder || checkedContents(config, use) === 'files')
}

/** What a check compares: with `record`, pods may have changed the files. */
export function checkedContents(config: VolumeConfig, { lastUsedTime, inUse }: ReplicaUse): 'record' | 'files' {
  const isUnused = lastUsedTime === undefined && !inUse
  return isReadOnly(config) || isUnused ? 'files' : 'record'
}

/** The time before which a mover may delete replaced trees: `all`, the start of the first pod, or undefined if a start is not known. */
export function deletableBefore(users: readonly VolumeUser[]): string | undefined {
  if (users.length === 0) return 'all'
  const starts = users.map(({ startTime }) => fromTime(startTime))
  return starts.every((start) => start !== undefined) ? toTime(Math.min(...starts)) : undefined
}

/** The checks and refreshes that annotations of a VolumeManager request. */
export function requestedMaintenance({ metadata }: VolumeManager): MaintenanceRequests {
  const { [CHECK_ANNOTATION]: check, [REFRESH_ANNOTATION]: refresh } = metadata.annotations ?? {}
  return defined({ check: check ? fnv1a(check) : undefined, refresh: refresh ? fnv1a(refresh) : undefined })
}

/** The phase of a replica, so that replicas that became ready together are not checked together. */
export function checkPhase(manager: VolumeManager, id: string, { index }: { index: number }): number {
  const digits = fnv1a(JSON.stringify([ownerKey(manager), id, index])).slice(-8)
  return Number.parseInt(digits, 36) / 36 ** digits.length
}
