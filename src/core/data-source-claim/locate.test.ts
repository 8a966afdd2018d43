import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import { type Answer, type ClaimTerms, locateClaim } from './locate.ts'

const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString()

test.each<{ name: string; source: DataSource | undefined; maxStalenessSeconds?: number; want: Answer['kind'] }>([
  { name: 'without a source the location is unknown', source: undefined, want: 'unknown' },
  {
    name: 'a source that was never resolved knows nothing',
    source: makeSource({ locality: undefined as never }),
    want: 'unknown',
  },
  {
    name: 'so does one with a location but no clusters yet',
    source: makeSource({ locality: { location: 's3://a/b' } }),
    want: 'unknown',
  },
  {
    name: 'an empty list of clusters is an answer: nowhere',
    source: makeSource({ locality: { clusterNames: [] } }),
    want: 'nowhere',
  },
  {
    name: 'data that is not there is nowhere, whatever the last locality was',
    source: makeSource({}, { status: { phase: 'Unavailable' } }),
    want: 'nowhere',
  },
  {
    name: 'a source made by hand is believed, however old',
    source: makeSource(),
    maxStalenessSeconds: 60,
    want: 'located',
  },
  {
    name: 'a fresh location counts',
    source: makeSource({}, { status: { lastResolvedTime: ago(60) } }),
    maxStalenessSeconds: 60,
    want: 'located',
  },
  {
    name: 'a stale one is unknown',
    source: makeSource({}, { status: { lastResolvedTime: ago(61) } }),
    maxStalenessSeconds: 60,
    want: 'unknown',
  },
  {
    name: 'without a limit it stands for ever',
    source: makeSource({}, { status: { lastResolvedTime: ago(1e9) } }),
    want: 'located',
  },
  {
    name: 'a time that cannot be parsed is no age',
    source: makeSource({}, { status: { lastResolvedTime: 'yesterday' } }),
    maxStalenessSeconds: 60,
    want: 'located',
  },
  {
    name: 'errors since then change nothing',
    source: makeSource({}, { status: { phase: 'Available', lastError: 'timeout' } }),
    want: 'located',
  },
])('$name', ({ source, maxStalenessSeconds, want }) => {
  const claim = makeClaim(maxStalenessSeconds === undefined ? {} : { policy: { maxStalenessSeconds } })
  expect(locateClaim(claim, source, NOW).answer.kind).toBe(want)
})

test('clusters come sorted and once, with the bytes', () => {
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

  test('have their defaults filled in', () => {
    const { answer: _answer, ...terms } = locateClaim(makeClaim(), undefined, NOW)
    expect(terms).toEqual(defaults)
  })

  test('are those of the claim where it gives them', () => {
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
})
