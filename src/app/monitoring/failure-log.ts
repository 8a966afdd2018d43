/**
 * Logs failures that are retried. A missing namespace or kind is logged once per cause, then at growing intervals; any other failure each
 * time.
 */
import { defined } from '../../base/json.ts'
import { RepeatLimit } from '../../base/time/repeat-limit.ts'
import { APPLY_ROLES, lacksRight } from '../../store/cluster/apply-roles.ts'
import { MissingPrerequisiteError } from '../../store/store.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Writes a line at level `warn`, with the error's message as `reason`, and for a missing right of Lodestone the `remedy`. */
export type FailureLog = (error: unknown, message: string, fields?: Record<string, unknown>) => void

/** `now` is in milliseconds since the epoch. */
export function openFailureLog(log: Logger, now: () => number): FailureLog {
  const repeats = new RepeatLimit()
  return (error, message, fields = {}) => {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof MissingPrerequisiteError && !repeats.take(reason, now())) return
    const remedy = lacksRight(error) ? APPLY_ROLES : undefined
    log.warn(defined({ ...fields, reason, remedy }), message)
  }
}
