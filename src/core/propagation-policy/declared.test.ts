import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { LAST_APPLIED_ANNOTATION } from '../../api/meta.ts'
import { declaredPropagateDeps } from './declared.ts'

const applied = (spec: unknown) => JSON.stringify({ apiVersion: 'policy.karmada.io/v1alpha1', spec })

test.each<{ name: string; spec?: { propagateDeps: boolean }; text?: string; want: boolean | undefined }>([
  { name: 'a policy that never mentions it', want: undefined },
  { name: 'true', spec: { propagateDeps: true }, want: true },
  { name: 'false', spec: { propagateDeps: false }, want: false },
  { name: 'a false that was applied and is gone', text: applied({ propagateDeps: false }), want: false },
  {
    name: 'a true after a false that was applied',
    spec: { propagateDeps: true },
    text: applied({ propagateDeps: false }),
    want: true,
  },
  { name: 'a true that was applied and is gone', text: applied({ propagateDeps: true }), want: undefined },
  { name: 'a manifest that was applied without it', text: applied({}), want: undefined },
  { name: 'a manifest that was applied without a spec', text: '{"propagateDeps":false}', want: undefined },
  { name: 'an annotation that is not JSON', text: '{"propagateDeps":false', want: undefined },
  { name: 'an annotation that is not an object', text: '["propagateDeps"]', want: undefined },
  { name: 'a spec that is null', text: '{"spec":null,"propagateDeps":0}', want: undefined },
])('$name says $want', ({ spec, text, want }) => {
  const annotations = text === undefined ? {} : { [LAST_APPLIED_ANNOTATION]: text }
  expect(declaredPropagateDeps(makePolicy(spec, { annotations }))).toBe(want)
})
