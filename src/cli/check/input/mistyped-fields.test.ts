/** Checks that a field is found which a user mistyped, and that fields of later versions of Karmada are not. */
import { describe, expect, test } from 'vitest'
import { makeClaim, makePolicy, makeSource, makeVolumeManager } from '../../../../test/builders.ts'
import { findMistypedFields } from './mistyped-fields.ts'

const selectors = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }]
const policyOf = (spec: object, more: object = {}) => ({
  ...makePolicy(),
  spec: { resourceSelectors: selectors, ...spec },
  ...more,
})
const placed = (placement: object) => policyOf({ placement })

describe('a field of a policy', () => {
  test.each([
    { given: policyOf({ placment: {} }), errors: ['spec.placment: unknown field (did you mean placement?)'] },
    {
      given: policyOf({ resourceSelector: [] }),
      errors: ['spec.resourceSelector: unknown field (did you mean resourceSelectors?)'],
    },
    {
      given: policyOf({ propagatedeps: true }),
      errors: ['spec.propagatedeps: unknown field (did you mean propagateDeps?)'],
    },
    {
      given: placed({ clusterAffinty: {}, clusterAffinity: { clusterName: ['a'] } }),
      errors: [
        'spec.placement.clusterAffinty: unknown field (did you mean clusterAffinity?)',
        'spec.placement.clusterAffinity.clusterName: unknown field (did you mean clusterNames?)',
      ],
    },
    {
      given: placed({ clusterAffinities: [{ affinityName: 'a' }, { affinityName: 'b', excludes: ['c'] }] }),
      errors: ['spec.placement.clusterAffinities[1].excludes: unknown field (did you mean exclude?)'],
    },
    {
      given: policyOf({ suspension: { clusterNames: ['a'] } }),
      errors: [
        'spec.suspension.clusterNames: unknown field (did you mean spec.suspension.dispatchingOnClusters.clusterNames?)',
      ],
    },
    {
      given: placed({ clusterNames: ['a'] }),
      errors: [
        'spec.placement.clusterNames: unknown field (did you mean spec.placement.clusterAffinity.clusterNames?)',
      ],
    },
    { given: policyOf({}, { placement: {} }), errors: ['placement: unknown field (did you mean spec.placement?)'] },
    {
      given: policyOf({ clusterTolerations: [] }),
      errors: ['spec.clusterTolerations: unknown field (did you mean spec.placement.clusterTolerations?)'],
    },
  ])('$errors', ({ given, errors }) => {
    expect(messages(given)).toEqual(errors)
    expect(messages({ ...given, kind: 'ClusterPropagationPolicy' })).toEqual(errors)
  })
})

describe('a field outside of the spec of our kinds', () => {
  test.each([
    { given: { ...makeClaim(), policy: {} }, errors: ['policy: unknown field (did you mean spec.policy?)'] },
    { given: { ...makeClaim(), stauts: {} }, errors: ['stauts: unknown field (did you mean status?)'] },
    { given: { ...makeSource(), locality: {} }, errors: ['locality: unknown field (did you mean spec.locality?)'] },
    {
      given: { ...makeVolumeManager(), volumeConfigs: [] },
      errors: ['volumeConfigs: unknown field (did you mean spec.volumeConfigs?)'],
    },
    { given: { ...makeVolumeManager(), extra: {} }, errors: ['extra: unknown field'] },
  ])('$errors', ({ given, errors }) => {
    expect(messages(given)).toEqual(errors)
  })
})

test.each([
  ['every field of Karmada 1.18', policyOf(everyField())],
  ['a field of a later version', policyOf({ quota: {}, placement: { topology: [] } })],
  ['a claim with a status', makeClaim()],
  [
    'another kind',
    { apiVersion: 'example.org/v1', kind: 'PropagationPolicy', metadata: { name: 'a' }, spec: { placment: {} } },
  ],
  [
    'fields of other types, which have errors of their own',
    policyOf({ placement: { clusterAffinity: [], clusterAffinities: {} } }),
  ],
])('%s is valid', (_, given) => {
  expect(messages(given)).toEqual([])
})

function messages(object: object): string[] {
  return findMistypedFields(object as never).map(({ path, message }) => `${path}: ${message}`)
}

/** The fields of PropagationSpec, from Karmada 1.18.1 (pkg/apis/policy/v1alpha1/propagation_types.go). */
function everyField(): object {
  const labelSelector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }
  const fieldSelector = { matchExpressions: [{ key: 'region', operator: 'In', values: ['b'] }] }
  const affinity = { labelSelector, fieldSelector, clusterNames: ['a'], exclude: ['b'] }
  return {
    resourceSelectors: [{ ...selectors[0], namespace: 'a', labelSelector }],
    association: true,
    propagateDeps: true,
    placement: {
      clusterAffinity: affinity,
      clusterAffinities: [{ affinityName: 'a', ...affinity, overflowAffinities: [{ affinityName: 'b', ...affinity }] }],
      clusterTolerations: [{ key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 1 }],
      spreadConstraints: [{ spreadByField: 'cluster', spreadByLabel: 'a', maxGroups: 1, minGroups: 1 }],
      replicaScheduling: {
        replicaSchedulingType: 'Divided',
        replicaDivisionPreference: 'Weighted',
        weightPreference: {
          staticWeightList: [{ targetCluster: affinity, weight: 1 }],
          dynamicWeight: 'AvailableReplicas',
        },
      },
      workloadAffinity: {},
    },
    priority: 1,
    preemption: 'Always',
    dependentOverrides: ['a'],
    schedulerName: 'a',
    failover: {
      application: {
        decisionConditions: { tolerationSeconds: 300 },
        purgeMode: 'Gracefully',
        gracePeriodSeconds: 600,
        statePreservation: { rules: [{ aliasLabelName: 'a', jsonPath: '{.a}' }] },
      },
      cluster: { purgeMode: 'Directly', statePreservation: { rules: [] } },
    },
    conflictResolution: 'Abort',
    activationPreference: 'Lazy',
    suspension: { dispatching: true },
    preserveResourcesOnDeletion: true,
    schedulePriority: {},
  }
}
