/** The state machine of maintenance: checks of the data on a node, and refreshes of data that changed at its source. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { MaintenanceStatus, ReplicaStatus } from '../../../api/volume-status.ts'
import { without } from '../../../base/json.ts'
import { MESSAGES } from '../codes.ts'
import { contentsOf } from '../mover/check-contents.ts'
import type { MoverSuccess } from '../mover/observed-state.ts'
import { fromTime, toTime } from '../time.ts'
import { isReady, lose, treesOf } from './download.ts'
import {
  dueOf,
  type MaintenanceObservation,
  type MaintenanceRequests,
  nextCheck,
  RETRY_MS,
} from './maintenance-schedule.ts'
import { enter, inQueue, stepWork, type Transition, withoutProgress } from './transition.ts'

/** The most replaced trees of a replica. A further refresh waits until pods that use them have ended. */
const MAX_OLD_TREES = 4
/**
 * The codes with which a check reports that data is lost. Any other failure says nothing about the data. The last three are those of `Local`
 * volumes, whose check asks no server.
 */
const LOSSES: ReadonlySet<string> = new Set(['DataMissing', 'DataDamaged', 'PathNotMounted', 'NotFound', 'LinkInPath'])

/** Marks the requests as handled: data that was just downloaded needs neither a check nor a refresh. */
export function withHandled(replica: ReplicaStatus, { check, refresh }: MaintenanceRequests): ReplicaStatus {
  return { ...replica, ...(check && { handledCheck: check }), ...(refresh && { handledRefresh: refresh }) }
}

/** Computes the next status of the maintenance of a replica. */
export function stepMaintenance(replica: ReplicaStatus, observed: MaintenanceObservation): Transition<ReplicaStatus> {
  const { maintenance, ...rest } = replica
  const { config, now } = observed
  if (!isReady(replica) || !config) return { next: maintenance ? rest : replica }
  switch (maintenance?.state) {
    case 'Running':
      return stepRunning(replica, maintenance, config, observed)
    case 'Queued': {
      if (!observed.mover) return observed.isNodeReady ? inQueue(replica, now) : { next: rest }
      const started = startMaintenance(replica, now)
      return stepRunning(started, started.maintenance ?? maintenance, config, observed)
    }
    default:
      return stepIdle(replica, config, observed)
  }
}

/** Enters Running, for a mover that is created now. */
export function startMaintenance(replica: ReplicaStatus, now: number): ReplicaStatus {
  const { maintenance } = replica
  if (!maintenance) return replica
  const running = enter(withoutProgress(maintenance) as MaintenanceStatus, 'Running', now)
  return { ...replica, maintenance: running, maintenances: maintenance.attempt }
}

function stepIdle(
  replica: ReplicaStatus,
  config: VolumeConfig,
  observed: MaintenanceObservation,
): Transition<ReplicaStatus> {
  const { isNodeReady, users, now } = observed
  const { maintenance, ...rest } = replica
  const { maintenances = 0, oldTrees = 0 } = replica
  const [due] = dueOf(replica, config, observed).sort((a, b) => a.at - b.at)
  if (!due) return { next: maintenance ? rest : replica }
  if (!isNodeReady) return { next: replica }
  if (due.at > now) return { next: replica, dueAt: due.at }
  const { kind, request } = due
  const failures = maintenance?.kind === kind ? maintenance.failures : undefined
  const common = { kind, attempt: maintenances + 1, ...(failures && { failures }), ...(request && { request }) }
  if (kind === 'Refresh' && oldTrees >= MAX_OLD_TREES) {
    const message = MESSAGES.InUse(users[0]?.pod ?? '')
    const retryTime = toTime(now + RETRY_MS)
    const waiting = { ...common, state: 'Failed' as const, reason: 'InUse', message, since: toTime(now), retryTime }
    return { next: { ...replica, maintenance: waiting }, dueAt: now + RETRY_MS }
  }
  return inQueue({ ...replica, maintenance: { ...common, state: 'Queued', since: toTime(now) } }, now)
}

function stepRunning(
  replica: ReplicaStatus,
  maintenance: MaintenanceStatus,
  config: VolumeConfig,
  observed: MaintenanceObservation,
): Transition<ReplicaStatus> {
  const { maintenance: _, ...rest } = replica
  const { mover, now } = observed
  const { kind } = maintenance
  if (kind !== 'Refresh' && mover?.kind === 'failed' && LOSSES.has(mover.code)) {
    // The check began before a pod used the data, so it compared files that the pod may have changed. It is repeated with the record.
    const isChangedByPods = mover.code === 'DataDamaged' && contentsOf(config, replica) === 'record'
    return isChangedByPods
      ? stepIdle(rest, config, observed)
      : lose({ ...rest, ...handledBy(maintenance, now) }, mover, now)
  }
  const step = stepWork(maintenance, observed)
  if (!step) return inQueue(finished(rest, maintenance, mover as MoverSuccess, now), now)
  const { next, dueAt } = step
  if (next.state !== 'Failed') return { next: { ...replica, maintenance: next }, dueAt }
  const isFinal = mover?.kind === 'failed' && !mover.retry
  const handled = isFinal ? handledBy(maintenance, now) : {}
  // A scheduled check waits for its next time.
  const at = kind === 'Check' ? (nextCheck(now, observed) ?? now + RETRY_MS) : (fromTime(next.retryTime) ?? now)
  return { next: { ...rest, ...handled, maintenance: { ...next, retryTime: toTime(at) } }, dueAt: at }
}

function handledBy({ kind, request }: MaintenanceStatus, now: number): Partial<ReplicaStatus> {
  if (request === undefined) return {}
  return kind === 'Refresh' ? { handledRefresh: request } : { handledCheck: request, requestedCheckTime: toTime(now) }
}

function finished(
  replica: ReplicaStatus,
  maintenance: MaintenanceStatus,
  mover: MoverSuccess,
  now: number,
): ReplicaStatus {
  const rest = without(replica, 'oldTrees', 'replacedTime')
  return {
    ...rest,
    ...(maintenance.kind === 'Refresh' ? { refreshedTime: toTime(now) } : { checkedTime: toTime(now) }),
    ...(maintenance.kind === 'Refresh' && mover.bytes !== undefined && { bytes: mover.bytes }),
    ...treesOf(replica, mover),
    ...handledBy(maintenance, now),
  }
}
