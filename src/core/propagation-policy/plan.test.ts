import { describe, expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../api/meta.ts'
import type { PolicyInput } from './decide.ts'
import { type PolicyRelease, planPolicy } from './plan.ts'

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

describe('propagateDeps that Lodestone set', () => {
  const NOTE = { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' }
  const ours = (metadata: ObjectMeta = {}, spec: object = {}): PropagationPolicy =>
    makePolicy({ propagateDeps: true, ...spec }, { resourceVersion: '7', annotations: NOTE, ...metadata })
  const planRelease = (release: PolicyRelease) =>
    planPolicy({ policy: ours(), mode: 'dataBound', dataBound: undefined, release })
  const removesNote = { resourceVersion: '7', annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: null } }

  test('is removed with its note, for the resourceVersion that was read, with an Event', () => {
    expect(planRelease({ waitMs: 0, current: ours() }).actions).toEqual([
      {
        kind: 'patch',
        of: { type: propagationPolicies, namespace: 'default', name: 'app' },
        patch: { metadata: removesNote, spec: { propagateDeps: null } },
      },
      {
        kind: 'event',
        about: ours(),
        type: 'Normal',
        reason: 'PropagateDepsUnset',
        message: 'propagateDeps removed: no workload of the policy has a claim or volumes any more',
      },
    ])
  })

  test('stays until the end of the wait', () => {
    expect(planRelease({ waitMs: 20_000 })).toEqual({ actions: [], requeueAfterMs: 20_000 })
  })

  test('is not removed from a policy that was deleted meanwhile', () => {
    expect(planRelease({ waitMs: 0 })).toEqual({ actions: [] })
  })

  test('is removed from a ClusterPropagationPolicy', () => {
    const { namespace: _none, ...metadata } = ours().metadata
    const [action] = planRelease({ waitMs: 0, current: { ...ours(), metadata } }).actions
    expect(action).toMatchObject({ of: { type: clusterPropagationPolicies, name: 'app' } })
  })

  test.each<[string, ObjectMeta]>([
    [
      'the applied manifest',
      { annotations: { ...NOTE, [LAST_APPLIED_ANNOTATION]: '{"spec":{"propagateDeps":true}}' } },
    ],
    ['a field manager', { managedFields: [{ fieldsV1: { 'f:spec': { 'f:propagateDeps': {} } } }] }],
  ])('stays without the note if %s declares it', (_name, metadata) => {
    expect(planRelease({ waitMs: 0, current: ours(metadata) }).actions).toEqual([
      expect.objectContaining({ kind: 'patch', patch: { metadata: removesNote } }),
    ])
  })

  test.each<[string, PropagationPolicy]>([
    ['without the note: the user set it', ours({ annotations: {} })],
    ['with another value of the note', ours({ annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: 'x' } })],
    ['that is gone already', ours({}, { propagateDeps: false })],
    ['of a policy that is being deleted', ours({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['that Karmada requires for application failover', ours({}, { failover: { application: {} } })],
  ])('%s: nothing is written', (_name, current) => {
    expect(planRelease({ waitMs: 0, current }).actions).toEqual([])
  })
})
