import { expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import { dueAt, hashFraction, refreshIntervalMs, tooOldAt } from './due.ts'
import { NO_HISTORY, type QueryHistory } from './query-history.ts'

const INTERVAL_MS = 100_000
const stored = (metadata = {}) => makeSource({}, { resourceVersion: '7', ...metadata })
const spreadMs = hashFraction(makeSource().metadata.name ?? '') * 0.1 * INTERVAL_MS

test.each<{ name: string; source?: ReturnType<typeof stored>; history?: Partial<QueryHistory>; want: number }>([
  { name: 'that was never queried: immediately', want: 0 },
  { name: 'that does not exist yet: immediately', source: makeSource(), history: { answeredAt: NOW }, want: 0 },
  {
    name: 'that is being deleted: immediately',
    source: stored({ deletionTimestamp: '2026-01-01T00:00:00Z' }),
    history: { answeredAt: NOW },
    want: 0,
  },
  { name: 'that failed: at the retry', history: { failures: 1, nextAt: NOW + 5 }, want: NOW + 5 },
  {
    name: 'that failed and is being deleted: at the retry',
    source: stored({ deletionTimestamp: '2026-01-01T00:00:00Z' }),
    history: { failures: 1, nextAt: NOW + 5 },
    want: NOW + 5,
  },
  { name: 'whose answer needs a confirmation: soon', history: { answeredAt: NOW, nextAt: NOW + 9 }, want: NOW + 9 },
  { name: 'with an answer: an interval later', history: { answeredAt: NOW }, want: NOW + INTERVAL_MS - spreadMs },
  {
    name: 'with an answer before a restart: an interval later',
    source: { ...stored(), status: { lastResolvedTime: new Date(NOW).toISOString() } },
    want: NOW + INTERVAL_MS - spreadMs,
  },
])('the next query of a source $name', ({ source = stored(), history, want }) => {
  expect(dueAt(source, { ...NO_HISTORY, ...history }, INTERVAL_MS)).toBe(want)
})

test('simultaneous queries of a fleet are spread over a tenth of the interval', () => {
  const spreads = Array.from({ length: 500 }, (_, i) => hashFraction(`amoro-table-lake.db.t${i}`))
  expect(Math.min(...spreads)).toBeLessThan(0.05)
  expect(Math.max(...spreads)).toBeGreaterThan(0.95)
  expect(spreads.every((spread) => spread >= 0 && spread < 1)).toBe(true)
})

test.each([
  { name: 'the interval of the system', claims: [makeClaim()], want: 300_000 },
  {
    name: 'half of the limit of the strictest claim',
    claims: [makeClaim({ policy: { maxStalenessSeconds: 60 } }), makeClaim({ policy: { maxStalenessSeconds: 20 } })],
    want: 10_000,
  },
  {
    name: 'at most the interval of the system',
    claims: [makeClaim({ policy: { maxStalenessSeconds: 9_000 } })],
    want: 300_000,
  },
])('a source is refreshed after $name', ({ claims, want }) => {
  expect(refreshIntervalMs(300_000, claims)).toBe(want)
})

test('a source with 200,000 claims is refreshed by the limit of one', () => {
  const claims = Array.from({ length: 200_000 }, () => makeClaim({ policy: { maxStalenessSeconds: 60 } }))
  expect(refreshIntervalMs(300_000, claims)).toBe(30_000)
})

test.each([
  { name: 'with two limits: after the shorter one', limits: [60, 20], time: NOW, want: NOW + 20_000 },
  { name: 'without a limit: never', limits: [], time: NOW, want: Number.POSITIVE_INFINITY },
  { name: 'that a user wrote: never', limits: [60], time: undefined, want: Number.POSITIVE_INFINITY },
])('a location becomes too old $name', ({ limits, time, want }) => {
  const status = time === undefined ? {} : { lastResolvedTime: new Date(time).toISOString() }
  const claims = limits.map((maxStalenessSeconds) => makeClaim({ policy: { maxStalenessSeconds } }))
  expect(tooOldAt({ ...stored(), status }, claims)).toBe(want)
})

test('without a system, there is no limit', () => {
  expect(refreshIntervalMs(undefined, [])).toBe(Number.POSITIVE_INFINITY)
})
