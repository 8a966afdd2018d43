import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { REQUIRES_CLAIM_ANNOTATION } from '../../api/lodestone.ts'
import { policyInputOf } from './input.ts'

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
