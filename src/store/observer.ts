/** The events of a store, for logs and metrics. The store itself needs no logger and no registry. */
import type { UnavailableKind } from './store.ts'

/** How a watch ended: by the server, by silence, by the timeout of the client, by expiry (410), by an error, or by `stop()`. */
export type WatchResult = 'closed' | 'silent' | 'capped' | 'expired' | 'failed' | 'stopped'

/** The reason of a LIST: the first list, HTTP 410, responses that made the position unusable, or a kind that was absent. */
export type RelistReason = 'initial' | 'expired' | 'rejected' | 'restored' | 'unserved'

export interface StoreObserver {
  /** A complete LIST was committed. `changes` counts the differences that the watch had not delivered; 0 for the first list. */
  listed(event: { kind: string; items: number; changes: number; durationMs: number }): void
  /** A list begins. */
  relisted(event: { kind: string; reason: RelistReason }): void
  watchEnded(event: { kind: string; result: WatchResult; livedMs: number }): void
  /** One object of the cache changed. */
  event(event: { kind: string; type: 'added' | 'modified' | 'deleted' }): void
  /** The API server began or ceased to serve an optional kind. */
  served(event: { kind: string; served: boolean }): void
  /** A kind became unavailable, with the reason, or available again. */
  availability(event: { kind: string; unavailable: UnavailableKind | undefined }): void
  /** An operation failed and is retried in `retryInMs`; or a listener or an object failed and was skipped. */
  error(event: { kind: string; message: string; error: unknown; retryInMs?: number }): void
  /** A manifest is invalid. `line` and `column` count from 1. The last valid objects of the file stay. */
  fileError(event: { file: string; line?: number; column?: number; message: string }): void
}

/**
 * Completes a partial observer. Errors of the observer are ignored: a log line must not stop a watch, and no other receiver for the error
 * exists.
 */
export function completeObserver(partial: Partial<StoreObserver> = {}): StoreObserver {
  return {
    listed: (event) => tell(() => partial.listed?.(event)),
    relisted: (event) => tell(() => partial.relisted?.(event)),
    watchEnded: (event) => tell(() => partial.watchEnded?.(event)),
    event: (event) => tell(() => partial.event?.(event)),
    served: (event) => tell(() => partial.served?.(event)),
    availability: (event) => tell(() => partial.availability?.(event)),
    error: (event) => tell(() => partial.error?.(event)),
    fileError: (event) => tell(() => partial.fileError?.(event)),
  }
}

function tell(call: () => void): void {
  try {
    call()
  } catch {
    // Ignored, see `completeObserver`.
  }
}
