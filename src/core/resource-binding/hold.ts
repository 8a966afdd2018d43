/** The hold annotation: when a hold began and whether it is over. Only the stored annotation counts, since any requester can send one. */
import type { FieldError } from '../field-errors.ts'
import type { HoldAnnotation } from './annotations.ts'
import { activeHold } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import type { ParsedInput } from './parse-input.ts'

/** In ms. The API server waits at most 30 s for a webhook, so an older annotation that is not stored is not from this request. */
const SAME_REQUEST_MS = 30_000

type HoldInput = Pick<ParsedInput, 'now' | 'annotations' | 'storedAnnotations'>

/**
 * Returns the annotation of a hold. A hold that is not stored yet begins now, or in the first round of this request. An annotation in the
 * request can neither release a hold nor make it older.
 *
 * @param timeoutSeconds how long the claims allow the hold to last; undefined for no limit
 */
export function holdAnnotation(
  { now, annotations, storedAnnotations }: HoldInput,
  cause: Pick<HoldAnnotation, 'message' | 'reason'>,
  timeoutSeconds: number | undefined,
): HoldAnnotation {
  const since = storedAnnotations.hold
    ? Math.min(Date.parse(storedAnnotations.hold.since), now)
    : firstRound(annotations.hold, now)
  const { message, reason } = cause
  const hold: HoldAnnotation = { message, reason, since: new Date(since).toISOString() }
  const isOver = timeoutSeconds !== undefined && now - since >= timeoutSeconds * 1000
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
  const isFirst = stored !== undefined && !stored.spec.clusters?.length && !!binding.spec.clusters?.length
  if (!isFirst || binding.spec.suspension?.scheduling !== true) return []
  const hold = activeHold(stored)
  if (!hold) return []
  const message = `cannot be set while Lodestone has the workload on hold (${hold.reason}: ${hold.message}); it is scheduled when the hold ends`
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

/** When the hold began, in ms since the epoch: the time in the annotation if the first round of this request wrote it, else `now`. */
function firstRound(hold: HoldAnnotation | undefined, now: number): number {
  const since = Date.parse(hold?.since ?? '')
  return since <= now && since > now - SAME_REQUEST_MS ? since : now
}
