import { describe, expect, test } from 'vitest'
import { makeBinding, makeCluster, NOW } from '../../../test/builders.ts'
import {
  APPLIED_PLACEMENT_ANNOTATION,
  type BindingSpec,
  type Cluster,
  type Placement,
  type ResourceBinding,
} from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { newestRules } from '../karmada-rules.ts'
import { compileFleet } from './fleet.ts'
import { isAffectedBy, predictSchedule, type Schedule } from './schedule.ts'
import { leaveCluster } from './suppose.ts'

const broken = { taints: [{ key: 'broken', effect: 'NoSchedule' }] } as const
const names = (...of: string[]) => ({ clusterAffinity: { clusterNames: of } })
const divided = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' } }
const weighted = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' } }
const weightedBy = (weights: Record<string, number>) => ({
  replicaScheduling: {
    ...weighted.replicaScheduling,
    weightPreference: {
      staticWeightList: Object.entries(weights).map(([name, weight]) => ({
        targetCluster: { clusterNames: [name] },
        weight,
      })),
    },
  },
})
const groups = {
  clusterAffinities: [
    { affinityName: 'first', clusterNames: ['m1'] },
    { affinityName: 'second', clusterNames: ['m2', 'm3'] },
  ],
}
const failed = (reason: string) => ({ conditions: [{ type: 'Scheduled', status: 'False' as const, reason }] })
const noFit = failed('NoClusterFit')
const atMost = (maxGroups: number, minGroups = 1) => ({
  spreadConstraints: [{ spreadByField: 'cluster', minGroups, maxGroups }],
})

interface Given {
  name: string
  placement: Placement
  runs: string[]
  /** The placement before the change, if it differs. */
  before?: Placement
  /** Where it ran before the change, if that differs. */
  ran?: string[]
  /** Whether the binding did not exist before. */
  isNew?: boolean
  /** Whether the binding has got its policy by the change. */
  getsPolicy?: boolean
  more?: Partial<BindingSpec>
  status?: ResourceBinding['status']
  metadata?: ObjectMeta
  isQueued?: boolean
  clusters?: Cluster[]
  want: Partial<Schedule>
}

const FLEET = [makeCluster('m1'), makeCluster('m2'), makeCluster('m3')]
const REGIONS = [
  makeCluster('m1', { region: 'eu' }),
  makeCluster('m2', { region: 'us' }),
  makeCluster('m3', { region: 'ap' }),
]
const byRegion = (minGroups: number, maxGroups: number) => ({
  spreadConstraints: [{ spreadByField: 'region', minGroups, maxGroups }],
})
const runningIn = (of: string[]) => (of.length > 0 ? { clusters: of.map((name) => ({ name })) } : {})
/** The annotations of a binding whose policy is known, and whose placement the scheduler applied last. */
const applied = (placement: Placement): ObjectMeta => ({
  annotations: {
    ...makeBinding().metadata.annotations,
    [APPLIED_PLACEMENT_ANNOTATION]: JSON.stringify(placement),
  },
})
const evictedFrom = (fromCluster: string) => ({ gracefulEvictionTasks: [{ fromCluster }] })

const CASES: Given[] = [
  ...[
    { name: 'needs no cluster', more: {}, waits: false },
    { name: 'is on hold', more: { suspension: { scheduling: true } }, waits: true },
    { name: 'is not stranded', more: {}, clusters: [makeCluster('m1', { taints: [...broken.taints] })], waits: false },
  ].map(
    ({ name, more, waits, ...given }): Given => ({
      name: `a workload without replicas ${name}`,
      placement: names('m1'),
      runs: [],
      isNew: true,
      more: { replicas: 0, replicaRequirements: {}, ...more },
      ...given,
      want: { keeps: [], among: [], takesAll: false, waits },
    }),
  ),
  {
    name: 'a resource without requirements is copied, with replicas or without',
    placement: names('m1'),
    runs: [],
    isNew: true,
    more: { replicas: 0 },
    want: { keeps: [], among: ['m1'], takesAll: true },
  },
  {
    name: 'a divided workload that runs is left alone',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: [], takesAll: false, waits: false },
  },
  {
    name: 'a copied workload that needs two clusters goes to both',
    placement: { ...names('m1', 'm2'), ...atMost(2, 2) },
    runs: [],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: true },
  },
  {
    name: 'a copied workload that needs two clusters keeps one, and goes to the other',
    placement: { ...names('m1', 'm2'), ...atMost(2, 2) },
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: ['m2'], takesAll: true },
  },
  {
    name: 'a copied workload that needs one cluster goes to the only one that accepts it',
    placement: { ...names('m1'), ...atMost(1) },
    runs: [],
    want: { keeps: [], among: ['m1'], takesAll: true },
  },
  {
    name: 'a copied workload that needs two of three clusters goes to some of them',
    placement: { ...names('m1', 'm2', 'm3'), ...atMost(2, 2) },
    runs: [],
    want: { keeps: [], among: ['m1', 'm2', 'm3'], takesAll: false },
  },
  {
    name: 'a divided workload of a manifest without the default type Divided is left alone',
    placement: { ...names('m1', 'm2'), replicaScheduling: { replicaDivisionPreference: 'Aggregated' } },
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: [], takesAll: false, waits: false },
  },
  {
    name: 'a workload with components gets a copy in each cluster, also if its policy divides',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: [],
    isNew: true,
    more: { replicas: 0, components: [{}, {}] },
    want: { keeps: [], among: ['m1', 'm2'], takesAll: true },
  },
  {
    name: 'a workload with components whose policy divides is left alone while it runs',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    more: { replicas: 0, components: [{}, {}] },
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'a divided workload stays in a cluster that its policy does not select any more',
    placement: { clusterAffinity: { labelSelector: { matchLabels: { tier: 'gold' } } }, ...divided },
    runs: ['m1'],
    isQueued: true,
    clusters: [makeCluster('m1'), makeCluster('m2', {}, { tier: 'gold' })],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'a divided workload stays where it runs while no Cluster is known',
    placement: { ...names('m2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    clusters: [],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'the replicas of a cluster that does not exist any more go to another one',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: ['m2'],
    isQueued: true,
    clusters: [makeCluster('m1')],
    want: { keeps: [], among: ['m1'], takesAll: true },
  },
  {
    name: 'the replicas of one of two clusters go elsewhere while it is being deleted',
    placement: { ...names('m1', 'm2', 'm3'), ...divided },
    runs: ['m1', 'm2'],
    isQueued: true,
    clusters: [makeCluster('m1'), leaveCluster(makeCluster('m2'), NOW), makeCluster('m3')],
    want: { keeps: ['m1'], among: ['m3'], takesAll: false },
  },
  {
    name: 'the replicas of an evicted cluster go to another one, or to those that are left',
    placement: { ...names('m1', 'm2', 'm3'), ...divided },
    runs: ['m1'],
    ran: ['m1', 'm2'],
    more: evictedFrom('m2'),
    want: { keeps: ['m1'], among: ['m3'], takesAll: false },
  },
  {
    name: 'the scheduler applies a placement that it has not applied yet',
    placement: { ...names('m2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    metadata: applied({ ...names('m1'), ...divided }),
    want: { keeps: [], among: ['m2'], takesAll: true },
  },
  {
    name: 'the scheduler does not apply a placement twice',
    placement: { ...names('m2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    metadata: applied({ ...names('m2'), ...divided }),
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'divided replicas stay in their clusters when the policy allows one less',
    placement: { ...names('m1', 'm2'), ...divided },
    before: { ...names('m1', 'm2', 'm3'), ...divided },
    runs: ['m1', 'm2'],
    want: { keeps: ['m1', 'm2'], among: [] },
  },
  ...[
    { has: 'all', replicas: 2, among: [] },
    { has: 'some', replicas: 1, among: ['m2', 'm3'] },
  ].map(({ has, replicas, among }) => ({
    name: `a workload with ${has} of its replicas, whose move failed, gets its placement back`,
    placement: { ...names('m1', 'm2', 'm3'), ...divided },
    before: { ...names('m3'), ...divided },
    runs: ['m1'],
    more: { replicas: 2, clusters: [{ name: 'm1', replicas }] },
    status: failed('Unschedulable'),
    want: { keeps: ['m1'], among },
  })),
  {
    name: 'a workload that does not run goes to one of the clusters of its policy',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: [],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'copies run in every cluster of the policy',
    placement: names('m1', 'm2'),
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: ['m2'], takesAll: true },
  },
  {
    name: 'copies are not compared with the policy before something changes',
    placement: names('m1', 'm2'),
    runs: ['m1'],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'copies leave a cluster that the policy does not allow any more',
    placement: names('m2'),
    before: names('m1', 'm2'),
    runs: ['m1', 'm2'],
    want: { keeps: ['m2'], among: [] },
  },
  {
    name: 'a spread constraint limits the copies',
    placement: { ...names('m1', 'm2', 'm3'), ...atMost(2) },
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: ['m2', 'm3'], takesAll: false },
  },
  {
    name: 'the copies of a new binding go to every cluster of its policy',
    placement: names('m1', 'm2'),
    runs: ['m1'],
    isNew: true,
    want: { keeps: ['m1'], among: ['m2'], takesAll: true },
  },
  {
    name: 'copies go to every cluster of a policy that comes back',
    placement: names('m1', 'm2'),
    runs: ['m1'],
    getsPolicy: true,
    want: { keeps: ['m1'], among: ['m2'], takesAll: true },
  },
  {
    name: 'a full spread constraint adds no copy',
    placement: { ...names('m1', 'm2', 'm3'), ...atMost(2) },
    runs: ['m1', 'm2'],
    isQueued: true,
    want: { keeps: ['m1', 'm2'], among: [] },
  },
  {
    name: 'copies above a new maximum are removed from one of their clusters',
    placement: { ...names('m1', 'm2', 'm3'), ...atMost(2) },
    before: names('m1', 'm2', 'm3'),
    runs: ['m1', 'm2', 'm3'],
    want: { keeps: [], among: ['m1', 'm2', 'm3'], takesAll: false },
  },
  {
    name: 'divided replicas leave clusters above a new maximum',
    placement: { ...names('m1', 'm2', 'm3'), ...divided, ...atMost(1) },
    before: { ...names('m1', 'm2', 'm3'), ...divided },
    runs: ['m1', 'm2'],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'fixed weights ignore a maximum',
    placement: { ...names('m1', 'm2'), ...weighted, ...atMost(1) },
    before: { ...names('m1', 'm2'), ...weighted },
    runs: ['m1', 'm2'],
    want: { keeps: ['m1', 'm2'] },
  },
  {
    name: 'copies above a new maximum of regions are removed, and another region may be chosen',
    placement: { ...names('m1', 'm2', 'm3'), ...byRegion(1, 1) },
    before: names('m1', 'm2', 'm3'),
    runs: ['m1', 'm2'],
    clusters: REGIONS,
    want: { keeps: [], among: ['m1', 'm2', 'm3'], takesAll: false },
  },
  {
    name: 'a copy leaves a cluster without a region if copies are spread by region',
    placement: { ...names('m1', 'm2'), ...byRegion(1, 1) },
    before: names('m1', 'm2'),
    runs: ['m1', 'm2'],
    clusters: [makeCluster('m1', { region: 'eu' }), makeCluster('m2')],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'copies stay where they are if a spread constraint cannot be met',
    placement: { ...names('m1'), ...atMost(3, 2) },
    before: { ...names('m1', 'm2'), ...atMost(3, 2) },
    runs: ['m1', 'm2'],
    want: { keeps: ['m1', 'm2'], among: [] },
  },
  {
    name: 'a new workload waits if a spread constraint cannot be met',
    placement: { ...names('m1'), ...atMost(3, 2) },
    runs: [],
    isNew: true,
    want: {
      keeps: [],
      among: [],
      problem: 'spread constraint requires at least 2 cluster groups, the clusters with the data form 1',
    },
  },
  {
    name: 'the copies are removed if no cluster accepts them, also with a spread constraint',
    placement: { ...names('m3'), ...atMost(3, 2) },
    before: { ...names('m1', 'm2'), ...atMost(3, 2) },
    runs: ['m1', 'm2'],
    clusters: [makeCluster('m1'), makeCluster('m2'), makeCluster('m3', { taints: [...broken.taints] })],
    want: { keeps: [], problem: 'm3 has the taint broken:NoSchedule, which the policy does not tolerate' },
  },
  {
    name: 'a policy that names only clusters that do not exist allows none',
    placement: names('m9'),
    runs: [],
    want: { keeps: [], among: [], problem: 'its placement allows no cluster' },
  },
  {
    name: 'an evicted workload goes to another cluster',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: [],
    more: evictedFrom('m1'),
    want: { keeps: [], among: ['m2'], takesAll: true },
  },
  {
    name: 'an evicted workload without another cluster is stranded',
    placement: { ...names('m1'), ...divided },
    runs: [],
    more: evictedFrom('m1'),
    want: { keeps: [], among: [], problem: 'm1 is being evicted' },
  },
  {
    name: 'a workload stays in a cluster with a new taint, and no other workload goes there',
    placement: { ...names('m1', 'm2'), ...divided },
    before: { ...names('m1', 'm2', 'm3'), ...divided },
    runs: ['m2'],
    clusters: [makeCluster('m1'), makeCluster('m2', { taints: [...broken.taints] })],
    want: { keeps: ['m2'], among: [] },
  },
  {
    name: 'the scheduler does not go back to an earlier group',
    placement: { ...groups, ...divided },
    runs: [],
    more: evictedFrom('m2'),
    status: { schedulerObservingAffinityName: 'second' },
    want: { among: ['m3'], group: 'second' },
  },
  {
    name: 'without an observed group, a workload leaves the second group for the first one',
    placement: { ...groups, ...divided },
    before: { ...names('m2'), ...divided },
    runs: ['m2'],
    want: { keeps: [], among: ['m1'], group: 'first' },
  },
  {
    name: 'fixed weights divide the replicas anew when the placement changes',
    placement: { ...names('m1', 'm2'), ...weighted },
    before: { ...names('m1'), ...weighted },
    runs: ['m1'],
    want: { keeps: ['m1'], among: ['m2'], takesAll: true },
  },
  {
    name: 'replicas leave a cluster without a fixed weight',
    placement: { ...names('m1', 'm2', 'm3'), ...weightedBy({ m2: 3, m3: 2 }) },
    before: { ...names('m1'), ...divided },
    runs: ['m1'],
    want: { keeps: [], among: ['m2', 'm3'], takesAll: true },
  },
  {
    name: 'too few replicas for all fixed weights go to the largest ones',
    placement: { ...names('m1', 'm2', 'm3'), ...weightedBy({ m1: 9, m2: 1, m3: 1 }) },
    before: { ...names('m1', 'm2', 'm3'), ...weightedBy({ m1: 1, m2: 1, m3: 1 }) },
    runs: ['m1', 'm2'],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'fixed weights do not show how many replicas have no room in the first tier',
    placement: {
      ...weighted,
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['m1'], overflowAffinities: [{ affinityName: 'b', clusterNames: ['m2'] }] },
      ],
    },
    more: { replicaRequirements: {} },
    runs: [],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'a replica goes to one of the clusters with the same weight',
    placement: { ...names('m1', 'm2'), ...weighted },
    more: { replicas: 1 },
    runs: [],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'a workload without a cluster is scheduled, since it waits in the queue',
    placement: { ...names('m1'), ...divided },
    runs: [],
    want: { among: ['m1'] },
  },
  {
    name: 'a workload without a fitting cluster is not scheduled again by itself',
    placement: { ...names('m1'), ...divided },
    runs: [],
    status: noFit,
    want: { keeps: [], among: [], problem: 'the scheduler has found no cluster, and tries again after a change' },
  },
  {
    name: 'new annotations alone are no event for the scheduler',
    placement: { ...names('m1'), ...divided },
    before: { ...names('m1'), ...divided },
    runs: [],
    status: noFit,
    want: { keeps: [], among: [], problem: 'the scheduler has found no cluster, and tries again after a change' },
  },
  {
    name: 'a workload without a fitting cluster is scheduled when a cluster changes',
    placement: { ...names('m1'), ...divided },
    runs: [],
    status: noFit,
    isQueued: true,
    want: { among: ['m1'] },
  },
  {
    name: 'replicas that could not be placed go to another cluster',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: ['m1'],
    status: failed('SchedulerError'),
    isQueued: true,
    want: { keeps: ['m1'], among: ['m2'] },
  },
  {
    name: 'replicas that are no longer duplicated stay in their only cluster',
    placement: { ...names('m1', 'm2', 'm3'), ...divided },
    before: names('m1', 'm2'),
    runs: ['m1'],
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'replicas that are no longer duplicated leave some of their clusters',
    placement: { ...names('m1', 'm2', 'm3'), ...divided },
    before: names('m1', 'm2'),
    runs: ['m1', 'm2'],
    want: { keeps: [], among: ['m1', 'm2'], takesAll: false },
  },
  {
    name: 'replicas that are no longer duplicated go to any cluster by fixed weights',
    placement: { ...names('m1', 'm2', 'm3'), ...weighted },
    before: names('m1', 'm2'),
    runs: ['m1', 'm2'],
    want: { keeps: [], among: ['m1', 'm2', 'm3'], takesAll: false },
  },
  {
    name: 'a suspended workload waits',
    placement: names('m1'),
    runs: [],
    more: { suspension: { scheduling: true } },
    want: { waits: true, among: [] },
  },
  {
    name: 'a suspended workload that runs stays',
    placement: names('m1'),
    before: names('m2'),
    runs: ['m2'],
    more: { suspension: { scheduling: true } },
    want: { waits: false, keeps: ['m2'] },
  },
  {
    name: 'the scheduler ignores a binding whose policy is gone',
    placement: names('m1'),
    runs: [],
    metadata: { annotations: {} },
    want: {
      keeps: [],
      among: [],
      problem: 'no policy selects it, so the scheduler ignores it until a cluster changes',
    },
  },
  {
    name: 'a workload whose policy is gone keeps running where it runs',
    placement: names('m1', 'm2'),
    runs: ['m1'],
    metadata: { annotations: {} },
    isQueued: true,
    want: { keeps: ['m1'], among: [] },
  },
  {
    name: 'every named cluster counts if no Cluster is known',
    placement: { ...names('m7'), ...divided },
    runs: [],
    clusters: [],
    want: { among: ['m7'] },
  },
  {
    name: 'every refusal is shown of three',
    placement: names('m1', 'm2', 'm3'),
    runs: [],
    clusters: ['m1', 'm2', 'm3'].map((name) => leaveCluster(makeCluster(name), NOW)),
    want: { problem: 'm1 is being deleted, m2 is being deleted, m3 is being deleted' },
  },
  {
    name: 'three refusals are shown of four',
    placement: names('m1', 'm2', 'm3', 'm4'),
    runs: [],
    clusters: ['m1', 'm2', 'm3', 'm4'].map((name) => makeCluster(name, { taints: [...broken.taints] })),
    want: {
      problem: [
        'm1 has the taint broken:NoSchedule, which the policy does not tolerate',
        'm2 has the taint broken:NoSchedule, which the policy does not tolerate',
        'm3 has the taint broken:NoSchedule, which the policy does not tolerate',
        'and so on for 1 more',
      ].join(', '),
    },
  },
]

describe('predictSchedule', () => {
  test.each(CASES)('$name', (given) => {
    const { placement, before, runs, ran, isNew, getsPolicy, more, status, metadata } = given
    const { isQueued = false, clusters = FLEET, want } = given
    const spec = { ...runningIn(runs), ...more }
    const binding: ResourceBinding = { ...makeBinding({ ...spec, placement }), ...(status && { status }) }
    const present = metadata ? { ...binding, metadata: { ...binding.metadata, ...metadata } } : binding
    const changed = { ...(before && { placement: before }), ...(ran && runningIn(ran)) }
    const stored: ResourceBinding = {
      ...present,
      metadata: getsPolicy ? { ...present.metadata, annotations: {} } : present.metadata,
      spec: { ...present.spec, ...changed },
    }
    const fleet = compileFleet(clusters, newestRules)
    const input = { binding: present, before: isNew ? undefined : stored, fleet, isQueued }
    expect(predictSchedule(input)).toMatchObject(want)
  })

  test('a binding without a placement is left alone, as that of an attached dependency', () => {
    const { placement: _, ...spec } = makeBinding(runningIn(['m3', 'm1'])).spec
    const binding = { ...makeBinding(), spec }
    const fleet = compileFleet(FLEET, newestRules)
    expect(predictSchedule({ binding, before: undefined, fleet, isQueued: true })).toEqual({
      keeps: ['m1', 'm3'],
      among: [],
      takesAll: false,
      waits: false,
    })
  })
})

const ALL = ['m1', 'm2', 'm3']

describe('after a change of a cluster, the scheduler looks at a workload', () => {
  const tiers = {
    clusterAffinities: [
      {
        affinityName: 'first',
        clusterNames: ['m1'],
        overflowAffinities: [{ affinityName: 'tier', clusterNames: ['m2'] }],
      },
      { affinityName: 'second', clusterNames: ['m3'] },
    ],
  }

  test.each<{ name: string; placement: Placement; observed?: string; hasFailed?: boolean; want: string[] }>([
    { name: 'without a group if its policy allows the cluster', placement: names('m1', 'm2'), want: ['m1', 'm2'] },
    { name: 'of a new group if the first one has the cluster', placement: tiers, want: ['m1'] },
    { name: 'of the first group, and not if only a tier has it', placement: tiers, observed: 'first', want: ['m1'] },
    { name: 'of another group if that one has the cluster', placement: tiers, observed: 'second', want: ['m3'] },
    {
      name: 'of a group if it found no cluster before',
      placement: tiers,
      observed: 'first',
      hasFailed: true,
      want: ALL,
    },
    {
      name: 'without a group if its policy allows the cluster, also then',
      placement: names('m1'),
      hasFailed: true,
      want: ['m1'],
    },
  ])('$name', ({ placement, observed, hasFailed, want }) => {
    const status = defined({ schedulerObservingAffinityName: observed, ...(hasFailed && noFit) })
    const binding = { ...makeBinding({ placement, replicas: 1, replicaRequirements: {} }), status }
    const fleet = compileFleet(FLEET, newestRules)
    expect(ALL.filter((name) => isAffectedBy(name, binding, fleet))).toEqual(want)
  })
})
