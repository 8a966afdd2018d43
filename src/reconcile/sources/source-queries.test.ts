/** Tests when the query of a source is repeated after a failure. */
import { expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import { NO_HISTORY } from '../../core/data-source/query-history.ts'
import type { System } from '../../locality/locality.ts'
import { applyQuery, type SourceState } from './source-queries.ts'
import type { QueryEnd } from './system-queries.ts'

const HOUR_MS = 3_600_000
const FAILED: QueryEnd = { kind: 'failed', code: 'unreachable', reason: 'ECONNREFUSED' }
const retry = { maxRetries: 0, initialBackoffMs: 0, maxBackoffMs: 0, backoffMultiplier: 1, timeoutMs: 1000 }
const system = { refreshIntervalMs: 24 * HOUR_MS, retry } as System

/** Returns the delay of the retry after 20 failures. */
function retryDelayMs(ageMs: number, limits: readonly number[]): number {
  const source = makeSource({}, { status: { lastResolvedTime: new Date(NOW - ageMs).toISOString() } })
  const claims = limits.map((maxStalenessSeconds) => makeClaim({ policy: { maxStalenessSeconds } }))
  const state: SourceState = { key: '', history: { ...NO_HISTORY, failures: 20 } }
  const ends: ((end: QueryEnd) => void)[] = []
  const queries = {
    send: ({ done }: { done(end: QueryEnd): void }) => {
      ends.push(done)
      return { cancel: () => undefined, share: () => undefined }
    },
    resume: () => undefined,
    isFailing: () => false,
  }
  applyQuery('send', { found: { source, claims, system }, state, queries, now: () => NOW, done: () => undefined })
  for (const end of ends) end(FAILED)
  return (state.history.nextAt ?? 0) - NOW
}

test.each([
  { name: 'without a limit: the refresh interval', ageMs: 12 * HOUR_MS, limits: [], want: 24 * HOUR_MS },
  { name: 'that is recent enough: the same', ageMs: HOUR_MS, limits: [7200], want: 24 * HOUR_MS },
  { name: 'that is too old for one claim: seconds', ageMs: HOUR_MS, limits: [7200, 3600], want: 3000 },
])('the longest delay after failures, with a location $name', ({ ageMs, limits, want }) => {
  expect(retryDelayMs(ageMs, limits)).toBe(want)
})
