import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import {
  bindingTypeIn,
  clusterResourceBindings,
  MANAGED_BY_LABEL,
  type PropagationPolicy,
  resourceBindings,
} from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION, PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { planPropagateDeps } from './plan-propagate-deps.ts'

const deletionTimestamp = '2026-01-01T00:00:00Z'
const narrowed = { namespace: 'a', annotations: { [LOCALITY_ANNOTATION]: '{}' } }
const setByUs = { annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' } }
const lazy = { activationPreference: 'Lazy' }

interface Case {
  has: boolean
  wants?: boolean
  metadata?: ObjectMeta
  /** null: the policy is not known. */
  policy?: ObjectMeta | null
  spec?: Partial<PropagationPolicy['spec']>
}

function plan({ has, wants, metadata = {}, policy = {}, spec = {} }: Case) {
  const binding = {
    ...makeBinding(has ? { propagateDeps: true } : {}),
    metadata: { name: 'data-persistentvolume', resourceVersion: '7', ...metadata },
  }
  const of: PropagationPolicy = {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'volumes', ...policy },
    spec: { resourceSelectors: [], ...spec, ...(wants !== undefined && { propagateDeps: wants }) },
  }
  return planPropagateDeps(binding, policy ? of : undefined).actions
}

test.each<[string, Case, true | null]>([
  ['cluster-scoped binding is set if the policy sets it', { has: false, wants: true }, true],
  ['cluster-scoped binding is removed if the policy does not set it', { has: true }, null],
  ['cluster-scoped binding is removed if the author of the policy declines', { has: true, wants: false }, null],
  [
    'narrowed binding is set if Lodestone set it in a lazy policy',
    { has: false, wants: true, metadata: narrowed, policy: setByUs, spec: lazy },
    true,
  ],
])('propagateDeps of a %s', (_case, given, expected) => {
  const namespace = given.metadata?.namespace
  expect(plan(given)).toEqual([
    {
      kind: 'patch',
      of: { type: bindingTypeIn(namespace), name: 'data-persistentvolume', ...(namespace && { namespace }) },
      patch: { metadata: { resourceVersion: '7' }, spec: { propagateDeps: expected } },
    },
  ])
  expect(bindingTypeIn(namespace)).toBe(namespace ? resourceBindings : clusterResourceBindings)
})

test.each<[string, Case]>([
  ['that is set', { has: true, wants: true }],
  ['that is not set', { has: false, wants: false }],
  ['of a namespaced workload, which Karmada updates itself', { has: false, wants: true, metadata: narrowed }],
  ['of a lazy policy whose author set it', { has: false, wants: true, metadata: narrowed, spec: lazy }],
  [
    'of a lazy policy, for a workload on which Lodestone has not decided',
    { has: false, wants: true, metadata: { namespace: 'a' }, policy: setByUs, spec: lazy },
  ],
  ['of a lazy policy that no longer sets it', { has: true, metadata: narrowed, spec: lazy }],
  ['of a binding that is being deleted', { has: true, metadata: { deletionTimestamp } }],
  ['of another controller', { has: false, wants: true, metadata: { labels: { [MANAGED_BY_LABEL]: 'x' } } }],
  ['whose policy is gone', { has: true, policy: null }],
  ['whose policy is being deleted', { has: true, policy: { deletionTimestamp } }],
])('a value stays %s', (_case, given) => {
  expect(plan(given)).toEqual([])
})
