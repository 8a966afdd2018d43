import { describe, expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinityTerm, Placement } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { newestRules } from '../karmada-rules.ts'
import { type NarrowInput, type Narrowing, narrowPlacement } from './narrow.ts'

const clusters = lookup(
  makeCluster('c1', { region: 'eu' }, { tier: 'core' }),
  makeCluster('c2', { region: 'eu' }, { tier: 'edge' }),
  makeCluster('c3', { region: 'us' }, { tier: 'core' }),
)

function narrow(base: Placement, required: string[], more: Partial<NarrowInput> = {}): Narrowing {
  return narrowPlacement({
    base,
    constraint: { required },
    clusters: undefined,
    usesOverflow: true,
    rules: newestRules,
    ...more,
  })
}

const one = (...names: string[]): Placement => ({ clusterAffinity: { clusterNames: names } })
const group = (affinityName: string, ...clusterNames: string[]): ClusterAffinityTerm => ({ affinityName, clusterNames })

interface Row {
  name: string
  base: Placement
  required: string[]
  more?: Partial<NarrowInput>
  want: { affinity: object; allowed: string[] } | 'unsatisfiable'
}

function run({ base, required, more, want }: Row): void {
  const before = structuredClone(base)
  const got = narrow(base, required, more)
  expect(base).toEqual(before)
  expect(got).toEqual(
    want === 'unsatisfiable' ? { kind: 'unsatisfiable', reason: expect.any(String) } : { kind: 'narrowed', ...want },
  )
}

describe('one affinity', () => {
  test.each<Row>([
    {
      name: 'names are intersected',
      base: one('c1', 'c2'),
      required: ['c2', 'c3'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
    {
      name: 'names are sorted and unique',
      base: one('c3', 'c1', 'c3'),
      required: ['c3', 'c1'],
      want: { affinity: one('c1', 'c3'), allowed: ['c1', 'c3'] },
    },
    {
      name: 'no affinity gets the names of the data',
      base: {},
      required: ['c2'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
    {
      name: 'an empty affinity gets them too',
      base: { clusterAffinity: {} },
      required: ['c2'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
    {
      name: 'an empty list of names means every cluster',
      base: one(),
      required: ['c2'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
    {
      name: 'no cluster in common is unsatisfiable, never an empty list',
      base: one('c1'),
      required: ['c2'],
      want: 'unsatisfiable',
    },
    {
      name: 'required claims without a common cluster are unsatisfiable',
      base: {},
      required: [],
      want: 'unsatisfiable',
    },
    {
      name: 'excluded clusters are removed, and exclude stays',
      base: { clusterAffinity: { exclude: ['c1'] } },
      required: ['c1', 'c2'],
      want: { affinity: { clusterAffinity: { exclude: ['c1'], clusterNames: ['c2'] } }, allowed: ['c2'] },
    },
    {
      name: 'only excluded clusters are unsatisfiable',
      base: { clusterAffinity: { exclude: ['c1'] } },
      required: ['c1'],
      want: 'unsatisfiable',
    },
    {
      name: 'selectors stay, and are left to Karmada if clusters cannot be read',
      base: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } } } },
      required: ['c1', 'c2'],
      want: {
        affinity: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } }, clusterNames: ['c1', 'c2'] } },
        allowed: ['c1', 'c2'],
      },
    },
    {
      name: 'names that the selectors reject are removed if clusters can be read',
      base: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } } } },
      required: ['c1', 'c2'],
      more: { clusters },
      want: {
        affinity: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } }, clusterNames: ['c1'] } },
        allowed: ['c1'],
      },
    },
    {
      name: 'names that the field selector rejects are removed',
      base: {
        clusterAffinity: { fieldSelector: { matchExpressions: [{ key: 'region', operator: 'In', values: ['us'] }] } },
      },
      required: ['c1', 'c2'],
      more: { clusters },
      want: 'unsatisfiable',
    },
    {
      name: 'names that do not exist are removed',
      base: {},
      required: ['c1', 'gone'],
      more: { clusters },
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'data in clusters that do not exist is unsatisfiable',
      base: {},
      required: ['gone'],
      more: { clusters },
      want: 'unsatisfiable',
    },
    {
      name: 'empty parts of the base are removed: the scheduler would always see a change',
      base: {
        clusterAffinity: { clusterNames: ['c1'], exclude: [], labelSelector: { matchLabels: {} }, fieldSelector: {} },
      },
      required: ['c1'],
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'a base with only empty parts loses all of them',
      base: { clusterAffinity: { exclude: [] } },
      required: ['c1'],
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'if both kinds are set, the one affinity counts, as in the scheduler, and is the only one left',
      base: { ...one('c1', 'c2'), clusterAffinities: [group('g', 'c3')] },
      required: ['c2', 'c3'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
  ])('$name', run)
})

describe('groups', () => {
  const overflow = (name: string, base: ClusterAffinityTerm, ...tiers: ClusterAffinityTerm[]): Placement => ({
    clusterAffinities: [{ ...base, affinityName: name, overflowAffinities: tiers }],
  })

  test.each<Row>([
    {
      name: 'every group is narrowed and keeps its position',
      base: { clusterAffinities: [group('g1', 'c1', 'c3'), group('g2', 'c2')] },
      required: ['c2', 'c3'],
      want: { affinity: { clusterAffinities: [group('g1', 'c3'), group('g2', 'c2')] }, allowed: ['c2', 'c3'] },
    },
    {
      name: 'a group without names gets those of the data',
      base: { clusterAffinities: [group('g1', 'c1'), { affinityName: 'rest', exclude: ['c1'] }] },
      required: ['c1', 'c2'],
      want: {
        affinity: {
          clusterAffinities: [group('g1', 'c1'), { affinityName: 'rest', exclude: ['c1'], clusterNames: ['c2'] }],
        },
        allowed: ['c1', 'c2'],
      },
    },
    {
      name: 'a group without a cluster is removed',
      base: { clusterAffinities: [group('g1', 'c1'), group('g2', 'c2')] },
      required: ['c2'],
      want: { affinity: { clusterAffinities: [group('g2', 'c2')] }, allowed: ['c2'] },
    },
    {
      name: 'no group left is unsatisfiable',
      base: { clusterAffinities: [group('g1', 'c1')] },
      required: ['c2'],
      want: 'unsatisfiable',
    },
    {
      name: 'an empty list of groups means every cluster',
      base: { clusterAffinities: [] },
      required: ['c2'],
      want: { affinity: one('c2'), allowed: ['c2'] },
    },
    {
      name: 'overflow tiers are narrowed too',
      base: overflow('g', group('', 'c1', 'c2'), group('o1', 'c2', 'c3'), group('o2', 'c1')),
      required: ['c2', 'c3'],
      want: { affinity: overflow('g', group('', 'c2'), group('o1', 'c2', 'c3')), allowed: ['c2', 'c3'] },
    },
    {
      name: 'overflow without a tier is removed',
      base: overflow('g', group('', 'c1'), group('o', 'c2')),
      required: ['c1'],
      want: { affinity: { clusterAffinities: [group('g', 'c1')] }, allowed: ['c1'] },
    },
    {
      name: 'if only overflow is left, its first tier replaces the group of a workload',
      base: overflow('g', group('', 'c1'), group('o1', 'c2'), group('o2', 'c3')),
      required: ['c2', 'c3'],
      want: { affinity: overflow('g', group('', 'c2'), group('o2', 'c3')), allowed: ['c2', 'c3'] },
    },
    {
      name: 'for an object that is not a workload, overflow does not count: the group is removed',
      base: overflow('g', group('', 'c1'), group('o', 'c2')),
      required: ['c2'],
      more: { usesOverflow: false },
      want: 'unsatisfiable',
    },
    {
      name: 'overflow of an object that is not a workload is narrowed too, and allows nothing',
      base: overflow('g', group('', 'c1'), group('o', 'c2')),
      required: ['c1', 'c2'],
      more: { usesOverflow: false },
      want: { affinity: overflow('g', group('', 'c1'), group('o', 'c2')), allowed: ['c1'] },
    },
  ])('$name', run)
})

describe('spread constraints', () => {
  const clusterSpread = { spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 9 }] }
  const regionSpread = { spreadConstraints: [{ spreadByField: 'region', minGroups: 2, maxGroups: 9 }] }
  const divided = (weightPreference?: NonNullable<Placement['replicaScheduling']>['weightPreference']) => ({
    replicaScheduling: defined({
      replicaSchedulingType: 'Divided',
      replicaDivisionPreference: 'Weighted',
      weightPreference,
    }),
  })

  test.each<Row>([
    {
      name: 'enough clusters satisfy it',
      base: clusterSpread,
      required: ['c1', 'c2'],
      want: { affinity: one('c1', 'c2'), allowed: ['c1', 'c2'] },
    },
    {
      name: 'fewer clusters are unsatisfiable: the scheduler would retry forever',
      base: clusterSpread,
      required: ['c1'],
      want: 'unsatisfiable',
    },
    {
      name: 'a constraint without a field counts clusters',
      base: { spreadConstraints: [{ minGroups: 2, maxGroups: 9 }] },
      required: ['c1'],
      want: 'unsatisfiable',
    },
    {
      name: 'regions are counted if clusters can be read',
      base: regionSpread,
      required: ['c1', 'c2'],
      more: { clusters },
      want: 'unsatisfiable',
    },
    {
      name: 'two regions are enough',
      base: regionSpread,
      required: ['c1', 'c3'],
      more: { clusters },
      want: { affinity: one('c1', 'c3'), allowed: ['c1', 'c3'] },
    },
    {
      name: 'regions are left to Karmada if clusters cannot be read',
      base: regionSpread,
      required: ['c1', 'c2'],
      want: { affinity: one('c1', 'c2'), allowed: ['c1', 'c2'] },
    },
    {
      name: 'zones, providers and labels are not enforced by Karmada, beside clusters',
      base: {
        spreadConstraints: [
          { spreadByField: 'zone', minGroups: 9 },
          { spreadByField: 'provider', minGroups: 9 },
          { spreadByLabel: 'rack', minGroups: 9 },
          { spreadByField: 'cluster', maxGroups: 1 },
        ],
      },
      required: ['c1'],
      more: { clusters: lookup(makeCluster('c1', { provider: 'aws', zones: ['a'] })) },
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'regions and clusters count together: one region must have two clusters',
      base: {
        spreadConstraints: [
          { spreadByField: 'region', maxGroups: 1 },
          { spreadByField: 'cluster', minGroups: 2 },
        ],
      },
      required: ['c1', 'c3'],
      more: { clusters },
      want: 'unsatisfiable',
    },
    {
      name: 'static weights ignore it',
      base: { ...clusterSpread, ...divided({ staticWeightList: [{ weight: 1 }] }) },
      required: ['c1'],
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'default weights are static',
      base: { ...clusterSpread, ...divided() },
      required: ['c1'],
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'dynamic weights do not ignore it',
      base: { ...clusterSpread, ...divided({ dynamicWeight: 'AvailableReplicas' }) },
      required: ['c1'],
      want: 'unsatisfiable',
    },
    {
      name: 'a constraint without minGroups is always satisfied',
      base: { spreadConstraints: [{ spreadByField: 'cluster', maxGroups: 1 }] },
      required: ['c1'],
      want: { affinity: one('c1'), allowed: ['c1'] },
    },
    {
      name: 'a group with too few clusters is removed if another one has enough',
      base: { ...clusterSpread, clusterAffinities: [group('g1', 'c1'), group('g2', 'c1', 'c2')] },
      required: ['c1', 'c2'],
      want: { affinity: { clusterAffinities: [group('g2', 'c1', 'c2')] }, allowed: ['c1', 'c2'] },
    },
    {
      name: 'overflow clusters count for a workload',
      base: { ...clusterSpread, clusterAffinities: [{ ...group('g', 'c1'), overflowAffinities: [group('o', 'c2')] }] },
      required: ['c1', 'c2'],
      want: {
        affinity: { clusterAffinities: [{ ...group('g', 'c1'), overflowAffinities: [group('o', 'c2')] }] },
        allowed: ['c1', 'c2'],
      },
    },
    {
      name: 'overflow clusters do not count for an object that is not a workload',
      base: { ...clusterSpread, clusterAffinities: [{ ...group('g', 'c1'), overflowAffinities: [group('o', 'c2')] }] },
      required: ['c1', 'c2'],
      more: { usesOverflow: false },
      want: 'unsatisfiable',
    },
  ])('$name', run)
})

test('without a required cluster, the base stays as it is', () => {
  const base = { ...one('c1'), clusterTolerations: [] }
  expect(
    narrowPlacement({ base, constraint: {}, clusters: undefined, usesOverflow: true, rules: newestRules }),
  ).toEqual({
    kind: 'narrowed',
    affinity: one('c1'),
    allowed: undefined,
  })
})

describe('an unsatisfiable constraint has a reason:', () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `m${i + 1}`)

  test.each<{ name: string; base: Placement; required: string[]; more?: Partial<NarrowInput>; want: string }>([
    {
      name: 'required data without a common cluster',
      base: {},
      required: [],
      want: 'no cluster holds all of the data',
    },
    {
      name: 'data in one cluster',
      base: one('c1'),
      required: names(1),
      want: 'the data is in m1, which the policy does not allow',
    },
    {
      name: 'data in five clusters, with all names',
      base: one('c1'),
      required: names(5),
      want: 'the data is in m1, m2, m3, m4, m5, which the policy does not allow',
    },
    {
      name: 'data in more clusters, with the first five names',
      base: one('c1'),
      required: names(7),
      want: 'the data is in m1, m2, m3, m4, m5 and 2 more, which the policy does not allow',
    },
    {
      name: 'groups without a cluster that has the data, also with a spread constraint',
      base: { clusterAffinities: [group('g', 'c1')], spreadConstraints: [{ minGroups: 2, maxGroups: 9 }] },
      required: names(1),
      want: 'the data is in m1, which the policy does not allow',
    },
    {
      name: 'groups with too few clusters for the spread',
      base: { clusterAffinities: [group('g', 'c1', 'c2')], spreadConstraints: [{ minGroups: 2, maxGroups: 9 }] },
      required: ['c1'],
      want: 'spread constraint requires at least 2 cluster groups, the clusters with the data form 1',
    },
    {
      name: 'data in a cluster that does not exist, although the policy allows the name',
      base: one('c1', 'gone'),
      required: ['gone'],
      more: { clusters },
      want: 'the data is in gone, for which no Cluster exists; join the cluster, or correct the mapping or the DataSource',
    },
    {
      name: 'data in clusters that do not exist and in one that the policy does not allow',
      base: { clusterAffinities: [group('g', 'c1')] },
      required: ['c2', ...names(2)],
      more: { clusters },
      want: 'the data is in c2, which the policy does not allow, and in m1, m2, for which no Cluster exists; join the cluster, or correct the mapping or the DataSource',
    },
  ])('$name', ({ base, required, more, want }) => {
    expect(narrow(base, required, more)).toEqual({ kind: 'unsatisfiable', reason: want })
  })

  test('preferred data does not replace required data that no cluster has', () => {
    expect(
      narrowPlacement({
        base: one('c1'),
        constraint: { required: [], preferred: [['c1']] },
        clusters: undefined,
        usesOverflow: true,
        rules: newestRules,
      }),
    ).toEqual({ kind: 'unsatisfiable', reason: 'no cluster holds all of the data' })
  })
})
