/** A data system as the loops see it: asked where data is, and whether it is healthy. One file per system implements it. */
import type { RetryPolicy } from '../../core/data-source/retry.ts'
import type { LocalityErrorCode } from '../../core/locality/error-code.ts'

export type { LocalityErrorCode } from '../../core/locality/error-code.ts'

/** The query of a claim, without its system. */
export interface LocalityQuery {
  /** The type of the data inside the system, such as table, bucket, prefix or path. */
  type: string
  name: string
  attributes: Readonly<Record<string, string>>
  /** The version of the answer that is known, if the system gave one: it may then answer "unchanged". */
  etag?: string
}

export type LocalityAnswer =
  | {
      kind: 'located'
      /** A URI; the clusters follow from the configuration's mapping. */
      location: string
      /** The clusters themselves, where the system knows them (then nothing is mapped). */
      clusters?: readonly string[]
      bytes?: number
      etag?: string
    }
  | { kind: 'unchanged' }
  /** The system answers, and says that there is no such data. */
  | { kind: 'nowhere'; reason: string }

export interface LocalityPlugin {
  readonly system: string
  /** Throws `LocalityError` when the answer is unknown: nothing may be concluded from that. */
  locate(query: LocalityQuery, signal: AbortSignal): Promise<LocalityAnswer>
  /** Resolves when the system is well; throws `LocalityError` when it is not. */
  health(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export class LocalityError extends Error {
  override name = 'LocalityError'
  readonly code: LocalityErrorCode
  /** The system asked for this pause, in ms. */
  readonly retryAfterMs: number | undefined
  constructor(code: LocalityErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs
  }
}

export interface SystemHealth {
  /** `unknown` until the first check has ended. */
  state: 'healthy' | 'unhealthy' | 'unknown'
  /** Milliseconds since 1970. */
  checkedAt?: number
  error?: { code: LocalityErrorCode; message: string }
}

/** A configured system: its plugin, and the rest of its configuration. */
export interface System {
  readonly plugin: LocalityPlugin
  readonly refreshIntervalMs: number
  /** How many queries run at once while the system is healthy. */
  readonly maxConcurrent: number
  readonly retry: RetryPolicy
  /** The result of the last check in the background. */
  readonly health: SystemHealth
  /** The clusters that hold what is located there, sorted; none when nothing maps to it. */
  clustersOf(answer: Extract<LocalityAnswer, { kind: 'located' }>): string[]
}

/** Every configured system, as the configuration is right now. */
export interface Systems {
  get(system: string): System | undefined
  /** Calls `listener` with the names of systems whose configuration changed, that became unwell or well again. */
  subscribe(listener: (systems: readonly string[]) => void): () => void
}
