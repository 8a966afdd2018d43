/** The events of the data systems, for logs and metrics. The data systems themselves need no logger and no registry. */
import type { LocalityErrorCode } from './locality.ts'

export interface SystemsObserver {
  /** A new or changed configuration is in use. */
  loaded(event: { system: string; file: string }): void
  /** The file of a system was deleted, and the system with it. */
  removed(event: { system: string }): void
  /** A file or the folder is invalid. Its last valid content stays in use. Reported once until the problem changes. */
  configError(event: { file: string; message: string }): void
  /** A file of volcano-global is in use, and some of its fields are ignored or replaced. Reported for each new content. */
  configWarning(event: { system: string; file: string; message: string }): void
  /** A health check has ended. */
  health(event: {
    system: string
    healthy: boolean
    durationMs: number
    code?: LocalityErrorCode
    message?: string
  }): void
  /** A query has ended. */
  located(event: {
    system: string
    result: 'located' | 'unchanged' | 'nowhere' | LocalityErrorCode
    durationMs: number
  }): void
}

/** Completes a partial observer. Errors of the observer are ignored: a log line must not fail a query. */
export function completeObserver(partial: Partial<SystemsObserver> = {}): SystemsObserver {
  return {
    loaded: (event) => tell(() => partial.loaded?.(event)),
    removed: (event) => tell(() => partial.removed?.(event)),
    configError: (event) => tell(() => partial.configError?.(event)),
    configWarning: (event) => tell(() => partial.configWarning?.(event)),
    health: (event) => tell(() => partial.health?.(event)),
    located: (event) => tell(() => partial.located?.(event)),
  }
}

function tell(call: () => void): void {
  try {
    call()
  } catch {
    // Ignored: no other receiver for the error exists.
  }
}
