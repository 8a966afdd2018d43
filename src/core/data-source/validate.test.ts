import { expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import { validateDataSource } from './validate.ts'

test.each<{ name: string; spec: Record<string, unknown>; want: [string, string][] }>([
  {
    name: 'a resolved source is valid',
    spec: { locality: { clusterNames: ['member1'], location: 's3://a/b', bytes: 5_000_000_000 } },
    want: [],
  },
  { name: 'an unresolved source is valid', spec: { locality: undefined }, want: [] },
  { name: 'a source in none of the clusters is valid', spec: { locality: { clusterNames: [] } }, want: [] },
  {
    name: 'a query without its fields is rejected',
    spec: { system: undefined, type: undefined, name: undefined },
    want: [
      ['spec.name', 'Required'],
      ['spec.system', 'Required'],
      ['spec.type', 'Required'],
    ],
  },
  { name: 'an empty system is rejected', spec: { system: '' }, want: [['spec.system', 'Invalid']] },
  {
    name: 'another reclaim policy is rejected',
    spec: { reclaimPolicy: 'Recycle' },
    want: [['spec.reclaimPolicy', 'NotSupported']],
  },
  {
    name: 'negative bytes are rejected',
    spec: { locality: { bytes: -1 } },
    want: [['spec.locality.bytes', 'Invalid']],
  },
  {
    name: 'every invalid cluster name is rejected, with its index',
    spec: { locality: { clusterNames: ['member1', 'Member2', 'member1', '', 'a'.repeat(49), 7] } },
    want: [
      ['spec.locality.clusterNames[1]', 'Invalid'],
      ['spec.locality.clusterNames[2]', 'Duplicate'],
      ['spec.locality.clusterNames[3]', 'Invalid'],
      ['spec.locality.clusterNames[4]', 'TooLong'],
      ['spec.locality.clusterNames[5]', 'Invalid'],
    ],
  },
  {
    name: 'a misspelled field is rejected',
    spec: { locality: { clusters: [] } },
    want: [['spec.locality.clusters', 'NotSupported']],
  },
  {
    name: 'a locality of another type is rejected',
    spec: { locality: 'member1' },
    want: [['spec.locality', 'Invalid']],
  },
])('$name', ({ spec, want }) => {
  const source = makeSource()
  const errors = validateDataSource({ ...source, spec: { ...source.spec, ...spec } } as DataSource)
  expect(errors.map(({ path, code }) => [path, code]).toSorted()).toEqual(want)
})

test('a source without a spec is rejected', () => {
  const { spec: _spec, ...source } = makeSource()
  expect(validateDataSource(source as DataSource).map(({ path, code }) => [path, code])).toEqual([['spec', 'Required']])
})

test('too many clusters are one error: the names are not checked', () => {
  const clusterNames = Array.from({ length: 5001 }, () => 'not a name')
  expect(validateDataSource(makeSource({ locality: { clusterNames } }))).toEqual([
    expect.objectContaining({ path: 'spec.locality.clusterNames', code: 'TooLong' }),
  ])
})

test('a source that volcano-global wrote is valid: its references have a version', () => {
  const claimRefs = [
    {
      apiVersion: 'datadependency.volcano.sh/v1alpha1',
      kind: 'DataSourceClaim',
      namespace: 'default',
      name: 'sales',
      uid: '6f1c0a52-0000-4000-8000-000000000001',
      resourceVersion: '4711',
      fieldPath: 'spec',
    },
  ]
  const status = { claimRefs, boundClaims: 1, conditions: [] }
  expect(validateDataSource({ ...makeSource(), status })).toEqual([])
})
