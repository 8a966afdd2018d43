/** Tests when a claim affects no placement, and what the user reads then. */
import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { noEffect, withNoEffect } from './effect.ts'

const workload = { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' }
const claim = makeClaim({ workload })

function attached(requiredBy?: ResourceBinding['spec']['requiredBy']): ResourceBinding {
  const { placement: _absent, ...spec } = makeBinding().spec
  return { ...makeBinding(), spec: { ...spec, ...defined({ requiredBy }) } }
}

const follows = (owners: string) =>
  `ConfigMap settings is a dependency, and follows the ${owners}; name such a workload instead`

describe('a claim', () => {
  test.each([
    { name: 'whose workload has a placement has an effect', bindings: [makeBinding()], want: undefined },
    { name: 'with one placed binding of two has an effect', bindings: [attached(), makeBinding()], want: undefined },
    {
      name: 'without a binding has no effect yet',
      bindings: [],
      want: {
        reason: 'NoBinding',
        message: 'ConfigMap settings has no binding yet; create it, and a policy that selects it',
      },
    },
    {
      name: 'for an attached dependency has no effect',
      bindings: [attached([{ namespace: 'default', name: 'app-deployment' }])],
      want: { reason: 'AttachedDependency', message: follows('workloads of default/app-deployment') },
    },
    {
      name: 'for a dependency of many workloads names three of them',
      bindings: [attached(['a', 'b', 'c', 'd', 'e'].map((name) => ({ name })))],
      want: { reason: 'AttachedDependency', message: follows('workloads of a, b, c and 2 more') },
    },
    {
      name: 'for a dependency that no binding requires has no effect',
      bindings: [attached('all' as never)],
      want: { reason: 'AttachedDependency', message: follows('workloads that need it') },
    },
  ])('$name', ({ bindings, want }) => {
    expect(noEffect(claim, bindings)).toEqual(want && { type: 'Effective', status: 'False', ...want })
  })
})

test.each<{ namespace: string; target?: string; rest: string }>([
  { namespace: 'default', rest: '' },
  { namespace: 'karmada-tools', rest: '' },
  {
    namespace: 'kube-public',
    rest: '; objects of namespace kube-public get none, since Karmada skips it by default; use another namespace, or change its --skipped-propagating-namespaces',
  },
  {
    namespace: 'default',
    target: 'karmada-es-member1',
    rest: '; objects of namespace karmada-es-member1 get none, since Karmada reserves it; use another namespace',
  },
  {
    namespace: 'karmada-system',
    rest: '; objects of namespace karmada-system get none, since Karmada reserves it; use another namespace',
  },
])('a claim without a binding says whether Karmada skips $namespace or $target', (given) => {
  const { namespace, target, rest } = given
  const skipped = makeClaim({ workload: { ...workload, ...defined({ namespace: target }) } }, { namespace })
  expect(noEffect(skipped, [])?.message).toBe(
    `ConfigMap settings has no binding yet; create it, and a policy that selects it${rest}`,
  )
})

test('kubectl get prints that a claim for a dependency has no effect', () => {
  const resolved = { type: 'Resolved', status: 'True', reason: 'Located', message: 'the data is in m1' } as const
  expect(withNoEffect(resolved, noEffect(claim, [attached()])).message).toBe(
    `the data is in m1; the claim has no effect: ${follows('workloads that need it')}`,
  )
  expect(withNoEffect(resolved, noEffect(claim, []))).toEqual(resolved)
  expect(withNoEffect(resolved, undefined)).toEqual(resolved)
})
