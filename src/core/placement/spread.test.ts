import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { Placement } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { canKeepAll, maxClusters, spreadCheck } from './spread.ts'

const clusters = lookup(
  makeCluster('c1', { region: 'eu', zones: ['eu-1'] }),
  makeCluster('c2', { region: 'us', provider: 'aws', zones: ['us-1'] }),
  makeCluster('c3'),
  makeCluster('c4', { region: 'us' }),
)
const by = (spreadByField: string, minGroups?: number, maxGroups?: number) =>
  defined({ spreadByField, minGroups: minGroups || undefined, maxGroups: maxGroups || undefined })

test.each<{ name: string; constraints: NonNullable<Placement['spreadConstraints']>; names: string[]; want?: string }>([
  { name: 'no constraint accepts all', constraints: [], names: ['gone'] },
  { name: 'two regions are enough for two', constraints: [by('region', 2, 2)], names: ['c1', 'c2'] },
  {
    name: 'a missing cluster and a cluster without a region are in no region',
    constraints: [by('region', 2, 2)],
    names: ['c1', 'c3', 'gone'],
    want: 'spread constraint requires at least 2 region groups, the clusters with the data form 1',
  },
  {
    name: 'one region of two clusters is enough for two clusters in one region',
    constraints: [by('region', 1, 1), by('cluster', 2, 2)],
    names: ['c1', 'c2', 'c4'],
  },
  {
    name: 'two regions of one cluster have no two clusters in one region',
    constraints: [by('region', 1, 1), by('cluster', 2, 2)],
    names: ['c1', 'c2'],
    want: 'spread constraints require at least 2 clusters in at most 1 region groups, the clusters with the data have 1',
  },
  {
    name: 'more regions than are allowed never exist',
    constraints: [by('region', 2, 1)],
    names: ['c1', 'c2'],
    want: 'spread constraint requires at least 2 region groups and at most 1',
  },
  {
    name: 'without a value of a field no cluster is a candidate, whatever the field requires',
    constraints: [by('provider', 1, 1), by('zone', 1, 1), by('cluster', 1, 1)],
    names: ['c1', 'c3', 'c4'],
    want: 'spread constraint requires clusters with a provider and a zone, the clusters with the data have none',
  },
  {
    name: 'a cluster without a value of a field does not count',
    constraints: [by('zone', 1, 1), by('cluster', 2, 2)],
    names: ['c1', 'c4'],
    want: 'spread constraint requires at least 2 cluster groups, the clusters with the data form 1',
  },
  {
    name: 'no cluster is too few',
    constraints: [by('cluster', 1, 1)],
    names: [],
    want: 'spread constraint requires at least 1 cluster groups, the clusters with the data form 0',
  },
  {
    name: 'the scheduler selects no cluster without maxGroups',
    constraints: [by('cluster', 1)],
    names: ['c1'],
    want: "spread constraint by cluster has no maxGroups, so Karmada's scheduler selects no cluster; set maxGroups in the policy",
  },
  {
    name: 'the scheduler selects no region without maxGroups',
    constraints: [by('region', 1), by('cluster', 1, 1)],
    names: ['c1'],
    want: "spread constraint by region has no maxGroups, so Karmada's scheduler selects no cluster; set maxGroups in the policy",
  },
  {
    name: 'a label alone is not supported by the scheduler',
    constraints: [{ spreadByLabel: 'rack', maxGroups: 1 }],
    names: ['c1'],
    want: "spread constraints are neither by cluster nor by region, and Karmada's scheduler supports no others",
  },
  {
    name: 'a label beside clusters is ignored',
    constraints: [{ spreadByLabel: 'rack', minGroups: 9, maxGroups: 9 }, by('cluster', 1, 1)],
    names: ['c1'],
  },
  {
    name: 'the last of several constraints on one field counts',
    constraints: [by('cluster', 3, 3), by('cluster', 2, 2)],
    names: ['c1', 'c2'],
  },
])('$name', ({ constraints, names, want }) => {
  expect(spreadCheck({ spreadConstraints: constraints }, clusters)(names)).toBe(want)
})

test('if Clusters cannot be read, every distribution over regions is possible', () => {
  const check = spreadCheck(
    { spreadConstraints: [by('region', 2, 2), by('cluster', 3, 3), by('zone', 9, 9)] },
    undefined,
  )
  expect(check(['c1', 'c2', 'c3'])).toBeUndefined()
  expect(check(['c1', 'c2'])).toContain('at least 3 clusters in at most 2 region groups')
  expect(check(['c1'])).toContain('at least 2 region groups')
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
    name: 'weights of a manifest without the default type Divided',
    replicaScheduling: { replicaDivisionPreference: 'Weighted' },
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
  const placement: Placement = defined({ spreadConstraints: [{ minGroups: 2, maxGroups: 2 }], replicaScheduling })
  expect(spreadCheck(placement, undefined)(['c1']) !== undefined).toBe(isEnforced)
})

test.each<{ name: string; placement: Placement | undefined; want: number | undefined }>([
  { name: 'no placement', placement: undefined, want: undefined },
  { name: 'no constraint', placement: {}, want: undefined },
  { name: 'a constraint by cluster', placement: { spreadConstraints: [by('cluster', 1, 3)] }, want: 3 },
  {
    name: 'a constraint by nothing, which is one by cluster',
    placement: { spreadConstraints: [{ maxGroups: 3 }] },
    want: 3,
  },
  { name: 'a constraint without a maximum', placement: { spreadConstraints: [by('cluster', 2)] }, want: undefined },
  { name: 'a constraint by region', placement: { spreadConstraints: [by('region', 1, 3)] }, want: undefined },
  {
    name: 'a constraint by label',
    placement: { spreadConstraints: [{ spreadByLabel: 'rack', maxGroups: 3 }] },
    want: undefined,
  },
  {
    name: 'several constraints, of which the least counts',
    placement: {
      spreadConstraints: [by('cluster', 1, 5), by('region', 1, 1), by('cluster', 1, 2), by('cluster', 1, 4)],
    },
    want: 2,
  },
])('with $name, a workload may run in $want clusters', ({ placement, want }) => {
  expect(maxClusters(placement)).toBe(want)
})

test.each<{ name: string; constraints: NonNullable<Placement['spreadConstraints']>; kept: string[]; want: boolean }>([
  { name: 'no constraint limits nothing', constraints: [], kept: ['c1', 'c2', 'c3', 'c4'], want: true },
  { name: 'two clusters are not above two', constraints: [by('cluster', 1, 2)], kept: ['c1', 'c2'], want: true },
  { name: 'two clusters are above one', constraints: [by('cluster', 1, 1)], kept: ['c1', 'c2'], want: false },
  { name: 'two regions are above one', constraints: [by('region', 1, 1)], kept: ['c1', 'c2'], want: false },
  { name: 'two regions stay if two are needed', constraints: [by('region', 2, 2)], kept: ['c1', 'c2'], want: true },
  {
    name: 'two regions are more than one that is enough',
    constraints: [by('region', 1, 2)],
    kept: ['c1', 'c2'],
    want: false,
  },
  {
    name: 'two regions stay if each has too few clusters',
    constraints: [by('region', 1, 2), by('cluster', 3, 3)],
    kept: ['c1', 'c2', 'c4'],
    want: true,
  },
  {
    name: 'without a constraint by cluster, a region gets one',
    constraints: [by('region', 1, 1)],
    kept: ['c2', 'c4'],
    want: false,
  },
  {
    name: 'with a constraint by cluster, a region gets more',
    constraints: [by('region', 1, 1), by('cluster', 1, 2)],
    kept: ['c2', 'c4'],
    want: true,
  },
])('where copies can stay: $name', ({ constraints: spreadConstraints, kept, want }) => {
  expect(canKeepAll(kept, ['c1', 'c2', 'c4'], { spreadConstraints }, clusters)).toBe(want)
})
