import { expect, test } from 'vitest'
import type { Placement } from '../../api/karmada.ts'
import { withPlacementDefaults } from './defaults.ts'

const clusterAffinity = { clusterNames: ['member1'] }

test.each<{ name: string; given: Placement; want: Placement }>([
  {
    name: 'a division without a preference is by weight',
    given: { clusterAffinity, replicaScheduling: { replicaSchedulingType: 'Divided' } },
    want: {
      clusterAffinity,
      replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
    },
  },
  {
    name: 'replicas are divided by default',
    given: { replicaScheduling: { replicaDivisionPreference: 'Aggregated' } },
    want: { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' } },
  },
  {
    name: 'a spread constraint is by cluster, with one group',
    given: { spreadConstraints: [{ maxGroups: 2 }, { spreadByLabel: 'tier', maxGroups: 2, minGroups: 2 }] },
    want: {
      spreadConstraints: [
        { spreadByField: 'cluster', maxGroups: 2, minGroups: 1 },
        { spreadByLabel: 'tier', maxGroups: 2, minGroups: 2 },
      ],
    },
  },
])('$name', ({ given, want }) => {
  const complete = withPlacementDefaults(given)
  expect(complete).toEqual(want)
  expect(withPlacementDefaults(complete)).toBe(complete)
})

test.each<Placement>([{}, { clusterAffinity, replicaScheduling: { replicaSchedulingType: 'Duplicated' } }])(
  '%j has no field with a default',
  (placement) => {
    expect(withPlacementDefaults(placement)).toBe(placement)
  },
)
