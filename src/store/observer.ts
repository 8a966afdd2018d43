/** The events of a store for logs and metrics: plain calls, so that the store needs neither a logger nor a registry. */

/** How a watch ended: as the server said, because it fell silent, at our own cap, expired (410), failed, or by `stop()`. */
export type WatchResult = 'closed' | 'silent' | 'capped' | 'expired' | 'failed' | 'stopped'

/** The reason of a LIST: the first one, HTTP 410, a response that made the position unusable, or a kind that was not served. */
export type RelistReason = 'initial' | 'expired' | 'rejected' | 'unserved'

export interface StoreObserver {
  /** A complete LIST is in the cache. `changes` counts what the watch had not delivered: none the first time. */
  listed(event: { kind: string; items: number; changes: number; durationMs: number }): void
  /** A list begins. */
  relisted(event: { kind: string; reason: RelistReason }): void
  watchEnded(event: { kind: string; result: WatchResult; livedMs: number }): void
  /** One change went through the cache. */
  event(event: { kind: string; type: 'added' | 'modified' | 'deleted' }): void
  /** The API server began or ceased to serve an optional kind. */
  served(event: { kind: string; served: boolean }): void
  /** Something failed and is tried again (or, for a listener or an odd object, was passed over). */
  error(event: { kind: string; message: string; error: unknown; retryInMs?: number }): void
  /** A manifest that cannot be used; `line` counts from 1. The file's last good objects stay served. */
  fileError(event: { file: string; line?: number; message: string }): void
}

/**
 * Makes a full observer of a partial one. An observer that throws is ignored: a log line must never stop a watch, and its error
 * has no other receiver.
 */
export function completeObserver(partial: Partial<StoreObserver> = {}): StoreObserver {
  return {
    listed: (event) => tell(() => partial.listed?.(event)),
    relisted: (event) => tell(() => partial.relisted?.(event)),
    watchEnded: (event) => tell(() => partial.watchEnded?.(event)),
    event: (event) => tell(() => partial.event?.(event)),
    served: (event) => tell(() => partial.served?.(event)),
    error: (event) => tell(() => partial.error?.(event)),
    fileError: (event) => tell(() => partial.fileError?.(event)),
  }
}

function tell(call: () => void): void {
  try {
    call()
  } catch {
    // See above: the observer is the last instance, and its failure is not the store's.
  }
}
