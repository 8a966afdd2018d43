import { describe, expect, test } from 'vitest'
import { makeSource, NOW } from '../../../test/builders.ts'
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { defined } from '../../base/json.ts'
import type { Action } from '../plan.ts'
import type { Attempt } from './attempt.ts'
import {
  hasLocation,
  isCreatable,
  lacksLocation,
  localityFor,
  ServedCrd,
  type SourceCrd,
  shownCrd,
  statusFor,
} from './crd.ts'

const located: Attempt = { kind: 'located', location: 's3://lake/a', clusters: ['member1'] }
const nowhere: Attempt = { kind: 'nowhere', reason: 'no table', confirmations: 1 }
const failed: Attempt = { kind: 'failed', reason: 'HTTP 503' }

test('the CRD of volcano-global has clusters of a location and conditions of a status', () => {
  const locality = { clusterNames: ['member1'], location: 's3://lake/a', bytes: 7 }
  const columns = { clusters: 'member1', size: '7' }
  const status = {
    phase: 'Available',
    ...columns,
    lastResolvedTime: 'now',
    lastError: null,
    boundClaims: 1,
    conditions: [],
  }
  expect([localityFor('upstream', locality), localityFor('ours', locality)]).toEqual([
    { clusterNames: ['member1'] },
    locality,
  ])
  expect([statusFor('upstream', status), statusFor('ours', status)]).toEqual([
    { boundClaims: 1, conditions: [] },
    status,
  ])
  expect(localityFor('upstream', undefined)).toBeUndefined()
})

test.each<{ crd: SourceCrd; attempt: Attempt | undefined; want: boolean }>([
  { crd: 'ours', attempt: failed, want: true },
  { crd: 'ours', attempt: undefined, want: true },
  { crd: 'upstream', attempt: located, want: true },
  { crd: 'upstream', attempt: nowhere, want: true },
  { crd: 'upstream', attempt: failed, want: false },
  { crd: 'upstream', attempt: undefined, want: false },
])('with the CRD $crd, a source with the result $attempt.kind can be created: $want', ({ crd, attempt, want }) => {
  expect(isCreatable(crd, attempt)).toBe(want)
})

test.each<{ name: string; spec: object | undefined; locality: object | undefined; shown: SourceCrd | undefined }>([
  {
    name: 'drops the URI',
    spec: { locality: { location: 's3://a' } },
    locality: { clusterNames: [] },
    shown: 'upstream',
  },
  {
    name: 'drops the whole location',
    spec: { locality: { location: 's3://a' } },
    locality: undefined,
    shown: 'upstream',
  },
  { name: 'keeps all', spec: { locality: { location: 's3://a' } }, locality: { location: 's3://a' }, shown: 'ours' },
  { name: 'answers a write without a location', spec: undefined, locality: { clusterNames: [] }, shown: undefined },
])('an API server that $name shows the CRD $shown', ({ spec, locality, shown }) => {
  const { locality: _old, ...query } = makeSource().spec
  const written = { ...makeSource(), spec: { ...query, ...defined({ locality }) } } as DataSource
  const patch: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: defined({ spec }) }
  const create: Action = {
    kind: 'create',
    type: dataSources,
    object: { ...makeSource(), spec: { ...query, ...spec } } as never,
  }
  expect([shownCrd(patch, written), shownCrd(create, written)]).toEqual([shown, shown])
})

test('a write lacks a location if it creates a source without one', () => {
  const { locality: _none, ...query } = makeSource().spec
  const create = (object: DataSource): Action => ({ kind: 'create', type: dataSources, object })
  const patch: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: {} }

  expect([create({ ...makeSource(), spec: query }), create(makeSource()), patch, undefined].map(lacksLocation)).toEqual(
    [...[true, false, false, false]],
  )
})

test('a plan without a write shows no CRD', () => {
  expect(shownCrd(undefined, makeSource())).toBeUndefined()
})

test.each<{ locality: DataSource['spec']['locality']; want: [ours: boolean, upstream: boolean] }>([
  { locality: undefined as never, want: [false, false] },
  { locality: { clusterNames: [] }, want: [true, false] },
  { locality: { clusterNames: ['member1'] }, want: [true, true] },
])('the location $locality is known with our CRD and that of volcano-global: $want', ({ locality, want }) => {
  const source = { ...makeSource(), spec: { ...makeSource().spec, locality } } as DataSource
  expect([hasLocation('ours', source), hasLocation('upstream', source)]).toEqual(want)
})

test.each<{ kept: NonNullable<DataSource['status']>; shown: SourceCrd }>([
  { kept: { phase: 'Available' }, shown: 'ours' },
  { kept: {}, shown: 'upstream' },
])('an API server that keeps $kept of a status with a phase shows the CRD $shown', ({ kept, shown }) => {
  const of = { type: dataSources, name: 'a' }
  const write: Action = { kind: 'patch', of, patch: { status: { phase: 'Available' } }, subresource: 'status' }

  expect(shownCrd(write, { ...makeSource(), status: kept })).toBe(shown)
})

test('a write without a phase shows no CRD', () => {
  const write: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: { spec: {} } }
  expect(shownCrd(write, makeSource())).toBeUndefined()
})

describe('the CRD that the API server has', () => {
  test('is ours until a write loses fields, and is tried again after 30 s to 10 min', () => {
    const served = new ServedCrd()
    const waits: number[] = []
    let now = NOW
    for (let i = 0; i < 7; i++) {
      served.learn('upstream', now)
      const wait = served.retryInMs(now) ?? Number.NaN
      expect([served.at(now), served.at(now + wait - 1), served.at(now + wait)]).toEqual([
        'upstream',
        'upstream',
        'ours',
      ])
      waits.push(wait / 1000)
      now += wait
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600])
  })

  test('is reported once for writes at the same time, which do not extend the wait', () => {
    const served = new ServedCrd()
    const shown: SourceCrd[] = ['ours', 'upstream', 'upstream', 'ours', 'ours']

    expect(shown.map((crd) => [served.learn(crd, NOW), served.retryInMs(NOW)])).toEqual([
      [false, undefined],
      [true, 30_000],
      [false, 30_000],
      [true, undefined],
      [false, undefined],
    ])
  })

  test('is tried again at once after the clock was set back', () => {
    const served = new ServedCrd()
    served.learn('upstream', NOW)

    expect(served.at(NOW - 3_600_000)).toBe('ours')
  })
})
