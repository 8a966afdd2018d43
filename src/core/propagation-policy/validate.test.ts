import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import type { PropagationPolicy } from '../../api/karmada.ts'
import { validatePolicy } from './validate.ts'

const malformed = (spec: object) => ({ ...makePolicy(), spec: { ...makePolicy().spec, ...spec } }) as PropagationPolicy

test.each<{ name: string; policy: PropagationPolicy; want: string[] }>([
  { name: 'a policy', policy: makePolicy(), want: [] },
  { name: 'fields that are not read', policy: malformed({ unknownField: 1 }), want: [] },
  {
    name: 'selectors that are not a list',
    policy: malformed({ resourceSelectors: 'app' }),
    want: ['spec.resourceSelectors'],
  },
  {
    name: 'propagateDeps that is not a boolean',
    policy: malformed({ propagateDeps: 'yes' }),
    want: ['spec.propagateDeps'],
  },
])('$name: $want', ({ policy, want }) => {
  expect(validatePolicy(policy).map(({ path }) => path)).toEqual(want.map((path) => expect.stringContaining(path)))
})
