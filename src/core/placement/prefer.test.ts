import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { newestRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import type { DataConstraint } from './constraint.ts'
import { narrowPlacement } from './narrow.ts'

const group = (affinityName: string, clusterNames?: string[], more: ClusterAffinity = {}): ClusterAffinityTerm => ({
  affinityName,
  ...more,
  ...defined({ clusterNames }),
})
const long = 'a'.repeat(32)

test.each<{
  name: string
  base: Placement
  constraint: DataConstraint
  clusters?: ClusterLookup
  want: PlacementAffinity
}>([
  {
    name: 'the clusters with the data are tried first, and the base stays as the fallback',
    base: { clusterAffinity: { clusterNames: ['c1', 'c2', 'c3'] } },
    constraint: { preferred: [['c2']] },
    want: { clusterAffinities: [group('default-local', ['c2']), group('default', ['c1', 'c2', 'c3'])] },
  },
  {
    name: 'a base without affinity becomes a group that allows every cluster',
    base: {},
    constraint: { preferred: [['c2']] },
    want: { clusterAffinities: [group('default-local', ['c2']), group('default')] },
  },
  {
    name: 'tiers go from most bytes to least',
    base: { clusterAffinity: { clusterNames: ['c1', 'c2', 'c3'] } },
    constraint: { preferred: [['c3'], ['c1']] },
    want: {
      clusterAffinities: [
        group('default-local', ['c3']),
        group('default-local-2', ['c1']),
        group('default', ['c1', 'c2', 'c3']),
      ],
    },
  },
  {
    name: 'every group gets its own local group before it',
    base: { clusterAffinities: [group('g1', ['c1', 'c2']), group('g2', ['c2', 'c3'])] },
    constraint: { preferred: [['c2']] },
    want: {
      clusterAffinities: [
        group('g1-local', ['c2']),
        group('g1', ['c1', 'c2']),
        group('g2-local', ['c2']),
        group('g2', ['c2', 'c3']),
      ],
    },
  },
  {
    name: 'a tier without an allowed cluster adds nothing',
    base: { clusterAffinity: { clusterNames: ['c1'] } },
    constraint: { preferred: [['c2']] },
    want: { clusterAffinity: { clusterNames: ['c1'] } },
  },
  {
    name: 'a tier that equals the group adds nothing',
    base: { clusterAffinity: { clusterNames: ['c2', 'c1'] } },
    constraint: { preferred: [['c1', 'c2']] },
    want: { clusterAffinity: { clusterNames: ['c2', 'c1'] } },
  },
  {
    name: 'a tier with too few clusters for the spread adds nothing',
    base: {
      clusterAffinity: { clusterNames: ['c1', 'c2', 'c3'] },
      spreadConstraints: [{ spreadByField: 'cluster', minGroups: 2, maxGroups: 9 }],
    },
    constraint: { preferred: [['c1'], ['c2', 'c3']] },
    want: { clusterAffinities: [group('default-local', ['c2', 'c3']), group('default', ['c1', 'c2', 'c3'])] },
  },
  {
    name: 'clusters that do not exist or do not match are not preferred',
    base: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'core' } } } },
    constraint: { preferred: [['c1', 'c2', 'gone']] },
    clusters: lookup(makeCluster('c1', {}, { tier: 'core' }), makeCluster('c2')),
    want: {
      clusterAffinities: [
        group('default-local', ['c1'], { labelSelector: { matchLabels: { tier: 'core' } } }),
        group('default', undefined, { labelSelector: { matchLabels: { tier: 'core' } } }),
      ],
    },
  },
  {
    name: 'only clusters of the required ones are preferred',
    base: {},
    constraint: { required: ['c1', 'c2'], preferred: [['c2', 'c3']] },
    want: { clusterAffinities: [group('default-local', ['c2']), group('default', ['c1', 'c2'])] },
  },
  {
    name: 'overflow stays with its group',
    base: { clusterAffinities: [{ ...group('g', ['c1', 'c2']), overflowAffinities: [group('o', ['c3'])] }] },
    constraint: { preferred: [['c1']] },
    want: {
      clusterAffinities: [
        group('g-local', ['c1']),
        { ...group('g', ['c1', 'c2']), overflowAffinities: [group('o', ['c3'])] },
      ],
    },
  },
  {
    name: 'names are cut to 32 characters and stay unique',
    base: { clusterAffinities: [group(long, ['c1', 'c2']), group(`${'a'.repeat(31)}b`, ['c1', 'c3'])] },
    constraint: { preferred: [['c1']] },
    want: {
      clusterAffinities: [
        group(`${'a'.repeat(26)}-local`, ['c1']),
        group(long, ['c1', 'c2']),
        group(`${'a'.repeat(24)}-local-2`, ['c1']),
        group(`${'a'.repeat(31)}b`, ['c1', 'c3']),
      ],
    },
  },
  {
    name: 'a name that the policy uses is skipped',
    base: { clusterAffinities: [group('g', ['c1', 'c2']), group('g-local', ['c3'])] },
    constraint: { preferred: [['c1']] },
    want: { clusterAffinities: [group('g-local-2', ['c1']), group('g', ['c1', 'c2']), group('g-local', ['c3'])] },
  },
  {
    name: 'the fallback loses its empty parts: the scheduler would always see a change',
    base: { clusterAffinity: { clusterNames: [], exclude: [], labelSelector: { matchLabels: {} } } },
    constraint: { preferred: [['c1']] },
    want: { clusterAffinities: [group('default-local', ['c1']), group('default')] },
  },
])('$name', ({ base, constraint, clusters, want }) => {
  const got = narrowPlacement({ base, constraint, clusters, usesOverflow: true, rules: newestRules })
  expect(got.kind === 'narrowed' && got.affinity).toEqual(want)
})
