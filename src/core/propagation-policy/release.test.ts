import { describe, expect, test } from 'vitest'
import { makePolicy } from '../../../test/builders.ts'
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_SET_ANNOTATION } from '../../api/lodestone.ts'
import { LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../api/meta.ts'
import { planRelease } from './release.ts'

const NOTE = { [PROPAGATE_DEPS_SET_ANNOTATION]: 'true' }
const policy = (metadata: ObjectMeta = {}, spec: object = {}): PropagationPolicy =>
  makePolicy({ propagateDeps: true, ...spec }, { resourceVersion: '7', annotations: NOTE, ...metadata })

const removesNote = { resourceVersion: '7', annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: null } }

describe('propagateDeps that Lodestone set', () => {
  test('is removed with its note, for the resourceVersion that was read, with an Event', () => {
    expect(planRelease(policy()).actions).toEqual([
      {
        kind: 'patch',
        of: { type: propagationPolicies, namespace: 'default', name: 'app' },
        patch: { metadata: removesNote, spec: { propagateDeps: null } },
      },
      {
        kind: 'event',
        about: policy(),
        type: 'Normal',
        reason: 'PropagateDepsUnset',
        message: 'propagateDeps removed: no workload of the policy has a claim or volumes any more',
      },
    ])
  })

  test('is removed from a ClusterPropagationPolicy', () => {
    const { namespace: _none, ...metadata } = policy().metadata
    const [action] = planRelease({ ...policy(), metadata }).actions
    expect(action).toMatchObject({ of: { type: clusterPropagationPolicies, name: 'app' } })
  })

  test.each<[string, ObjectMeta]>([
    [
      'the applied manifest',
      { annotations: { ...NOTE, [LAST_APPLIED_ANNOTATION]: '{"spec":{"propagateDeps":true}}' } },
    ],
    ['a field manager', { managedFields: [{ fieldsV1: { 'f:spec': { 'f:propagateDeps': {} } } }] }],
  ])('stays without the note if %s declares it', (_name, metadata) => {
    expect(planRelease(policy(metadata)).actions).toEqual([
      expect.objectContaining({ kind: 'patch', patch: { metadata: removesNote } }),
    ])
  })

  test.each<[string, PropagationPolicy]>([
    ['without the note: the user set it', policy({ annotations: {} })],
    ['with another value of the note', policy({ annotations: { [PROPAGATE_DEPS_SET_ANNOTATION]: 'x' } })],
    ['that is gone already', policy({}, { propagateDeps: false })],
    ['of a policy that is being deleted', policy({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['that Karmada requires for application failover', policy({}, { failover: { application: {} } })],
  ])('%s: nothing is written', (_name, one) => {
    expect(planRelease(one).actions).toEqual([])
  })
})
