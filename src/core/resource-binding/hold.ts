/** The hold annotation: when a hold began, and whether it is over. Only the stored annotation counts, since any requester can write one. */
import type { FieldError } from '../field-errors.ts'
import { type HoldAnnotation, readAnnotations } from './annotations.ts'
import type { BindingInput } from './input.ts'
import type { ParsedInput } from './parse-input.ts'

/** The API server waits at most 30 s for a webhook: an older annotation that is not stored comes from another request. In ms. */
const SAME_REQUEST_MS = 30_000

type HoldInput = Pick<ParsedInput, 'now' | 'annotations' | 'storedAnnotations'>

/**
 * The annotation of a hold. A hold that is not stored yet begins now, or in the first round of this request. An annotation in the
 * request can neither release it nor make it older.
 *
 * @param timeoutSeconds how long the claims let it last; undefined for as long as it takes
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
 * An error when a write schedules a binding that is stored on hold and stays on hold. Karmada's scheduler reads the suspension when it
 * queues a binding, not when it schedules it (v1.18.1, pkg/scheduler/scheduler.go, doScheduleBinding). A binding that was queued before
 * the hold would run anywhere. The scheduler retries, and succeeds after the hold.
 */
export function scheduledOnHold({ binding, stored }: Pick<BindingInput, 'binding' | 'stored'>): FieldError[] {
  const isFirst = stored !== undefined && !stored.spec.clusters?.length && !!binding.spec.clusters?.length
  if (!isFirst || !isSuspended(stored) || !isSuspended(binding)) return []
  const { hold } = readAnnotations(stored.metadata.annotations)
  if (!hold || hold.released) return []
  const message = `cannot be set while Lodestone has the workload on hold (${hold.reason}: ${hold.message}); it is scheduled when the hold ends`
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

function isSuspended({ spec }: BindingInput['binding']): boolean {
  return spec.suspension?.scheduling === true
}

/** When the hold began in the first round of this request, in ms since the epoch; `now` if this is the first round. */
function firstRound(hold: HoldAnnotation | undefined, now: number): number {
  const since = Date.parse(hold?.since ?? '')
  return since <= now && since > now - SAME_REQUEST_MS ? since : now
}
