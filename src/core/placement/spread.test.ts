import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { Placement } from '../../api/karmada.ts'
import { spreadCheck } from './spread.ts'

const clusters = lookup(makeCluster('c1', { region: 'eu' }), makeCluster('c2', { region: 'us' }), makeCluster('c3'))
const byRegion = { spreadByField: 'region', minGroups: 2 }

test('a missing cluster and a cluster without a region are in no region', () => {
  const check = spreadCheck({ spreadConstraints: [byRegion] }, clusters)
  expect(check(['c1', 'c2'])).toBeUndefined()
  expect(check(['c1', 'c3', 'gone'])).toBe(
    'spread constraint requires at least 2 region groups, the clusters with the data form 1',
  )
})

test('of several constraints on one field, the largest one counts, in any order', () => {
  const constraints = [1, 3, 2].map((minGroups) => ({ spreadByField: 'cluster', minGroups }))
  const check = spreadCheck({ spreadConstraints: constraints }, undefined)
  expect(check(['c1', 'c2', 'c3'])).toBeUndefined()
  expect(check(['c1', 'c2'])).toBe(
    'spread constraint requires at least 3 cluster groups, the clusters with the data form 2',
  )
})

test.each<{ name: string; replicaScheduling: Placement['replicaScheduling']; isEnforced: boolean }>([
  { name: 'no replica scheduling', replicaScheduling: undefined, isEnforced: true },
  {
    name: 'duplicated replicas',
    replicaScheduling: { replicaSchedulingType: 'Duplicated', replicaDivisionPreference: 'Weighted' },
    isEnforced: true,
  },
  {
    name: 'replicas divided among as few clusters as possible',
    replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' },
    isEnforced: true,
  },
  {
    name: 'weights by default',
    replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' },
    isEnforced: false,
  },
  {
    name: 'static weights',
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: { staticWeightList: [{ targetCluster: {}, weight: 1 }] },
    },
    isEnforced: false,
  },
  {
    name: 'weights that are neither static nor dynamic',
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: {},
    },
    isEnforced: true,
  },
  {
    name: 'static and dynamic weights',
    replicaScheduling: {
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference: {
        staticWeightList: [{ targetCluster: {}, weight: 1 }],
        dynamicWeight: 'AvailableReplicas',
      },
    },
    isEnforced: true,
  },
])('with $name, the spread is enforced: $isEnforced', ({ replicaScheduling, isEnforced }) => {
  const placement: Placement = {
    spreadConstraints: [{ minGroups: 2 }],
    ...(replicaScheduling && { replicaScheduling }),
  }
  expect(spreadCheck(placement, undefined)(['c1']) !== undefined).toBe(isEnforced)
})
