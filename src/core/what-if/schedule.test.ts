import { describe, expect, test } from 'vitest'
import { makeBinding, makeCluster } from '../../../test/builders.ts'
import type { BindingSpec, Cluster, Placement, ResourceBinding } from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { newestRules } from '../karmada-rules.ts'
import { compileFleet } from './fleet.ts'
import { predictSchedule, type Schedule } from './schedule.ts'

const broken = { taints: [{ key: 'broken', effect: 'NoSchedule' }] } as const
const names = (...of: string[]) => ({ clusterAffinity: { clusterNames: of } })
const divided = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Aggregated' } }
const weighted = { replicaScheduling: { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' } }
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
  more?: Partial<BindingSpec>
  status?: ResourceBinding['status']
  metadata?: ObjectMeta
  isQueued?: boolean
  clusters?: Cluster[]
  want: Partial<Schedule>
}

const FLEET = [makeCluster('m1'), makeCluster('m2'), makeCluster('m3')]
const evictedFrom = (fromCluster: string) => ({ gracefulEvictionTasks: [{ fromCluster }] })

const CASES: Given[] = [
  {
    name: 'a divided workload that runs is left alone',
    placement: { ...names('m1', 'm2'), ...divided },
    runs: ['m1'],
    isQueued: true,
    want: { keeps: ['m1'], among: [] },
  },
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
    name: 'a full spread constraint adds no copy',
    placement: { ...names('m1', 'm2', 'm3'), ...atMost(2) },
    runs: ['m1', 'm2'],
    isQueued: true,
    want: { keeps: ['m1', 'm2'], among: [] },
  },
  {
    name: 'the scheduler leaves the clusters as they are if a spread constraint cannot be met',
    placement: { ...names('m1'), ...atMost(3, 2) },
    before: { ...names('m1', 'm2'), ...atMost(3, 2) },
    runs: ['m1', 'm2'],
    want: { keeps: ['m1', 'm2'], among: [] },
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
    name: 'without an observed group, the scheduler begins with the first one, and the workload leaves the second',
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
    want: { keeps: ['m1'], among: ['m2'], takesAll: false },
  },
  {
    name: 'a workload without a cluster is scheduled, since it waits in the queue',
    placement: { ...names('m1'), ...divided },
    runs: [],
    want: { among: ['m1'] },
  },
  {
    name: 'a workload for which the scheduler found no cluster is not scheduled again by itself',
    placement: { ...names('m1'), ...divided },
    runs: [],
    status: noFit,
    want: { among: [], problem: 'the scheduler has found no cluster, and tries again after a change' },
  },
  {
    name: 'new annotations alone are no event for the scheduler',
    placement: { ...names('m1'), ...divided },
    before: { ...names('m1'), ...divided },
    runs: [],
    status: noFit,
    want: { among: [], problem: 'the scheduler has found no cluster, and tries again after a change' },
  },
  {
    name: 'a workload for which the scheduler found no cluster is scheduled when a cluster changes',
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
    want: { among: [], problem: 'the scheduler ignores it, since it has no policy' },
  },
  {
    name: 'every named cluster counts if no Cluster is known',
    placement: { ...names('m7'), ...divided },
    runs: [],
    clusters: [],
    want: { among: ['m7'] },
  },
  {
    name: 'three refusals are shown',
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
    const { placement, before, runs, more, status, metadata, isQueued = false, clusters = FLEET, want } = given
    const spec = { ...(runs.length > 0 && { clusters: runs.map((name) => ({ name })) }), ...more }
    const binding: ResourceBinding = { ...makeBinding({ ...spec, placement }), ...(status && { status }) }
    const present = metadata ? { ...binding, metadata: { ...binding.metadata, ...metadata } } : binding
    const stored = before ? { ...present, spec: { ...present.spec, placement: before } } : present
    const fleet = compileFleet(clusters, newestRules)
    expect(predictSchedule({ binding: present, before: stored, fleet, isQueued })).toMatchObject(want)
  })
})
