/** Events of the data systems for logs and metrics: plain values, so that the data systems need no logger and no registry. */
import type { LocalityErrorCode } from './plugins/plugin.ts'

export interface SystemsObserver {
  /** A configuration is in use, the first time or again. */
  loaded(event: { system: string; file: string }): void
  /** The file of a system is gone, and with it the system. */
  removed(event: { system: string }): void
  /** A file, or the folder, cannot be used; its last content still holds. Reported once until the problem changes. */
  configError(event: { file: string; message: string }): void
  /** One health check has ended. */
  health(event: {
    system: string
    healthy: boolean
    durationMs: number
    code?: LocalityErrorCode
    message?: string
  }): void
  /** One query has ended. */
  located(event: {
    system: string
    result: 'located' | 'unchanged' | 'nowhere' | LocalityErrorCode
    durationMs: number
  }): void
}

/** Makes a full observer of a partial one. One that throws is ignored: a log line must never cost an answer. */
export function completeObserver(partial: Partial<SystemsObserver> = {}): SystemsObserver {
  return {
    loaded: (event) => tell(() => partial.loaded?.(event)),
    removed: (event) => tell(() => partial.removed?.(event)),
    configError: (event) => tell(() => partial.configError?.(event)),
    health: (event) => tell(() => partial.health?.(event)),
    located: (event) => tell(() => partial.located?.(event)),
  }
}

function tell(call: () => void): void {
  try {
    call()
  } catch {
    // An observer that fails must not fail a query, and its error has no other receiver.
  }
}
