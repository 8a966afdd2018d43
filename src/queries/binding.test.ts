import { expect, test } from 'vitest'
import { makeBinding, makeInput, makePolicy, makePolicyInput } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import type { PropagationPolicy } from '../api/karmada.ts'
import { withCurrentPolicy } from './binding.ts'

const binding = makeBinding()
const placement = { clusterAffinity: { clusterNames: ['member9'] } }
const cached = makePolicyInput()
const selected = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }

function policyWith(spec: Partial<PropagationPolicy['spec']>, deletionTimestamp?: string): PropagationPolicy {
  const metadata = { namespace: 'default', name: 'app', ...(deletionTimestamp && { deletionTimestamp }) }
  return makePolicy({ placement, resourceSelectors: [selected], ...spec }, metadata)
}

test.each<{ name: string; policy?: PropagationPolicy; want: object }>([
  { name: 'in force', policy: policyWith({}), want: { placement, lazy: false } },
  { name: 'lazy', policy: policyWith({ activationPreference: 'Lazy' }), want: { placement, lazy: true } },
  { name: 'being deleted', policy: policyWith({}, '2026-01-01T00:00:00Z'), want: { placement, lazy: true } },
  {
    name: 'of another workload',
    policy: policyWith({ resourceSelectors: [{ ...selected, name: 'other' }] }),
    want: { placement, lazy: true },
  },
  {
    name: 'that selects by labels, which are unknown',
    policy: policyWith({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: { a: 'b' } } }],
    }),
    want: { placement, lazy: false },
  },
  { name: 'that is gone', want: { ...cached, lazy: true } },
])('the current policy replaces the cached one: $name', async ({ policy, want }) => {
  const store = await storeOf(policy ? [policy] : [])
  const input = makeInput({ binding, stored: binding, policy: cached })
  expect((await withCurrentPolicy(input, store)).policy).toMatchObject(want)
})

test.each([
  { name: 'a known policy', input: makeInput({ binding }) },
  {
    name: 'a reference to a policy',
    input: makeInput({ binding: { ...binding, metadata: { name: 'app' } }, policy: cached }),
  },
])('an input without $name stays', async ({ input }) => {
  const store = await storeOf([policyWith({})])
  expect(await withCurrentPolicy(input, store)).toBe(input)
})
