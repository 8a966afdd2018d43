/**
 * Decides how long a workload waits before it returns to its data: one that is relaxed, or one that runs outside of its preferred data. Each return
 * that does not last doubles the wait. Its cause may be one that Lodestone does not know, such as an application that fails there, and each return
 * starts the workload anew.
 */
import { msSince } from '../../base/time/clock-jumps.ts'
import type { LocalityAnnotation } from './annotations.ts'
import { stateSince } from './hold.ts'
import type { ParsedInput } from './parse-input.ts'
import { FAILBACK_WINDOW, type PlacementTiming } from './timing.ts'

/** A return lasts if the workload stays with its data for this many failback windows: an hour by default. */
const LASTING_WINDOWS = 12

/** In ms. The longest wait: a failback window is not longer. */
const MAX_WAIT_MS = 86_400_000

/** More returns in a row are not counted: the wait is a day by then. */
const MAX_TIMES = 20

/** Returns how long the wait lasts that begins at `since` of an annotation, in ms. */
export function waitMs({ state, returned }: LocalityAnnotation, timing: PlacementTiming): number {
  return state === 'Kept' ? timing.releaseDelayMs : returnDelayMs(returned, timing)
}

function returnDelayMs(returned: LocalityAnnotation['returned'], { failbackWindowMs }: PlacementTiming): number {
  return Math.min(failbackWindowMs * 2 ** (returned?.times ?? 0), MAX_WAIT_MS)
}

/** Whether a workload has waited long enough. A wait without a begin is over. */
export function isReturnDue(input: ParsedInput, since: string | undefined): boolean {
  return (
    since === undefined ||
    msSince(since, input) >= returnDelayMs(input.storedAnnotations.locality?.returned, input.timing)
  )
}

/** How long a workload waits to return, as a part of a sentence. It has no duration, as the other waiting times in messages. */
export function describeWait(returned: LocalityAnnotation['returned']): string {
  if (!returned) return `${FAILBACK_WINDOW} is over`
  const returns = returned.times === 1 ? 'return' : `${returned.times} returns`
  return `${FAILBACK_WINDOW} is over; it is longer now, because the workload did not stay there after its last ${returns}`
}

/** Returns the record of returns for the annotation of a decision, which keeps the last one until it has lasted. */
export function recordReturn(
  input: ParsedInput,
  decided: Pick<LocalityAnnotation, 'state' | 'since' | 'round'>,
): LocalityAnnotation['returned'] {
  const { annotations, storedAnnotations, timing, now } = input
  const { returned } = storedAnnotations.locality ?? {}
  if (returns(storedAnnotations.locality, decided)) {
    const times = Math.min((returned?.times ?? 0) + 1, MAX_TIMES)
    return { at: stateSince(undefined, annotations.locality?.returned?.at, now), times }
  }
  const isLost = isAway(decided) && !isAway(storedAnnotations.locality)
  const hasLasted = returned && isLost && msSince(returned.at, input) >= LASTING_WINDOWS * timing.failbackWindowMs
  return hasLasted ? undefined : returned
}

/** Whether a decision ends a wait: the workload returns. To preferred data it returns by new names of its groups. */
function returns(
  before: LocalityAnnotation | undefined,
  { state, since, round = 0 }: Pick<LocalityAnnotation, 'state' | 'since' | 'round'>,
): boolean {
  if (state !== 'Narrowed' || !before) return false
  return before.state === 'Relaxed' || (isAway(before) && since === undefined && round > (before.round ?? 0))
}

/** Whether a workload runs outside of its data, and may return. */
function isAway(locality: Pick<LocalityAnnotation, 'state' | 'since'> | undefined): boolean {
  return locality?.state === 'Relaxed' || (locality?.state === 'Narrowed' && locality.since !== undefined)
}
