import { expect, test } from 'vitest'
import { makeBinding, makePolicy } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { REQUIRES_CLAIM_ANNOTATION } from '../../api/lodestone.ts'
import { policyInputOf, validateBinding } from './input.ts'

const { placement } = makePolicy().spec

test.each([
  { name: 'has its placement', policy: makePolicy(), want: { placement, lazy: false, requiresClaim: false } },
  {
    name: 'may be lazy',
    policy: makePolicy({ activationPreference: 'Lazy' }),
    want: { placement, lazy: true, requiresClaim: false },
  },
  {
    name: 'may require a claim',
    policy: makePolicy({}, { annotations: { [REQUIRES_CLAIM_ANNOTATION]: 'true' } }),
    want: { placement, lazy: false, requiresClaim: true },
  },
  {
    name: 'requires a claim only with the value true',
    policy: makePolicy({}, { annotations: { [REQUIRES_CLAIM_ANNOTATION]: 'yes' } }),
    want: { placement, lazy: false, requiresClaim: false },
  },
])('the input of a policy $name', ({ policy, want }) => {
  expect(policyInputOf(policy)).toEqual(want)
})

test('a policy without a placement has an empty one', () => {
  const { placement: _none, ...spec } = makePolicy().spec
  expect(policyInputOf({ ...makePolicy(), spec }).placement).toEqual({})
})

const malformed = (spec: object) => ({ ...makeBinding(), spec: { ...makeBinding().spec, ...spec } }) as ResourceBinding
const withStatus = (status: object) => ({ ...makeBinding(), status }) as ResourceBinding

test.each<{ name: string; binding: ResourceBinding; want: string[] }>([
  { name: 'a binding of the detector', binding: makeBinding(), want: [] },
  { name: 'fields that are not read', binding: malformed({ unknownField: 1 }), want: [] },
  { name: 'a missing resource', binding: malformed({ resource: undefined }), want: ['spec'] },
  {
    name: 'names that are not a list',
    binding: malformed({ placement: { clusterAffinity: { clusterNames: 'm1' } } }),
    want: ['spec.placement.clusterAffinity.clusterNames'],
  },
  ...['text', {}, [null], [{ key: 1 }], [{ tolerationSeconds: '300' }]].map((value) => ({
    name: `tolerations that are ${JSON.stringify(value)}`,
    binding: malformed({ placement: { clusterTolerations: value } }),
    want: ['spec.placement.clusterTolerations'],
  })),
  ...['text', [null], [{ status: 'False' }]].flatMap((value) => [
    {
      name: `conditions that are ${JSON.stringify(value)}`,
      binding: withStatus({ conditions: value }),
      want: ['status.conditions'],
    },
    {
      name: `a status of members that is ${JSON.stringify(value)}`,
      binding: withStatus({ aggregatedStatus: value }),
      want: ['status.aggregatedStatus'],
    },
  ]),
])('$name: $want', ({ binding, want }) => {
  expect(validateBinding(binding).map(({ path }) => path)).toEqual(want.map((path) => expect.stringContaining(path)))
})
