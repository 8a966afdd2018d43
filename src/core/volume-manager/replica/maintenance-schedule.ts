/** When a replica needs maintenance: scheduled checks, refreshes, and those that annotations request. */
import { CHECK_ANNOTATION, REFRESH_ANNOTATION } from '../../../api/lodestone.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import type { VolumeUser } from '../input.ts'
import { contentsOf } from '../mover/check-contents.ts'
import { moverSourceOf } from '../mover/source.ts'
import { ownerKey } from '../rules/names.ts'
import { isRefreshable } from '../rules/published.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { MIN_REFRESH_SECONDS } from '../rules/volume-rules.ts'
import { fromTime } from '../time.ts'
import { hasNewInput, type Observation } from './transition.ts'

export interface MaintenanceObservation extends Observation {
  /** Undefined for a volume that is no longer in the spec, and for one with an invalid spec and no such mover. */
  config: VolumeConfig | undefined
  /** Without a ready node, nothing is started: a check that cannot run says nothing about the data. */
  isNodeReady: boolean
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

/** How often a refresh that waits for pods, and the deletion of old trees, is tried again. */
export const RETRY_MS = 600_000

/**
 * The pause between two checks of a replica that annotations request. Each reads all data, so requests in a loop would take the slots of
 * other VolumeManagers. Scheduled checks do not count.
 */
const REQUESTED_CHECK_PAUSE_MS = 600_000

/** A check or a refresh, and when it is due. */
export interface Due {
  kind: MaintenanceStatus['kind']
  at: number
  request?: string | undefined
}

/** The maintenance that a replica needs, and when. */
export function dueOf(replica: ReplicaStatus, config: VolumeConfig, observed: MaintenanceObservation): Due[] {
  const { requests, now } = observed
  const since = fromTime(replica.since) ?? now
  const checked = Math.max(fromTime(replica.checkedTime) ?? 0, since)
  const all: Due[] = []
  if (isRefreshable(config)) {
    const { refreshIntervalSeconds: seconds } = config
    const { refresh } = requests
    if (refresh && refresh !== replica.handledRefresh) {
      const at = Math.max(now, (fromTime(replica.refreshedTime) ?? 0) + MIN_REFRESH_SECONDS * 1000)
      all.push({ kind: 'Refresh', at, request: refresh })
    }
    if (seconds) all.push({ kind: 'Refresh', at: (fromTime(replica.refreshedTime) ?? since) + seconds * 1000 })
  }
  if (isChecked(config, replica)) {
    const requested = requestedCheckAt(replica, observed)
    if (requested !== undefined) all.push({ kind: 'FullCheck', at: requested, request: requests.check })
    const at = nextCheck(checked, observed)
    // Another image may not know this verb.
    if (at !== undefined && config.mover?.image === undefined) all.push({ kind: 'Check', at })
    if (mayDeleteOldTrees(replica, observed)) all.push({ kind: 'Check', at: Math.max(now, checked + RETRY_MS) })
  }
  return all.map((due) => ({ ...due, at: Math.max(due.at, retryAt(replica, due, observed)) }))
}

/** When a check that an annotation requests begins; undefined without such a request. */
export function requestedCheckAt(
  { handledCheck, requestedCheckTime }: ReplicaStatus,
  { requests: { check }, now }: Pick<MaintenanceObservation, 'requests' | 'now'>,
): number | undefined {
  if (!check || check === handledCheck) return undefined
  return Math.max(now, (fromTime(requestedCheckTime) ?? 0) + REQUESTED_CHECK_PAUSE_MS)
}

/** A failed attempt of the same kind is retried at its retry time. A changed Secret or spec retries it at once. */
function retryAt(
  { maintenance }: ReplicaStatus,
  { kind }: Due,
  { retryTriggers, now }: MaintenanceObservation,
): number {
  if (maintenance?.kind !== kind || hasNewInput(retryTriggers)) return 0
  // It may be an interval of checks away, which is longer than every delay of a retry.
  const at = fromTime(maintenance.retryTime) ?? 0
  return at <= now ? 0 : at
}

/** The first time of the phase after the last check; undefined without scheduled checks. */
export function nextCheck(last: number, { settings, phase }: MaintenanceObservation): number | undefined {
  const interval = settings.checks.intervalSeconds * 1000
  if (interval <= 0) return undefined
  const offset = Math.floor(phase * interval)
  return Math.floor((last - offset) / interval + 1) * interval + offset
}

/** Whether every pod with the data was started after the last replacement. Both times are by the clock of the node. */
function mayDeleteOldTrees({ oldTrees = 0, replacedTime }: ReplicaStatus, { users }: MaintenanceObservation): boolean {
  const replaced = fromTime(replacedTime) ?? 0
  return oldTrees > 0 && users.every(({ startTime }) => (fromTime(startTime) ?? 0) > replaced)
}

/** Whether the data of a replica can be checked: data that was downloaded, and directories of `Local` volumes. */
function isChecked(config: VolumeConfig, replica: ReplicaStatus): boolean {
  if (sourceTypeOf(config.sourceType).delivery === 'present') return true
  const source = moverSourceOf(config)
  // The record is beside the folder of the output, where pods may write.
  return source !== undefined && (!source.folder || contentsOf(config, replica) === 'files')
}

export function requestsOf({ metadata }: VolumeManager): MaintenanceRequests {
  const { [CHECK_ANNOTATION]: check, [REFRESH_ANNOTATION]: refresh } = metadata.annotations ?? {}
  return { ...(check && { check: fnv1a(check) }), ...(refresh && { refresh: fnv1a(refresh) }) }
}

/** The phase of a replica, so that replicas that became ready together are not checked together. */
export function phaseOf(manager: VolumeManager, id: string, { index }: ReplicaStatus): number {
  const digits = fnv1a(JSON.stringify([ownerKey(manager), id, index])).slice(-8)
  return Number.parseInt(digits, 36) / 36 ** digits.length
}
