import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { Attempt } from './attempt.ts'
import { decideSource, type SourceDecision, type SourceInput } from './decide.ts'

const INTERVAL_MS = 300_000
const DAY_MS = 86_400_000
const stored = makeSource({}, { resourceVersion: '7' })
const fresh = makeSource()
const answered = { confirmations: 0, failures: 0, answeredAt: NOW - 1, nextAt: NOW + 100 }
const located: Attempt = { kind: 'located', location: 's3://lake/a', clusters: ['member2'] }
const failed: Attempt = { kind: 'failed', reason: 'HTTP 503' }
const healthy = { refreshIntervalMs: INTERVAL_MS, isFailing: false }
const failing = { ...healthy, isFailing: true }

/** A location that is 400 s old, and a claim with this limit. */
const limited = (maxStalenessSeconds: number) => ({
  source: { ...stored, status: { lastResolvedTime: new Date(NOW - 400_000).toISOString() } },
  claims: [makeClaim(), makeClaim({ policy: { maxStalenessSeconds } })],
})

test('with the CRD of volcano-global, a source is created after its location is known', () => {
  const history = { confirmations: 0, failures: 1, nextAt: NOW + 100 }
  const given = { source: fresh, crd: 'upstream' as const, system: failing, history }
  expect(decide({ ...given, attempt: failed })).toEqual({ query: 'none', writes: false, requeueAfterMs: 100 })
  expect(decide({ ...given, attempt: located }).writes).toBe(true)
})

const decide = (given: Partial<SourceInput>) =>
  decideSource({
    source: stored,
    claims: [makeClaim()],
    system: healthy,
    health: undefined,
    history: answered,
    isQuerying: false,
    attempt: undefined,
    absentUntil: undefined,
    now: NOW,
    ...given,
  })

describe('a stored source', () => {
  test.each<{ name: string; given: Partial<SourceInput>; want: SourceDecision }>([
    { name: 'is due later', given: {}, want: { query: 'none', writes: true, requeueAfterMs: 100 } },
    { name: 'is due now', given: { now: NOW + 100 }, want: { query: 'send', writes: true } },
    {
      name: 'was queried before the clock was set back',
      given: { now: NOW - DAY_MS },
      want: { query: 'send', writes: true },
    },
    {
      name: 'failed before the clock was set back',
      given: { history: { confirmations: 0, failures: 1, nextAt: NOW + 100 }, now: NOW - DAY_MS },
      want: { query: 'send', writes: true },
    },
    {
      name: 'has a longer back-off than its refresh interval',
      given: {
        system: { ...healthy, maxBackoffMs: 2 * INTERVAL_MS },
        history: { confirmations: 0, failures: 1, nextAt: NOW + 2 * INTERVAL_MS },
      },
      want: { query: 'none', writes: true, requeueAfterMs: 2 * INTERVAL_MS },
    },
    {
      name: 'was never queried',
      given: { history: { confirmations: 0, failures: 0 } },
      want: { query: 'send', writes: true },
    },
    { name: 'has a query in progress', given: { isQuerying: true }, want: { query: 'resume', writes: true } },
    {
      name: 'is due, but its last answer is not written yet',
      given: { now: NOW + 100, attempt: located },
      want: { query: 'none', writes: true, requeueAfterMs: 0 },
    },
    {
      name: 'is due, and its last failure is not written yet',
      given: { now: NOW + 100, attempt: failed },
      want: { query: 'send', writes: true },
    },
    { name: 'has no claim', given: { claims: [], isQuerying: true }, want: { query: 'cancel', writes: true } },
    {
      name: 'has no data system',
      given: { system: undefined, isQuerying: true },
      want: { query: 'cancel', writes: true },
    },
    {
      name: 'ignores the time before which no source with its name is created',
      given: { absentUntil: NOW + 50 },
      want: { query: 'none', writes: true, requeueAfterMs: 100 },
    },
    {
      name: 'has a claim whose limit is shorter than the interval of the system',
      given: {
        claims: [makeClaim({ policy: { maxStalenessSeconds: 10 } })],
        history: { confirmations: 0, failures: 0, answeredAt: NOW - 5000 },
      },
      want: { query: 'send', writes: true },
    },
    {
      name: 'has a long back-off, which ends when its location becomes too old for a claim',
      given: { ...limited(600), history: { confirmations: 0, failures: 9, nextAt: NOW + INTERVAL_MS } },
      want: { query: 'none', writes: true, requeueAfterMs: 200_000 },
    },
    {
      name: 'has a long back-off, and a location that is too old for a new claim',
      given: { ...limited(300), history: { confirmations: 0, failures: 9, nextAt: NOW + INTERVAL_MS } },
      want: { query: 'send', writes: true },
    },
    {
      name: 'failed since its location is too old for a claim',
      given: { ...limited(300), history: { confirmations: 0, failures: 9, isRetryFixed: true, nextAt: NOW + 3000 } },
      want: { query: 'none', writes: true, requeueAfterMs: 3000 },
    },
    {
      name: 'is being deleted, and its last answer is not written yet',
      given: {
        source: makeSource({}, { resourceVersion: '7', deletionTimestamp: '2026-01-01T00:00:00Z' }),
        attempt: located,
      },
      want: { query: 'none', writes: true },
    },
  ])('that $name', ({ given, want }) => {
    expect(decide(given)).toEqual(want)
  })
})

describe('a source that is not created yet', () => {
  test.each<{ name: string; given: Partial<SourceInput>; want: SourceDecision }>([
    { name: 'is queried before it is written', given: {}, want: { query: 'send', writes: false } },
    { name: 'waits for the query in progress', given: { isQuerying: true }, want: { query: 'resume', writes: false } },
    { name: 'is written with its answer', given: { attempt: located }, want: { query: 'none', writes: true } },
    { name: 'is written with a reported failure', given: { attempt: failed }, want: { query: 'send', writes: true } },
    {
      name: 'is written without an answer if its system fails',
      given: { system: failing },
      want: { query: 'send', writes: true },
    },
    {
      name: 'waits for its retry',
      given: { history: { confirmations: 0, failures: 1, nextAt: NOW + 70 } },
      want: { query: 'none', writes: false, requeueAfterMs: 70 },
    },
    {
      name: 'is not written without a data system',
      given: { system: undefined },
      want: { query: 'none', writes: false },
    },
    {
      name: 'waits until its deleted predecessor has been absent long enough',
      given: { absentUntil: NOW + 50 },
      want: { query: 'none', writes: false, requeueAfterMs: 50 },
    },
    { name: 'is queried after that time', given: { absentUntil: NOW }, want: { query: 'send', writes: false } },
  ])('$name', ({ given, want }) => {
    expect(decide({ source: fresh, ...given })).toEqual(want)
  })
})
