import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { LAST_APPLIED_ANNOTATION } from '../../api/meta.ts'
import { declaredPropagateDeps } from './declared.ts'

const applied = (spec: unknown) => JSON.stringify({ apiVersion: 'policy.karmada.io/v1alpha1', spec })

test.each<{ name: string; spec?: { propagateDeps: boolean }; text?: string; want: boolean | undefined }>([
  { name: 'a policy without the field', want: undefined },
  { name: 'true', spec: { propagateDeps: true }, want: true },
  { name: 'false', spec: { propagateDeps: false }, want: false },
  { name: 'an applied false that is no longer in the spec', text: applied({ propagateDeps: false }), want: false },
  {
    name: 'a true after an applied false',
    spec: { propagateDeps: true },
    text: applied({ propagateDeps: false }),
    want: true,
  },
  { name: 'an applied true that is no longer in the spec', text: applied({ propagateDeps: true }), want: undefined },
  { name: 'an applied manifest without the field', text: applied({}), want: undefined },
  { name: 'an applied manifest without a spec', text: '{"propagateDeps":false}', want: undefined },
  { name: 'an annotation that is not JSON', text: '{"propagateDeps":false', want: undefined },
  { name: 'an annotation that is not an object', text: '["propagateDeps"]', want: undefined },
  { name: 'a spec that is null', text: '{"spec":null,"propagateDeps":0}', want: undefined },
])('$name declares $want', ({ spec, text, want }) => {
  const annotations = text === undefined ? {} : { [LAST_APPLIED_ANNOTATION]: text }
  expect(declaredPropagateDeps(makePolicy(spec, { annotations }))).toBe(want)
})
