import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import type { Condition } from '../../api/meta.ts'
import { type Answer, type ClaimTerms, locateClaim, staleAt } from './locate.ts'

const located: Answer = { kind: 'located', clusters: ['member2'], bytes: undefined }
const nowhere = (why: string): Answer => ({ kind: 'nowhere', reason: `DataSource amoro-table-lake.shop.sales ${why}` })
const unknown = (why: string): Answer => ({ kind: 'unknown', reason: `DataSource amoro-table-lake.shop.sales ${why}` })
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString()

function conditionOf(type: string, status: 'True' | 'False', message: string): Condition {
  return { type, status, reason: 'Any', message, lastTransitionTime: ago(0) }
}

function withCondition(
  type: string,
  status: 'True' | 'False',
  message: string,
  { status: more, ...spec }: Partial<DataSource['spec']> & { status?: DataSource['status'] },
): DataSource {
  const conditions = [...(more?.conditions ?? []), conditionOf(type, status, message)]
  return makeSource(spec, { status: { ...more, conditions } })
}

test.each<{ name: string; source: DataSource | undefined; maxStalenessSeconds?: number; want: Answer }>([
  {
    name: 'without a source the location is unknown',
    source: undefined,
    want: { kind: 'unknown', reason: 'no DataSource for amoro table lake.shop.sales yet' },
  },
  {
    name: 'the location of an unresolved source is unknown',
    source: makeSource({ locality: undefined as never }),
    want: unknown('has no locality yet'),
  },
  {
    name: 'a location without clusters is unknown',
    source: makeSource({ locality: { location: 's3://a/b' } }),
    want: unknown('has no locality yet'),
  },
  {
    name: 'an empty list of clusters is nowhere',
    source: makeSource({ locality: { clusterNames: [] } }),
    want: nowhere('is in none of the clusters'),
  },
  {
    name: 'data of an Unavailable source is nowhere, for any locality',
    source: makeSource({}, { status: { phase: 'Unavailable' } }),
    want: nowhere('is Unavailable'),
  },
  {
    name: 'the answer of the system is in the reason',
    source: withCondition('Ready', 'False', 'table sales.orders does not exist in catalog prod', {
      status: { phase: 'Unavailable' },
    }),
    want: nowhere('is Unavailable: table sales.orders does not exist in catalog prod'),
  },
  {
    name: 'a reason without an answer of the system does not repeat the phase',
    source: withCondition('Ready', 'False', 'Unavailable', { status: { phase: 'Unavailable' } }),
    want: nowhere('is Unavailable'),
  },
  {
    name: 'the missing key of the mapping is in the reason, also while the system fails',
    source: withCondition('Mapped', 'False', 'location s3://lake-eu/t matches no key; add one', {
      locality: { clusterNames: [] },
      status: { conditions: [conditionOf('Stale', 'True', 'HTTP 503')] },
    }),
    want: nowhere('is in none of the clusters: location s3://lake-eu/t matches no key; add one'),
  },
  {
    name: 'the error of the system is in the reason of an unresolved source',
    source: withCondition('Stale', 'True', 'amoro: GET http://ams/x: HTTP 403', { locality: undefined as never }),
    want: unknown('has no locality yet: amoro: GET http://ams/x: HTTP 403'),
  },
  {
    name: 'the error of the system is in the reason of a location that is too old',
    source: withCondition('Stale', 'True', 'HTTP 503', { status: { lastResolvedTime: ago(61) } }),
    maxStalenessSeconds: 60,
    want: unknown('is older than 60 s: HTTP 503'),
  },
  {
    name: 'a reason is printable and has a limited length',
    source: withCondition('Ready', 'False', `\u001b[1m${'x'.repeat(600)}`, { status: { phase: 'Unavailable' } }),
    want: nowhere(`is Unavailable:  [1m${'x'.repeat(507)}…`),
  },
  {
    name: 'a source without a resolve time never becomes stale',
    source: makeSource(),
    maxStalenessSeconds: 60,
    want: located,
  },
  {
    name: 'a recent location is used',
    source: makeSource({}, { status: { lastResolvedTime: ago(60) } }),
    maxStalenessSeconds: 60,
    want: located,
  },
  {
    name: 'a stale location is unknown',
    source: makeSource({}, { status: { lastResolvedTime: ago(61) } }),
    maxStalenessSeconds: 60,
    want: unknown('is older than 60 s'),
  },
  {
    name: 'without a limit, a location never becomes stale',
    source: makeSource({}, { status: { lastResolvedTime: ago(1e9) } }),
    want: located,
  },
  {
    name: 'an invalid resolve time counts as absent',
    source: makeSource({}, { status: { lastResolvedTime: 'yesterday' } }),
    maxStalenessSeconds: 60,
    want: located,
  },
  {
    name: 'an error of a later query keeps the location',
    source: makeSource({}, { status: { phase: 'Available', lastError: 'timeout' } }),
    want: located,
  },
])('$name', ({ source, maxStalenessSeconds, want }) => {
  const claim = makeClaim(maxStalenessSeconds === undefined ? {} : { policy: { maxStalenessSeconds } })
  expect(locateClaim(claim, source, NOW).answer).toEqual(want)
})

test.each<{ name: string; maxStalenessSeconds?: number; status?: DataSource['status']; want: number | undefined }>([
  { name: 'after the time of its claim', maxStalenessSeconds: 60, status: { lastResolvedTime: ago(10) }, want: 50 },
  { name: 'never without a limit', status: { lastResolvedTime: ago(10) }, want: undefined },
  { name: 'never for a location that a user wrote', maxStalenessSeconds: 60, want: undefined },
])('a location is too old $name', ({ maxStalenessSeconds, status, want }) => {
  const claim = makeClaim(maxStalenessSeconds === undefined ? {} : { policy: { maxStalenessSeconds } })
  const at = staleAt(claim, makeSource({}, status && { status }))
  expect(at).toBe(want && NOW + want * 1000)
})

test('clusters are sorted and unique, with the bytes', () => {
  const source = makeSource({ locality: { clusterNames: ['c2', 'c1', 'c2'], bytes: 42 } })
  expect(locateClaim(makeClaim(), source, NOW).answer).toEqual({ kind: 'located', clusters: ['c1', 'c2'], bytes: 42 })
})

describe('terms', () => {
  const defaults: ClaimTerms = {
    claim: 'default/sales',
    enforcement: 'Required',
    onUnresolved: 'Hold',
    onUnsatisfiable: 'Hold',
    rebalance: 'Auto',
    holdTimeoutSeconds: undefined,
  }

  test('have defaults', () => {
    const { answer: _answer, ...terms } = locateClaim(makeClaim(), undefined, NOW)
    expect(terms).toEqual(defaults)
  })

  test('are those in the claim', () => {
    const policy = {
      enforcement: 'Preferred',
      onUnresolved: 'Ignore',
      onUnsatisfiable: 'Ignore',
      rebalance: 'Never',
      holdTimeoutSeconds: 5,
    } as const
    const { answer: _answer, ...terms } = locateClaim(makeClaim({ policy }), undefined, NOW)
    expect(terms).toEqual({ claim: 'default/sales', ...policy })
  })

  test('of a deleted claim contain the time until which it is honored', () => {
    const claim = makeClaim({}, { deletionTimestamp: ago(2) })
    expect(locateClaim(claim, undefined, NOW).honoredUntil).toBe(NOW + 3000)
  })
})

test('the location is unknown for a claim whose policy the API server drops', () => {
  const { answer } = locateClaim({ ...makeClaim(), dropped: ['spec.policy'] }, makeSource(), NOW)
  const reason =
    'the CRD of claims has no spec.policy, which this claim has set; apply the CRDs of Lodestone, then the claim'
  expect(answer).toEqual({ kind: 'unknown', reason })
})
