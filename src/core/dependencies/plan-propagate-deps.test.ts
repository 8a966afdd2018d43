import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { clusterResourceBindings, MANAGED_BY_LABEL, type PropagationPolicy } from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { planPropagateDeps } from './plan-propagate-deps.ts'

const deletionTimestamp = '2026-01-01T00:00:00Z'

function plan({ has, wants, metadata = {}, policy = {} }: Case) {
  const binding = {
    ...makeBinding(has ? { propagateDeps: true } : {}),
    metadata: { name: 'data-persistentvolume', resourceVersion: '7', ...metadata },
  }
  const of: PropagationPolicy = {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'volumes', ...policy },
    spec: { resourceSelectors: [], ...(wants !== undefined && { propagateDeps: wants }) },
  }
  return planPropagateDeps(binding, policy ? of : undefined).actions
}

interface Case {
  has: boolean
  wants?: boolean
  metadata?: ObjectMeta
  /** null: the policy is not known. */
  policy?: ObjectMeta | null
}

test.each([
  ['set if the policy sets it', { has: false, wants: true }, true],
  ['removed if the policy does not set it', { has: true }, null],
  ['removed if the author of the policy declines', { has: true, wants: false }, null],
])('propagateDeps of a cluster-scoped binding is %s', (_case, given, expected) => {
  expect(plan(given)).toEqual([
    {
      kind: 'patch',
      of: { type: clusterResourceBindings, name: 'data-persistentvolume' },
      patch: { metadata: { resourceVersion: '7' }, spec: { propagateDeps: expected } },
    },
  ])
})

test.each([
  ['that is set', { has: true, wants: true }],
  ['that is not set', { has: false, wants: false }],
  ['of a namespaced workload, which Karmada updates itself', { has: false, wants: true, metadata: { namespace: 'a' } }],
  ['of a binding that is being deleted', { has: true, metadata: { deletionTimestamp } }],
  ['of another controller', { has: false, wants: true, metadata: { labels: { [MANAGED_BY_LABEL]: 'x' } } }],
  ['whose policy is gone', { has: true, policy: null }],
  ['whose policy is being deleted', { has: true, policy: { deletionTimestamp } }],
] satisfies [string, Case][])('a value stays %s', (_case, given) => {
  expect(plan(given)).toEqual([])
})
