import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { policyInputOf } from './input.ts'
import { policyReferenceOf } from './policy.ts'

const NAMESPACE = 'propagationpolicy.karmada.io/namespace'
const NAME = 'propagationpolicy.karmada.io/name'
const CLUSTER_NAME = 'clusterpropagationpolicy.karmada.io/name'

test.each([
  { annotations: { [NAMESPACE]: 'default', [NAME]: 'app' }, want: { namespace: 'default', name: 'app' } },
  {
    annotations: { [NAMESPACE]: 'default', [NAME]: 'app', [CLUSTER_NAME]: 'all' },
    want: { namespace: 'default', name: 'app' },
  },
  { annotations: { [CLUSTER_NAME]: 'all' }, want: { name: 'all' } },
  { annotations: { [NAMESPACE]: 'default', [CLUSTER_NAME]: 'all' }, want: { name: 'all' } },
  { annotations: { [NAME]: 'app' }, want: undefined },
  { annotations: { [NAMESPACE]: 'default', [NAME]: '' }, want: undefined },
  { annotations: {}, want: undefined },
])('the policy of a binding with $annotations is $want', ({ annotations, want }) => {
  expect(policyReferenceOf({ annotations })).toEqual(want)
})

test('a binding without annotations has no policy', () => {
  expect(policyReferenceOf({})).toBeUndefined()
})

test.each([
  { name: 'a plain policy', policy: makePolicy(), lazy: false, requiresClaim: false },
  { name: 'a lazy policy', policy: makePolicy({ activationPreference: 'Lazy' }), lazy: true, requiresClaim: false },
  {
    name: 'a policy that requires a claim',
    policy: makePolicy({}, { annotations: { 'lodestone.dev/requires-claim': 'true' } }),
    lazy: false,
    requiresClaim: true,
  },
  {
    name: 'a policy that requires no claim',
    policy: makePolicy({}, { annotations: { 'lodestone.dev/requires-claim': 'false' } }),
    lazy: false,
    requiresClaim: false,
  },
])('the input of the decision for $name', ({ policy, lazy, requiresClaim }) => {
  expect(policyInputOf(policy)).toEqual({ placement: policy.spec.placement, lazy, requiresClaim })
})

test('a policy without a placement allows every cluster', () => {
  const { placement: _placement, ...spec } = makePolicy().spec
  expect(policyInputOf({ ...makePolicy(), spec }).placement).toEqual({})
})
