import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinity, Placement, PlacementAffinity } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import { effectiveAffinity, withAffinity } from './affinity.ts'
import { clusterFilter } from './cluster-filter.ts'
import { placementFilter } from './placement-filter.ts'

const clusters = lookup(makeCluster('c1', { region: 'eu', zones: ['eu-1'] }, { tier: 'core' }), makeCluster('c2'))

test.each<{ name: string; affinity: ClusterAffinity; cluster?: string; want: boolean; wantUnread: boolean }>([
  { name: 'an empty affinity allows every cluster', affinity: {}, want: true, wantUnread: true },
  { name: 'an empty list of names allows every cluster', affinity: { clusterNames: [] }, want: true, wantUnread: true },
  { name: 'a named cluster is allowed', affinity: { clusterNames: ['c1'] }, want: true, wantUnread: true },
  {
    name: 'a cluster that is not named is not allowed',
    affinity: { clusterNames: ['c2'] },
    want: false,
    wantUnread: false,
  },
  {
    name: 'exclude has precedence over clusterNames',
    affinity: { clusterNames: ['c1'], exclude: ['c1'] },
    want: false,
    wantUnread: false,
  },
  {
    name: 'a cluster that does not exist is not allowed, if clusters can be read',
    affinity: {},
    cluster: 'gone',
    want: false,
    wantUnread: true,
  },
  {
    name: 'labels must match',
    affinity: { labelSelector: { matchLabels: { tier: 'edge' } } },
    want: false,
    wantUnread: true,
  },
  {
    name: 'names, labels and fields must all match',
    affinity: {
      clusterNames: ['c1'],
      labelSelector: { matchLabels: { tier: 'core' } },
      fieldSelector: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['eu-2'] }] },
    },
    want: false,
    wantUnread: true,
  },
])('$name', ({ affinity, cluster = 'c1', want, wantUnread }) => {
  expect([
    clusterFilter(affinity, clusters, newestRules).allows(cluster),
    clusterFilter(affinity, undefined, newestRules).allows(cluster),
  ]).toEqual([want, wantUnread])
})

test.each<{ name: string; affinity: PlacementAffinity; want: [workload: boolean, other: boolean] }>([
  { name: 'no affinity allows every cluster', affinity: {}, want: [true, true] },
  {
    name: 'any group may allow it',
    affinity: { clusterAffinities: [{ affinityName: 'a', clusterNames: ['c2'] }, { affinityName: 'b' }] },
    want: [true, true],
  },
  {
    name: 'overflow counts only for workloads',
    affinity: {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['c2'], overflowAffinities: [{ affinityName: 'o', clusterNames: ['c1'] }] },
      ],
    },
    want: [true, false],
  },
])('$name', ({ affinity, want }) => {
  expect([
    placementFilter(affinity, clusters, true, newestRules).allows('c1'),
    placementFilter(affinity, clusters, false, newestRules).allows('c1'),
  ]).toEqual(want)
})

test('one affinity has precedence over groups if both are set, as in the scheduler', () => {
  const both: Placement = { clusterAffinity: { clusterNames: ['c1'] }, clusterAffinities: [{ affinityName: 'a' }] }
  expect([effectiveAffinity(both), effectiveAffinity({ clusterAffinities: [] }), effectiveAffinity(undefined)]).toEqual(
    [{ clusterAffinity: { clusterNames: ['c1'] } }, {}, {}],
  )
})

test('a new affinity replaces both kinds and keeps the other fields of the placement', () => {
  const placement = { clusterAffinity: {}, clusterAffinities: [], clusterTolerations: [{ key: 'a' }], extra: null }
  expect(withAffinity(placement, { clusterAffinities: [{ affinityName: 'a' }] })).toEqual({
    clusterAffinities: [{ affinityName: 'a' }],
    clusterTolerations: [{ key: 'a' }],
    extra: null,
  })
})
