import { expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../api/karmada.ts'
import type { PolicyInput } from './decide.ts'
import { planPolicy } from './plan.ts'

const claimed = { workload: 'Deployment default/app', claim: 'default/sales' }
const plan = (change: Partial<PolicyInput> = {}) =>
  planPolicy({ policy: makePolicy({}, { resourceVersion: '7' }), mode: 'dataBound', dataBound: claimed, ...change })

test('a policy of a data-bound workload is patched for the read version, with an Event', () => {
  expect(plan().actions).toEqual([
    {
      kind: 'patch',
      of: { type: propagationPolicies, namespace: 'default', name: 'app' },
      patch: {
        metadata: { resourceVersion: '7', annotations: { 'lodestone.dev/propagate-deps-set': 'true' } },
        spec: { propagateDeps: true },
      },
    },
    {
      kind: 'event',
      about: makePolicy({}, { resourceVersion: '7' }),
      type: 'Normal',
      reason: 'PropagateDepsSet',
      message: 'propagateDeps set: DataSourceClaim default/sales names Deployment default/app',
    },
  ])
})

test('a ClusterPropagationPolicy is patched as such', () => {
  const { namespace: _none, ...metadata } = makePolicy().metadata
  const policy = { ...makePolicy(), kind: 'ClusterPropagationPolicy', metadata }

  expect(plan({ policy }).actions[0]).toMatchObject({ of: { type: clusterPropagationPolicies, name: 'app' } })
})

test.each<{ name: string; change: Partial<PolicyInput> }>([
  { name: 'no workload is data-bound', change: { dataBound: undefined } },
  { name: 'it is set already', change: { policy: makePolicy({ propagateDeps: true }) } },
  {
    name: 'the last workload is no longer data-bound: the user set the field',
    change: { policy: makePolicy({ propagateDeps: true }), dataBound: undefined },
  },
  {
    name: 'its author declares false, even if only admission records it',
    change: { policy: makePolicy({ propagateDeps: false }) },
  },
  {
    name: 'its author declines',
    change: { policy: makePolicy({}, { annotations: { 'lodestone.dev/propagate-deps': 'false' } }) },
  },
  { name: 'the mode is never', change: { mode: 'never' } },
])('nothing is written when $name', ({ change }) => {
  expect(plan(change).actions).toEqual([])
})
