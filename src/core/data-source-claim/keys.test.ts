import { describe, expect, test } from 'vitest'
import { makeClaim, makeForeignClaim, makeSource } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { defined } from '../../base/json.ts'
import { boundSourceOf, otherNamespaceOf, queryKey, queryOfClaim, workloadKey, workloadKeysOfClaim } from './keys.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }

test.each<{ name: string; other: Partial<typeof app>; same: boolean }>([
  { name: 'the version of a workload does not matter', other: { apiVersion: 'apps/v1beta2' }, same: true },
  { name: 'the group matters', other: { apiVersion: 'extensions/v1' }, same: false },
  { name: 'the kind matters', other: { kind: 'StatefulSet' }, same: false },
  { name: 'the namespace matters', other: { namespace: 'other' }, same: false },
  { name: 'the name matters', other: { name: 'app2' }, same: false },
  { name: 'no namespace differs from the default namespace', other: { namespace: '' }, same: false },
])('$name', ({ other, same }) => {
  expect(workloadKey({ ...app, ...other }) === workloadKey(app)).toBe(same)
})

describe('a claim finds', () => {
  test('only the workload in the namespace in its spec', () => {
    const claim = makeClaim({ workload: { ...app, namespace: 'shop' } })
    expect(workloadKeysOfClaim(claim)).toEqual([workloadKey({ ...app, namespace: 'shop' })])
  })

  test('the cluster-scoped workload, if the claim has no namespace', () => {
    const claim = { ...makeClaim(), metadata: { name: 'sales' } }
    expect(workloadKeysOfClaim(claim)).toEqual([
      workloadKey({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }),
    ])
  })

  test('without a namespace, the workload in its own namespace or a cluster-scoped one', () => {
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
    { name: 'the source with the same query', claim: {}, source: {}, want: true },
    { name: 'no source with another name', claim: {}, source: { name: 'lake.shop.returns' }, want: false },
    { name: 'no source with another type', claim: {}, source: { type: 'database' }, want: false },
    { name: 'no source with another system', claim: {}, source: { system: 's3' }, want: false },
    {
      name: 'attributes in any order',
      claim: { attributes: { a: '1', b: '2' } },
      source: { attributes: { b: '2', a: '1' } },
      want: true,
    },
    { name: 'absent attributes for empty ones', claim: { attributes: {} }, source: {}, want: true },
    {
      name: 'no source with another value of an attribute',
      claim: { attributes: { a: '1' } },
      source: { attributes: { a: '2' } },
      want: false,
    },
    { name: 'no source with other attributes', claim: { attributes: { a: '1' } }, source: {}, want: false },
    {
      name: 'no source whose fields are equal only when they are joined',
      claim: { dataSourceType: 'table x' },
      source: { type: 'table', name: 'x lake.shop.sales' },
      want: false,
    },
  ])('$name', ({ claim, source, want }) => {
    expect(queryKey(queryOfClaim(makeClaim(claim))) === queryKey(makeSource(source).spec)).toBe(want)
  })
})

test.each([
  { name: 'of another namespace', claim: makeForeignClaim(), want: 'default' },
  { name: 'of its own namespace', claim: makeForeignClaim({ namespace: 'default' }), want: undefined },
  { name: 'without a namespace', claim: makeClaim(), want: undefined },
])('the other namespace of a claim for a workload $name is $want', ({ claim, want }) => {
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
  const condition = (type: string, observedGeneration?: number) =>
    defined({
      type,
      status: 'True' as const,
      reason: 'Located',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: observedGeneration || undefined,
    })
  test.each<{ name: string; status: DataSourceClaim['status']; want: string | undefined }>([
    { name: 'no source without a status', status: undefined, want: undefined },
    { name: 'the source in its status', status: { boundDataSource: 'a' }, want: 'a' },
    {
      name: 'the source in its status, if the status is of this generation',
      status: { boundDataSource: 'a', conditions: [condition('Resolved', 1), condition('Bound', 2)] },
      want: 'a',
    },
    {
      name: 'the source in its status, if no generation was observed',
      status: { boundDataSource: 'a', conditions: [condition('Bound')] },
      want: 'a',
    },
    {
      name: 'no source after a change of its spec',
      status: { boundDataSource: 'a', conditions: [condition('Resolved', 2), condition('Bound', 1)] },
      want: undefined,
    },
  ])('$name', ({ status, want }) => {
    expect(boundSourceOf({ ...makeClaim({}, { generation: 2 }), ...defined({ status }) })).toBe(want)
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
    expect(queryKey(queryOfClaim(claim))).toBe(queryKey(source.spec))
  })
})
