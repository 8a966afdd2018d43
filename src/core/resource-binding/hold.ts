/** The hold annotation: when a hold began and whether it is over. Only the stored annotation counts, since any requester can send one. */

import type { FieldError } from '../../base/field-errors.ts'
import { msSince } from '../../base/time/clock-jumps.ts'
import { hasTarget, isSuspended } from '../placement/binding-state.ts'
import type { HoldAnnotation } from './annotations.ts'
import { activeHold } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import type { ParsedInput } from './parse-input.ts'

/** In ms. The API server waits at most 30 s for a webhook, so an older annotation that is not stored is not from this request. */
const SAME_REQUEST_MS = 30_000

type HoldInput = Pick<ParsedInput, 'now' | 'jumps' | 'annotations' | 'storedAnnotations'>

/**
 * Returns the annotation of a hold. A hold that is not stored yet begins now, or in the first round of this request. An annotation in the
 * request can neither release a hold nor make it older.
 *
 * @param timeoutSeconds how long the claims allow the hold to last; undefined for no limit
 */
export function holdAnnotation(
  { now, jumps, annotations, storedAnnotations }: HoldInput,
  cause: Pick<HoldAnnotation, 'message' | 'reason'>,
  timeoutSeconds: number | undefined,
): HoldAnnotation {
  const since = stateSince(storedAnnotations.hold?.since, annotations.hold?.since, now)
  const { message, reason } = cause
  const hold: HoldAnnotation = { message, reason, since }
  const isOver = timeoutSeconds !== undefined && msSince(since, { now, jumps }) >= timeoutSeconds * 1000
  return storedAnnotations.hold && (storedAnnotations.hold.released === true || isOver)
    ? { ...hold, released: true }
    : hold
}

/**
 * Returns an error if a write schedules a binding that is on hold, before and after the write. Karmada's scheduler reads the suspension
 * when it queues a binding, not when it schedules it (v1.18.1, pkg/scheduler/scheduler.go, doScheduleBinding). Without the error, a binding
 * that was queued before the hold would be scheduled to any cluster. The scheduler retries, and succeeds after the hold.
 */
export function scheduledOnHold({ binding, stored }: Pick<BindingInput, 'binding' | 'stored'>): FieldError[] {
  const isFirst = stored !== undefined && !hasTarget(stored.spec) && hasTarget(binding.spec)
  if (!isFirst || !isSuspended(binding.spec)) return []
  const hold = activeHold(stored)
  if (!hold) return []
  const message = `cannot be set while Lodestone has the workload on hold (${hold.reason}: ${hold.message}); it is scheduled when the hold ends`
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

/**
 * Returns when a state of an annotation began (RFC 3339): the stored time, or that of the first round of this request, or now.
 *
 * A stored time is not changed if the clocks of replicas differ a little: each replica would write its own. A time far in the future counts
 * as now, since the state would never end.
 */
export function stateSince(stored: string | undefined, sent: string | undefined, now: number): string {
  if (stored !== undefined && Date.parse(stored) <= now + MAX_CLOCK_SKEW_MS) return stored
  const since = Date.parse(sent ?? '')
  return new Date(since <= now && since > now - SAME_REQUEST_MS ? since : now).toISOString()
}

/** In ms. Nodes of a cluster keep their clocks closer together than this. */
const MAX_CLOCK_SKEW_MS = 30_000
