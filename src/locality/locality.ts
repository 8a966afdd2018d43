/** The interface of data systems for the loops: the location of data, and a health check. Each system has its own file. */
import type { LocalityErrorCode } from '../core/data-source/error-code.ts'
import type { SourceQuery } from '../core/data-source/query-history.ts'
import type { RetryPolicy } from '../core/data-source/retry.ts'

export type { LocalityErrorCode } from '../core/data-source/error-code.ts'

/** The query of a claim, without its system. */
export type LocalityQuery = SourceQuery

export interface LocatedAnswer {
  kind: 'located'
  /** A URI. The mapping of the configuration gives the clusters. */
  location: string
  /** The clusters, if the system knows them. Then the mapping is not used. */
  clusters?: readonly string[]
  bytes?: number
  /** Whether the data has at least this size, because it was not measured completely. */
  bytesAreMinimum?: boolean
  etag?: string
}

export type LocalityAnswer =
  | LocatedAnswer
  | { kind: 'unchanged' }
  /** The system has no such data. */
  | { kind: 'nowhere'; reason: string }

export interface LocalityPlugin {
  readonly system: string
  /**
   * Returns the place of the data, or a proof of the system that it does not exist. Throws `LocalityError` when the location is unknown; the
   * data may exist then. Its code is `rejected` for a name of another system, and for data that has no location. The size is optional: a
   * request that only measures does not fail the answer.
   */
  locate(query: LocalityQuery, signal: AbortSignal): Promise<LocalityAnswer>
  /** Resolves when the system is healthy; throws `LocalityError` otherwise. */
  health(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export class LocalityError extends Error {
  override name = 'LocalityError'
  readonly code: LocalityErrorCode
  /** The delay that the system requested, in ms. */
  readonly retryAfterMs: number | undefined
  constructor(code: LocalityErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Returns undefined when a request fails whose response an answer does not need, such as one that only measures. */
export async function optional<T>(response: Promise<T>): Promise<T | undefined> {
  return response.catch((error: unknown) => {
    if (error instanceof LocalityError) return undefined
    throw error
  })
}

export interface SystemHealth {
  /** `unknown` until the first check has ended. */
  state: 'healthy' | 'unhealthy' | 'unknown'
  /** Milliseconds since the epoch. */
  checkedAt?: number
  error?: { code: LocalityErrorCode; message: string }
}

/** A configured system: its plugin and the rest of its configuration. */
export interface System {
  readonly plugin: LocalityPlugin
  readonly refreshIntervalMs: number
  /** The limit of concurrent queries while the system is healthy. */
  readonly maxConcurrent: number
  readonly retry: RetryPolicy
  /** The result of the last health check. */
  readonly health: SystemHealth
  /** The clusters that have the located data, sorted; empty when no rule maps the location. */
  clustersOf(answer: LocatedAnswer): string[]
  /** Why the located data is in no cluster, with the remedy. Asked only if `clustersOf` is empty. */
  whyNoCluster(answer: LocatedAnswer): string
}

/** The currently configured systems. */
export interface Systems {
  get(system: string): System | undefined
  /**
   * Calls `listener` with the names of systems whose configuration or health changed, also after the first check. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (systems: readonly string[]) => void): () => void
}
