import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../api/meta.ts'
import { scopesOf } from './scope.ts'

const objectOf = (apiVersion: string, kind: string): K8sObject => ({ apiVersion, kind, metadata: { name: 'a' } })

test.each([
  { apiVersion: 'v1', kind: 'ConfigMap', want: 'Namespaced' },
  { apiVersion: 'v1', kind: 'Namespace', want: 'Cluster' },
  { apiVersion: 'apps/v1', kind: 'Deployment', want: 'Namespaced' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', want: 'Namespaced' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', want: 'Cluster' },
  { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', want: 'Cluster' },
  { apiVersion: 'policy.karmada.io/v1alpha1', kind: 'ClusterPropagationPolicy', want: 'Cluster' },
  { apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', want: 'Namespaced' },
  { apiVersion: 'example.org/v1', kind: 'Cluster', want: undefined },
  { apiVersion: 'constructor/v1', kind: 'Namespace', want: undefined },
])('$kind of $apiVersion: $want', ({ apiVersion, kind, want }) => {
  expect(scopesOf([], [])(objectOf(apiVersion, kind))).toBe(want)
})

test('a given type precedes the list, in any version', () => {
  const types = [{ group: 'example.org', version: 'v1', kind: 'Train', plural: 'trains', namespaced: false }]

  expect(scopesOf(types, [])(objectOf('example.org/v2', 'Train'))).toBe('Cluster')
})

describe('a CustomResourceDefinition', () => {
  const crd = (spec: unknown) => ({ ...objectOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition'), spec })

  test.each(['Namespaced', 'Cluster'])('tells that its kind is %s', (scope) => {
    const scopeOf = scopesOf([], [crd({ group: 'example.org', names: { kind: 'Train' }, scope })])

    expect(scopeOf(objectOf('example.org/v1', 'Train'))).toBe(scope)
  })

  test.each([
    { spec: undefined },
    { spec: [] },
    { spec: { names: 'Train', scope: 'Cluster' } },
    { spec: { group: 'example.org', names: { kind: 'Train' }, scope: 'Other' } },
  ])('with an invalid spec tells nothing: $spec', ({ spec }) => {
    expect(scopesOf([], [crd(spec)])(objectOf('example.org/v1', 'Train'))).toBeUndefined()
  })
})
