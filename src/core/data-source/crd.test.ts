import { expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { defined } from '../../base/json.ts'
import type { Action } from '../plan.ts'
import type { Attempt } from './attempt.ts'
import {
  dropsLocation,
  dropsPhase,
  hasLocation,
  isCreatable,
  lacksLocation,
  localityFor,
  type SourceCrd,
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

test.each([
  { name: 'the URI', spec: { locality: { location: 's3://a' } }, locality: { clusterNames: [] }, want: true },
  { name: 'the whole location', spec: { locality: { location: 's3://a' } }, locality: undefined, want: true },
  { name: 'nothing', spec: { locality: { location: 's3://a' } }, locality: { location: 's3://a' }, want: false },
  { name: 'nothing of a write without a location', spec: undefined, locality: { clusterNames: [] }, want: false },
])('an API server drops $name: $want', ({ spec, locality, want }) => {
  const { locality: _old, ...query } = makeSource().spec
  const written = { ...makeSource(), spec: { ...query, ...defined({ locality }) } }
  const patch: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: defined({ spec }) }
  const create: Action = {
    kind: 'create',
    type: dataSources,
    object: { ...makeSource(), spec: { ...query, ...spec } } as never,
  }
  expect([dropsLocation(patch, written), dropsLocation(create, written)]).toEqual([want, want])
})

test('a write lacks a location if it creates a source without one', () => {
  const { locality: _none, ...query } = makeSource().spec
  const create = (object: DataSource): Action => ({ kind: 'create', type: dataSources, object })
  const patch: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: {} }

  expect([create({ ...makeSource(), spec: query }), create(makeSource()), patch, undefined].map(lacksLocation)).toEqual(
    [...[true, false, false, false]],
  )
})

test('a plan without a write drops nothing', () => {
  expect(dropsLocation(undefined, makeSource())).toBe(false)
})

test.each<{ locality: DataSource['spec']['locality']; want: [ours: boolean, upstream: boolean] }>([
  { locality: undefined as never, want: [false, false] },
  { locality: { clusterNames: [] }, want: [true, false] },
  { locality: { clusterNames: ['member1'] }, want: [true, true] },
])('the location $locality is known with our CRD and that of volcano-global: $want', ({ locality, want }) => {
  const source = { ...makeSource(), spec: { ...makeSource().spec, locality } } as DataSource
  expect([hasLocation('ours', source), hasLocation('upstream', source)]).toEqual(want)
})

test.each([
  { kept: { phase: 'Available' }, want: false },
  { kept: {}, want: true },
])('an API server that keeps $kept of a status drops the phase: $want', ({ kept, want }) => {
  const of = { type: dataSources, name: 'a' }
  const write: Action = { kind: 'patch', of, patch: { status: { phase: 'Available' } }, subresource: 'status' }

  expect(dropsPhase(write, { ...makeSource(), status: kept })).toBe(want)
})

test('a write without a phase drops none', () => {
  const write: Action = { kind: 'patch', of: { type: dataSources, name: 'a' }, patch: { spec: {} } }
  expect([dropsPhase(write, makeSource()), dropsPhase(undefined, makeSource())]).toEqual([false, false])
})
