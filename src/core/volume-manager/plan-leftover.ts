/** Plans the deletion of a leftover: one mover on its node, when the node is ready and no pod or other mover uses the data. */

import { objectKey } from '../../api/meta.ts'
import type { Node } from '../../api/node.ts'
import { type Pod, pods } from '../../api/pod.ts'
import { backoffMs } from '../../base/time/backoff.ts'
import { cut } from '../outcome.ts'
import { type EventAction, eventAbout, NOTHING, type Plan } from '../plan.ts'
import { MESSAGES } from './codes.ts'
import type { VolumeUser } from './input.ts'
import { apartFrom, directoryOfMover } from './mover/affinity.ts'
import { leftoverMover } from './mover/build.ts'
import { hasMoverEnded, type MoverState, moverState, scheduledAt } from './mover/observed-state.ts'
import { hasDiskPressure, readNodeHealth } from './nodes/feasibility.ts'
import { type Leftover, leftoverKey, readLeftover, removeLeftover } from './nodes/leftovers.ts'
import { deletePod } from './plan.ts'
import { podEndTime } from './pod-use.ts'
import type { VolumeSettings } from './rules/settings.ts'
import { openNodeSlots } from './schedule/slots.ts'
import { fromTime } from './time.ts'

export interface LeftoverInput {
  node: Node
  /** The digest of the leftover. */
  digest: string
  /** The movers of this leftover. */
  movers: readonly Pod[]
  /** The movers of all VolumeManagers and leftovers that have not ended, also those of its own VolumeManager that are being stopped. */
  active: readonly Pod[]
  /** The namespace of its mover. */
  namespace: string
  users: (directory: string) => readonly VolumeUser[]
  /** Whether a VolumeManager with this uid exists, or may exist, and is not being deleted. Then the VolumeManager itself manages the data. */
  isManaged: (uid: string) => boolean
  /** Why its last mover did not start; absent if none failed to. */
  refused?: RefusedLeftover | undefined
  settings: VolumeSettings
  now: number
}

/** A leftover whose mover the API server rejected, or whose mover did not start. */
export interface RefusedLeftover {
  failures: number
  /** In ms since the epoch. */
  retryAt: number
  message: string
}

/** How often a leftover is checked whose data is in use or whose mover waits. */
const CHECK_MS = 60_000
/** The pause after a mover that failed. */
const RETRY_MS = 300_000

/** The plan of one leftover. */
export interface LeftoverPlan extends Plan {
  /** Set if the mover did not start. */
  refused?: RefusedLeftover
}

/** An image that cannot be pulled counts as a failure without delay, so that the mover frees its slot. */
const NO_PATIENCE = Number.POSITIVE_INFINITY

/**
 * Plans one leftover. It needs no status, since the mover has the same name in every attempt. Nothing is written to the directory again: its
 * name has the uid of a deleted VolumeManager.
 */
export function planLeftover(input: LeftoverInput): LeftoverPlan {
  const { node, digest, movers, namespace, settings, isManaged, refused, now } = input
  const leftover = readLeftover(node, digest, settings)
  if (!leftover || isManaged(leftover.uid)) return NOTHING
  // A mover on a node that is not ready would occupy a slot.
  if (!readNodeHealth(node).isReady) return { actions: movers.flatMap(deletePod) }
  const [mover] = movers
  if (mover) return planMover(input, mover, leftoverTitle(leftover))
  const { users, active } = input
  const name = node.metadata.name ?? ''
  const { path } = leftover
  const isUsed = users(path).some((user) => user.node === name)
  const isWritten = active.some((pod) => pod.spec?.nodeName === name && directoryOfMover(pod) === path)
  const isFull = active.length >= settings.movers.maxInAll
  const slot =
    isUsed || isWritten || isFull ? undefined : openNodeSlots(active, settings.movers.maxPerNode).takeOn(name)
  if (slot === undefined) return { actions: [], requeueAfterMs: CHECK_MS }
  const waitMs = refused ? refused.retryAt - now : 0
  // A longer wait is from before the clock was set back.
  if (waitMs > 0 && waitMs <= START_BACKOFF.lastMs) return { actions: [], requeueAfterMs: waitMs }
  const key = leftoverKey(name, digest)
  const pod = apartFrom(
    active,
    leftoverMover({
      key,
      node: name,
      isCritical: hasDiskPressure(node),
      leftover,
      namespace,
      slot,
      settings: settings.movers,
    }),
  )
  return { actions: [{ kind: 'create', type: pods, object: pod }], requeueAfterMs: CHECK_MS }
}

/** In characters: the API server and its webhooks write the reason. */
const MAX_REFUSAL_LENGTH = 512

/** The wait after a rejection. */
const REFUSED_BACKOFF = { firstMs: 60_000, lastMs: 600_000 }
/** The wait after a mover that did not start. It is longer, since a mover has a slot while it does not start. */
const START_BACKOFF = { firstMs: 300_000, lastMs: 3_600_000 }

/** Plans the next attempt after the API server rejected the mover: later each time, with an Event about a new reason. */
export function planRefusal(
  { node, digest, namespace, settings, refused, now }: LeftoverInput,
  message: string,
): LeftoverPlan & { refused: RefusedLeftover } {
  const leftover = readLeftover(node, digest, settings)
  const { waitMs, isNew, ...next } = nextAttempt(refused, message, REFUSED_BACKOFF, now)
  return {
    actions: leftover && isNew ? [refusedEvent(node, leftover, namespace, message)] : [],
    requeueAfterMs: waitMs,
    ...next,
  }
}

/** When the next mover is created. `isNew`: whether the reason is another one than the last time. */
function nextAttempt(
  before: RefusedLeftover | undefined,
  message: string,
  backoff: typeof START_BACKOFF,
  now: number,
): { refused: RefusedLeftover; waitMs: number; isNew: boolean } {
  const failures = (before?.failures ?? 0) + 1
  const waitMs = backoffMs(backoff, failures)
  return { refused: { failures, retryAt: now + waitMs, message }, waitMs, isNew: message !== before?.message }
}

function refusedEvent(node: Node, leftover: Leftover, namespace: string, refusal: string): EventAction {
  const why = `${leftoverTitle(leftover)}: CreateRefused: ${cut(refusal, MAX_REFUSAL_LENGTH)}`
  const message = `${why}; it is retried; allow the mover in namespace ${namespace}, or set volumes.movers.namespace`
  return eventAbout(node, 'Warning', 'LeftoverFailed', message)
}

function leftoverTitle({ id, namespace, name }: Leftover): string {
  return `${id} of ${objectKey(namespace, name)}`
}

function planMover(input: LeftoverInput, mover: Pod, what: string): LeftoverPlan {
  const { node, digest, settings, now } = input
  const { name = '' } = node.metadata
  const state: MoverState = moverState(mover, NO_PATIENCE)
  switch (state.kind) {
    case 'succeeded': {
      const message = `${what}: data that was left on ${name} is deleted`
      const event = eventAbout(node, 'Normal', 'LeftoverDeleted', message)
      return { actions: [removeLeftover(node, digest), event, ...deletePod(mover)] }
    }
    case 'failed': {
      if (mover.metadata.deletionTimestamp) return { actions: [], requeueAfterMs: CHECK_MS }
      if (!hasMoverEnded(mover)) return planLater(input, mover, { what, why: `${state.code}: ${state.message}` })
      const endedAt = fromTime(podEndTime(mover.status)) ?? 0
      // An end in the future is by the clock of a node that was ahead.
      const waitMs = (endedAt > now ? scheduledAt(mover) : endedAt) + RETRY_MS - now
      if (waitMs > 0) return { actions: [], requeueAfterMs: waitMs }
      const message = `${what}: ${state.code}: ${state.message}; it is retried`
      const event = eventAbout(node, 'Warning', 'LeftoverFailed', message)
      return { actions: [event, ...deletePod(mover)], requeueAfterMs: CHECK_MS }
    }
    case 'waiting': {
      const waitedMs = now - (waitingSince(mover) ?? now)
      return waitedMs > settings.movers.prepareTimeoutSeconds * 1000
        ? planLater(input, mover, { what, why: `PrepareTimeout: ${MESSAGES.PrepareTimeout(state.message)}` })
        : { actions: [], requeueAfterMs: CHECK_MS }
    }
    default:
      return { actions: [], requeueAfterMs: CHECK_MS }
  }
}

/** Since when a mover waits: for a node, or on its node for its start. By the clocks of the control plane. */
function waitingSince({ status }: Pod): number | undefined {
  const placed = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  return fromTime(placed?.lastTransitionTime ?? undefined)
}

/** Plans the end of a mover that does not start, and a later one: its slot is one for all namespaces. An Event has a new reason. */
function planLater(
  { node, refused: before, now }: LeftoverInput,
  mover: Pod,
  { what, why }: { what: string; why: string },
): LeftoverPlan {
  const { waitMs, isNew, refused } = nextAttempt(before, why, START_BACKOFF, now)
  const event = eventAbout(node, 'Warning', 'LeftoverFailed', `${what}: ${why}; it is retried`)
  return { actions: [...(isNew ? [event] : []), ...deletePod(mover)], requeueAfterMs: waitMs, refused }
}
