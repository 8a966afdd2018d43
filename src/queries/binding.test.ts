import { expect, test } from 'vitest'
import {
  DEFAULT_DECISIONS,
  makeBinding,
  makeClaim,
  makeCluster,
  makeInput,
  makePolicy,
  makePolicyInput,
  makeSource,
} from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import type { Placement, PropagationPolicy } from '../api/karmada.ts'
import { decideBinding } from '../core/resource-binding/decide.ts'
import { gatherBindingInput, withCurrentPolicy } from './binding.ts'

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

test.each<{ where: string; labeled: Record<string, Record<string, string>>; state: string }>([
  { where: 'another cluster', labeled: { member1: { tier: 'gold' } }, state: 'OnHold' },
  { where: 'no cluster', labeled: {}, state: 'Narrowed' },
])('weights by a label that $where has decide: $state', async ({ labeled, state }) => {
  const members = ['member1', 'member2'].map((name) => makeCluster(name, {}, { stage: 'production', ...labeled[name] }))
  const byLabels = (matchLabels: Record<string, string>) => ({ labelSelector: { matchLabels } })
  const placement: Placement = {
    clusterAffinity: byLabels({ stage: 'production' }),
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList: [{ targetCluster: byLabels({ tier: 'gold' }), weight: 1 }] },
    },
  }
  const store = await storeOf([makeClaim(), makeSource(), ...members])
  const input = gatherBindingInput(makeBinding({ placement, replicas: 2 }), undefined, {
    ...DEFAULT_DECISIONS,
    store,
    now: 0,
    jumps: [],
  })
  expect(decideBinding(input).state).toBe(state)
})
