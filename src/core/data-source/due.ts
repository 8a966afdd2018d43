/** Decides when the data system of a source is queried, and how often. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { fnv1a } from '../../base/hash.ts'
import type { QueryHistory } from './query-history.ts'

/** The interval is shortened by up to this share, so that sources with the same time of query are spread. */
const SPREAD_SHARE = 0.1

/**
 * Returns when the next query of a source is due, in ms since the epoch. 0 means now: the source was never queried, is not created yet, or
 * is being deleted. After a failure, the result is the time of the retry, in any state of the source.
 */
export function dueAt({ metadata, status }: DataSource, history: QueryHistory, intervalMs: number): number {
  if (history.failures > 0) return history.nextAt ?? 0
  if (!metadata.resourceVersion || metadata.deletionTimestamp) return 0
  if (history.nextAt !== undefined) return history.nextAt
  const last = history.answeredAt ?? Date.parse(status?.lastResolvedTime ?? '')
  if (Number.isNaN(last)) return 0
  return last + intervalMs * (1 - hashFraction(metadata.name ?? '') * SPREAD_SHARE)
}

/** Returns a number in [0, 1) that is always the same for one name. */
export function hashFraction(name: string): number {
  return (Number.parseInt(fnv1a(name).slice(-4), 36) % 1000) / 1000
}

/** Returns the refresh interval. A location that becomes too old for a claim is refreshed before that, with time for one failure. */
export function refreshIntervalMs(systemIntervalMs: number | undefined, claims: readonly DataSourceClaim[]): number {
  return Math.min(systemIntervalMs ?? Number.POSITIVE_INFINITY, shortestLimitMs(claims) / 2)
}

/** Returns when a location becomes too old for one of its claims, in ms since the epoch. Infinite without a limit, or if a user wrote it. */
export function tooOldAt({ status }: DataSource, claims: readonly DataSourceClaim[]): number {
  const confirmed = Date.parse(status?.lastResolvedTime ?? '')
  return Number.isNaN(confirmed) ? Number.POSITIVE_INFINITY : confirmed + shortestLimitMs(claims)
}

function shortestLimitMs(claims: readonly DataSourceClaim[]): number {
  // Not the arguments of one call: a call has room for about 120,000, and popular data may have more claims.
  return claims.reduce((shortest, { spec }) => {
    const limit = spec.policy?.maxStalenessSeconds
    return limit === undefined ? shortest : Math.min(shortest, limit * 1000)
  }, Number.POSITIVE_INFINITY)
}
