import { describe, expect, test } from 'vitest'
import { makeClaim, makeForeignClaim, makeSource } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import {
  boundSourceOf,
  otherNamespaceOf,
  queryOfClaim,
  sourceKeyOfClaim,
  sourceKeyOfSource,
  workloadKey,
  workloadKeysOfClaim,
} from './keys.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }

test.each<{ name: string; other: Partial<typeof app>; same: boolean }>([
  { name: 'the version of a workload does not matter', other: { apiVersion: 'apps/v1beta2' }, same: true },
  { name: 'its group does', other: { apiVersion: 'extensions/v1' }, same: false },
  { name: 'its kind does', other: { kind: 'StatefulSet' }, same: false },
  { name: 'its namespace does', other: { namespace: 'other' }, same: false },
  { name: 'its name does', other: { name: 'app2' }, same: false },
  { name: 'no namespace is not the default one', other: { namespace: '' }, same: false },
])('$name', ({ other, same }) => {
  expect(workloadKey({ ...app, ...other }) === workloadKey(app)).toBe(same)
})

describe('a claim finds', () => {
  test('the workload in the namespace that it gives, only', () => {
    const claim = makeClaim({ workload: { ...app, namespace: 'shop' } })
    expect(workloadKeysOfClaim(claim)).toEqual([workloadKey({ ...app, namespace: 'shop' })])
  })

  test('the cluster-scoped workload, where the claim has no namespace itself', () => {
    const claim = { ...makeClaim(), metadata: { name: 'sales' } }
    expect(workloadKeysOfClaim(claim)).toEqual([
      workloadKey({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }),
    ])
  })

  test('without one, the workload in its own namespace or a cluster-scoped one', () => {
    expect(workloadKeysOfClaim(makeClaim())).toEqual([
      workloadKey(app),
      workloadKey({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }),
    ])
  })

  test.each<{
    name: string
    claim: Parameters<typeof makeClaim>[0]
    source: Parameters<typeof makeSource>[0]
    want: boolean
  }>([
    { name: 'the source that answers the same query', claim: {}, source: {}, want: true },
    { name: 'not one of another name', claim: {}, source: { name: 'lake.shop.returns' }, want: false },
    { name: 'not one of another type', claim: {}, source: { type: 'database' }, want: false },
    { name: 'not one of another system', claim: {}, source: { system: 's3' }, want: false },
    {
      name: 'attributes in any order',
      claim: { attributes: { a: '1', b: '2' } },
      source: { attributes: { b: '2', a: '1' } },
      want: true,
    },
    { name: 'no attributes like empty ones', claim: { attributes: {} }, source: {}, want: true },
    {
      name: 'not one with another value of an attribute',
      claim: { attributes: { a: '1' } },
      source: { attributes: { a: '2' } },
      want: false,
    },
    { name: 'not one with other attributes', claim: { attributes: { a: '1' } }, source: {}, want: false },
    {
      name: 'not one whose parts only look the same when joined',
      claim: { dataSourceType: 'table x' },
      source: { type: 'table', name: 'x lake.shop.sales' },
      want: false,
    },
  ])('$name', ({ claim, source, want }) => {
    expect(sourceKeyOfClaim(makeClaim(claim)) === sourceKeyOfSource(makeSource(source))).toBe(want)
  })
})

test.each([
  { name: 'of another namespace', claim: makeForeignClaim(), want: 'default' },
  { name: 'of its own namespace', claim: makeForeignClaim({ namespace: 'default' }), want: undefined },
  { name: 'without a namespace', claim: makeClaim(), want: undefined },
])('a claim that names a workload $name reaches into $want', ({ claim, want }) => {
  expect(otherNamespaceOf(claim)).toBe(want)
})

test.each([
  { name: 'without attributes', claim: {}, want: {} },
  { name: 'with attributes', claim: { attributes: { a: '1' } }, want: { attributes: { a: '1' } } },
])('the query of a claim $name is the spec of its source', ({ claim, want }) => {
  expect(queryOfClaim(makeClaim(claim))).toStrictEqual({
    system: 'amoro',
    type: 'table',
    name: 'lake.shop.sales',
    ...want,
  })
})

describe('a claim is bound to', () => {
  const condition = (type: string, observedGeneration?: number) => ({
    type,
    status: 'True' as const,
    reason: 'Located',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    ...(observedGeneration && { observedGeneration }),
  })
  test.each<{ name: string; status: DataSourceClaim['status']; want: string | undefined }>([
    { name: 'no source without a status', status: undefined, want: undefined },
    { name: 'the source in its status', status: { boundDataSource: 'a' }, want: 'a' },
    {
      name: 'that source when the status is of this generation',
      status: { boundDataSource: 'a', conditions: [condition('Resolved', 1), condition('Bound', 2)] },
      want: 'a',
    },
    {
      name: 'that source when no generation was observed',
      status: { boundDataSource: 'a', conditions: [condition('Bound')] },
      want: 'a',
    },
    {
      name: 'no source after an edit of its spec',
      status: { boundDataSource: 'a', conditions: [condition('Resolved', 2), condition('Bound', 1)] },
      want: undefined,
    },
  ])('$name', ({ status, want }) => {
    expect(boundSourceOf({ ...makeClaim({}, { generation: 2 }), ...(status && { status }) })).toBe(want)
  })
})

describe('oracle J: names as users have them', () => {
  test.each([
    { name: 'a claim without workload.namespace means its own namespace', spec: {} },
    { name: 'a table in capitals', spec: { dataSourceName: 'Sales_2024' } },
    { name: 'a table in nested namespaces', spec: { dataSourceName: 'a.b.c' } },
    { name: 'a name with slashes', spec: { dataSourceType: 'prefix', dataSourceName: 'bucket/a/b' } },
    { name: 'a name that is not English', spec: { dataSourceName: 'склад.продажи' } },
  ])('$name', ({ spec }) => {
    const claim = makeClaim(spec)
    const source = makeSource({ type: claim.spec.dataSourceType, name: claim.spec.dataSourceName })
    expect(workloadKeysOfClaim(claim)).toContain(workloadKey(app))
    expect(sourceKeyOfClaim(claim)).toBe(sourceKeyOfSource(source))
  })
})
