/** Decides how many queries a data system gets at the same time, and when the next one starts. */
import type { SystemSign } from './error-code.ts'

/** The state of one system, from its queries. */
export interface SystemRecord {
  /** The keys of the different queries that failed since the last answer, until there are enough of them. */
  failed: readonly string[]
  /** When the system last answered a query, in ms since the epoch. */
  answeredAt?: number
  /** A failing system gets no query until then; in ms since the epoch. */
  pausedUntil?: number
}

/** The state of the last health check. */
export interface HealthCheck {
  state: 'healthy' | 'unhealthy' | 'unknown'
  /** In ms since the epoch. */
  checkedAt?: number
}

export const NEW_RECORD: SystemRecord = { failed: [] }

/** A query that fails again and again, such as a table that a catalog cannot load, must not slow down the others. */
const FAILING_AFTER = 3
/** A failing system gets a query at this interval, so that its recovery is detected within a second. */
const PROBE_INTERVAL_MS = 1_000
/** The longest pause that a system can request with `Retry-After`. */
const MAX_PAUSE_MS = 30_000

/** Whether a system is failing: several different queries in a row failed, or a health check failed after the last answer. */
export function isFailing({ failed, answeredAt = 0 }: SystemRecord, { state, checkedAt = 0 }: HealthCheck): boolean {
  return failed.length >= FAILING_AFTER || (state === 'unhealthy' && answeredAt <= checkedAt)
}

export interface QueryEndInput {
  /** Identifies the query. Its retries have the same key. */
  key: string
  now: number
  health: HealthCheck
  retryAfterMs?: number | undefined
}

/** Returns the record of a system after the end of one query. */
export function afterQuery(
  record: SystemRecord,
  sign: SystemSign,
  { key, now, health, retryAfterMs = 0 }: QueryEndInput,
): SystemRecord {
  if (sign === 'answers') return { failed: [], answeredAt: now }
  const { pausedUntil: _past, failed, ...rest } = record
  const isCounted = sign === 'fails' && failed.length < FAILING_AFTER && !failed.includes(key)
  const next = { ...rest, failed: isCounted ? [...failed, key] : failed }
  if (!isFailing(next, health)) return next
  return { ...next, pausedUntil: now + Math.min(Math.max(PROBE_INTERVAL_MS, retryAfterMs), MAX_PAUSE_MS) }
}

export interface SlotsInput {
  record: SystemRecord
  health: HealthCheck
  maxConcurrent: number
  running: number
  now: number
}

/** Returns how many more queries may start now. If none may, `waitMs` is the time until a slot opens, unless a query ends first. */
export function freeSlots({ record, health, maxConcurrent, running, now }: SlotsInput): {
  free: number
  waitMs?: number
} {
  if (!isFailing(record, health)) return { free: Math.max(0, maxConcurrent - running) }
  if (running > 0) return { free: 0 }
  const waitMs = (record.pausedUntil ?? 0) - now
  // A longer pause was recorded before the clock was set back.
  return waitMs > 0 && waitMs <= MAX_PAUSE_MS ? { free: 0, waitMs } : { free: 1 }
}
