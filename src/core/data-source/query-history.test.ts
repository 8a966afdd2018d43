import { describe, expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import {
  afterNewConfiguration,
  afterResult,
  NO_HISTORY,
  nextQuery,
  type QueryHistory,
  type QueryResult,
  type ResultContext,
} from './query-history.ts'

const NOW = 1_000_000
const context: ResultContext = {
  now: NOW,
  isLocated: true,
  refreshIntervalMs: 300_000,
  retry: { maxRetries: 1, initialBackoffMs: 2_000, maxBackoffMs: 30_000, backoffMultiplier: 2, timeoutMs: 1 },
  spread: 0,
}
const answered = { confirmations: 0, failures: 0, answeredAt: NOW }
const failed: QueryResult = { kind: 'failed', code: 'unavailable', reason: 'HTTP 503' }
const known = { etag: 'v1', locality: { location: 's3://a', clusterNames: ['m1'], bytes: 7 } }
const nowhere: QueryResult = { kind: 'nowhere', reason: 'no such table' }

test.each<{
  name: string
  history?: Partial<QueryHistory>
  result: QueryResult
  given?: Partial<ResultContext>
  want: ReturnType<typeof afterResult>
}>([
  {
    name: 'a location resets failures and confirmations, and is reported without its ETag',
    history: { failures: 2, confirmations: 2, nextAt: 5, known: { etag: 'old', locality: { clusterNames: [] } } },
    result: { kind: 'located', location: 's3://a', clusters: ['m1'], bytes: 7, etag: 'v2' },
    want: {
      history: { ...answered, known: { etag: 'v2', locality: { location: 's3://a', clusterNames: ['m1'], bytes: 7 } } },
      attempt: { kind: 'located', location: 's3://a', clusters: ['m1'], bytes: 7 },
    },
  },
  {
    name: 'a location without an ETag removes the old one',
    history: { known },
    result: { kind: 'located', location: 's3://a', clusters: [] },
    want: { history: answered, attempt: { kind: 'located', location: 's3://a', clusters: [] } },
  },
  {
    name: '"unchanged" keeps the ETag',
    history: { known, failures: 1, nextAt: 5 },
    result: { kind: 'unchanged' },
    want: { history: { ...answered, known }, attempt: { kind: 'unchanged' } },
  },
  {
    name: '"no such data" is repeated soon if a location is known',
    result: nowhere,
    want: {
      history: { ...answered, confirmations: 1, nextAt: NOW + 10_000 },
      attempt: { ...nowhere, confirmations: 1 },
    },
  },
  {
    name: '"no such data" is repeated at the interval if that is shorter',
    result: nowhere,
    given: { refreshIntervalMs: 2_000 },
    want: {
      history: { ...answered, confirmations: 1, nextAt: NOW + 2_000 },
      attempt: { ...nowhere, confirmations: 1 },
    },
  },
  {
    name: '"no such data" removes the ETag: with it, "unchanged" would not say that the data is back',
    history: { known, confirmations: 2 },
    result: nowhere,
    want: { history: { ...answered, confirmations: 3 }, attempt: { ...nowhere, confirmations: 3 } },
  },
  {
    name: 'the third "no such data" is final',
    history: { confirmations: 2 },
    result: nowhere,
    want: { history: { ...answered, confirmations: 3 }, attempt: { ...nowhere, confirmations: 3 } },
  },
  {
    name: '"no such data" is final immediately if no location is known',
    result: nowhere,
    given: { isLocated: false },
    want: { history: { ...answered, confirmations: 1 }, attempt: { ...nowhere, confirmations: 1 } },
  },
  {
    name: 'a failure is not reported during the retries of the policy',
    history: { known, answeredAt: 3 },
    result: failed,
    want: {
      history: { ...NO_HISTORY, known, answeredAt: 3, failures: 1, nextAt: NOW + 1_000 },
      attempt: undefined,
    },
  },
  {
    name: 'a failure is reported after the retries',
    history: { failures: 1 },
    result: failed,
    want: {
      history: { ...NO_HISTORY, failures: 2, nextAt: NOW + 1_000 },
      attempt: { kind: 'failed', reason: 'HTTP 503' },
    },
  },
  {
    name: 'a failure while the known location is too old for a claim is repeated within seconds',
    history: { failures: 20, known },
    result: failed,
    given: { isTooOld: true },
    want: {
      history: { ...NO_HISTORY, known, failures: 21, isRetryFixed: true, nextAt: NOW + 3_000 },
      attempt: { kind: 'failed', reason: 'HTTP 503' },
    },
  },
  {
    name: 'a failure with a pause that the system requested keeps it',
    history: { failures: 20, known },
    result: { ...failed, retryAfterMs: 100_000 },
    want: {
      history: { ...NO_HISTORY, known, failures: 21, isRetryFixed: true, nextAt: NOW + 300_000 },
      attempt: { kind: 'failed', reason: 'HTTP 503' },
    },
  },
  {
    name: 'a failure without a known location is repeated within seconds',
    history: { failures: 20 },
    result: failed,
    given: { isLocated: false },
    want: {
      history: { ...NO_HISTORY, failures: 21, isRetryFixed: true, nextAt: NOW + 3_000 },
      attempt: { kind: 'failed', reason: 'HTTP 503' },
    },
  },
  {
    name: 'a failure without a chance of recovery is reported immediately',
    result: { kind: 'failed', code: 'rejected', reason: 'HTTP 400' },
    want: {
      history: { ...NO_HISTORY, failures: 1, nextAt: NOW + 1_000 },
      attempt: { kind: 'failed', reason: 'HTTP 400' },
    },
  },
])('$name', ({ history, result, given, want }) => {
  expect(afterResult({ ...NO_HISTORY, ...history }, result, { ...context, ...given })).toEqual(want)
})

test('a new configuration makes the next query due now, without failures and ETag', () => {
  const history = { confirmations: 1, failures: 3, answeredAt: 5, nextAt: NOW + 9, known }
  expect(afterNewConfiguration(history, NOW)).toEqual({ confirmations: 1, failures: 0, answeredAt: 5, nextAt: NOW })
})

describe('the next query', () => {
  const history = { ...answered, known }
  const { locality } = known
  const stored = makeSource({ locality })
  const query = { type: 'table', name: 'lake.shop.sales', attributes: {} }
  const { locality: _none, ...unlocated } = makeSource().spec

  test.each([
    { name: 'has the ETag of the stored answer', source: stored, want: { ...query, etag: 'v1' } },
    {
      name: 'has the ETag if the CRD of volcano-global keeps only the clusters',
      source: makeSource({ locality: { clusterNames: ['m1'] } }),
      want: { ...query, etag: 'v1' },
    },
    ...[
      { what: 'other clusters', other: { ...locality, clusterNames: ['m2'] } },
      { what: 'another location', other: { ...locality, location: 's3://b' } },
      { what: 'no clusters', other: { location: 's3://a' } },
    ].map(({ what, other }) => ({
      name: `has no ETag if another client has written ${what}`,
      source: makeSource({ locality: other }),
      want: query,
    })),
    { name: 'has no ETag if the answer is not stored', source: { ...makeSource(), spec: unlocated }, want: query },
    {
      name: 'has no ETag for a source that is being deleted',
      source: makeSource({ locality }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      want: query,
    },
    {
      name: 'has the attributes of the source',
      source: makeSource({ locality, attributes: { branch: 'main' } }),
      want: { ...query, attributes: { branch: 'main' }, etag: 'v1' },
    },
  ])('$name', ({ source, want }) => {
    expect(nextQuery(source, history)).toEqual(want)
  })

  test('has no ETag if the data system gave none', () => {
    expect(nextQuery(stored, answered)).toEqual(query)
  })
})
