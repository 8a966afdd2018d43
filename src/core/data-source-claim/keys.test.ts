import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../../test/builders.ts'
import { sourceKeyOfClaim, sourceKeyOfSource, workloadKey, workloadKeysOfClaim } from './keys.ts'

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
