/** The history of the queries for one DataSource, and its update with the result of a query. */
import type { DataSource } from '../../api/data-source.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { type Attempt, answeredLocality } from './attempt.ts'
import { isTransient, type LocalityErrorCode } from './error-code.ts'
import { planRetry, type RetryPolicy } from './retry.ts'

/** In memory only: after a restart, each source is queried once more. */
export interface QueryHistory {
  /** The last answer, if it has a location and the system returned an ETag. */
  known?: { etag: string; locality: NonNullable<DataSource['spec']['locality']> }
  /** How many answers in a row said that the data does not exist. */
  confirmations: number
  /** How many queries in a row failed. */
  failures: number
  /** Whether the retry is never earlier than planned: it comes within seconds, or the system requested the pause. */
  isRetryFixed?: boolean
  /** When the system last answered, in ms since the epoch. */
  answeredAt?: number
  /** When the next query is due, if the refresh interval does not decide it; in ms since the epoch. */
  nextAt?: number
}

export const NO_HISTORY: QueryHistory = { confirmations: 0, failures: 0 }

/** The result of one query. */
export type QueryResult =
  | (Extract<Attempt, { kind: 'located' }> & { etag?: string })
  | { kind: 'unchanged' }
  | { kind: 'nowhere'; reason: string }
  | { kind: 'failed'; code: LocalityErrorCode; reason: string; retryAfterMs?: number }

export interface ResultContext {
  now: number
  /** Whether an earlier answer exists. It stays valid while the system does not answer. */
  isLocated: boolean
  /** Whether that answer is too old for a claim. Default: false. */
  isTooOld?: boolean
  refreshIntervalMs: number
  retry: RetryPolicy
  /** In [0, 1): spreads the retries of sources whose queries failed together. */
  spread: number
}

/** How many times in a row a system must answer that the data does not exist before that replaces a known location. */
export const CONFIRMATIONS = 3

/** If the data does not exist, the next query is due after this time until the answer is confirmed. */
const CONFIRM_MS = 10_000

/**
 * Returns the history after a change of a data system's configuration. The next query is due immediately, since it may succeed now. The old
 * ETag is dropped, since it may belong to another answer now.
 */
export function afterNewConfiguration({ known: _old, ...history }: QueryHistory, now: number): QueryHistory {
  return { ...history, failures: 0, nextAt: now }
}

/** A query without the configuration of the data system. */
export interface SourceQuery {
  /** The type of the data inside the system, such as table, bucket, prefix or path. */
  type: string
  name: string
  attributes: Readonly<Record<string, string>>
  /** The ETag of the stored answer. The data system may then answer "unchanged". */
  etag?: string
}

/**
 * Returns the next query for a source. It has the ETag of the last answer only if the source has that answer and is not being deleted. Otherwise,
 * "unchanged" would confirm what another client has written.
 */
export function nextQuery({ metadata, spec }: DataSource, { known }: QueryHistory): SourceQuery {
  const { type, name, attributes = {}, locality } = spec
  const isKnown = known !== undefined && !metadata.deletionTimestamp && isStored(known.locality, locality)
  return defined({ type, name, attributes, etag: isKnown ? known.etag : undefined })
}

/** Whether a source has an answer. The CRD of volcano-global keeps only its clusters. */
function isStored(
  answered: NonNullable<DataSource['spec']['locality']>,
  stored: DataSource['spec']['locality'],
): boolean {
  const { clusterNames, location = answered.location } = stored ?? {}
  return jsonEqual(clusterNames, answered.clusterNames) && location === answered.location
}

/** Adds a result to the history. `attempt` is for the status; it is undefined during the retries of the policy. */
export function afterResult(
  history: QueryHistory,
  result: QueryResult,
  { now, isLocated, isTooOld = false, refreshIntervalMs, retry, spread }: ResultContext,
): { history: QueryHistory; attempt: Attempt | undefined } {
  const { known, confirmations } = history
  switch (result.kind) {
    case 'failed': {
      const { code, reason, retryAfterMs } = result
      const failures = history.failures + 1
      const isAwaited = !isLocated || isTooOld
      const { delayMs, isSilent } = planRetry({
        policy: retry,
        failures,
        isTransient: isTransient(code),
        isAwaited,
        refreshIntervalMs,
        retryAfterMs,
        spread,
      })
      const isRetryFixed = isAwaited || retryAfterMs !== undefined || undefined
      return {
        history: defined({ ...history, failures, isRetryFixed, nextAt: now + delayMs }),
        attempt: isSilent ? undefined : { kind: 'failed', reason },
      }
    }
    case 'nowhere': {
      // Without the ETag: "unchanged" would not say that the data is back.
      const said = confirmations + 1
      const isOpen = said < CONFIRMATIONS && isLocated
      const next = isOpen ? { nextAt: now + Math.min(CONFIRM_MS, refreshIntervalMs) } : {}
      return {
        history: { confirmations: said, failures: 0, answeredAt: now, ...next },
        attempt: { kind: 'nowhere', reason: result.reason, confirmations: said },
      }
    }
    case 'unchanged':
      return {
        history: defined({ known, confirmations: 0, failures: 0, answeredAt: now }),
        attempt: { kind: 'unchanged' },
      }
    case 'located': {
      const { etag, ...answer } = result
      return {
        history: defined({
          known: etag === undefined ? undefined : { etag, locality: answeredLocality(answer) },
          confirmations: 0,
          failures: 0,
          answeredAt: now,
        }),
        attempt: answer,
      }
    }
  }
}
