import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import {
  type BindingSpec,
  type BindingStatus,
  type Failover,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { isDivided, isWorkload } from '../../core/placement/binding-state.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { CachedKind } from '../store.ts'
import { allKinds } from './cached-kinds.ts'

const { keep } = allKinds(SHIPPED_KINDS).find(({ type }) => type === resourceBindings) as CachedKind<ResourceBinding>
const APPLIED = { 'policy.karmada.io/applied-placement': '{}' }

function kept(status: BindingStatus): ResourceBinding {
  const binding = makeBinding({ placement: {} })
  return keep({ ...binding, metadata: { ...binding.metadata, annotations: APPLIED, generation: 2 }, status })
}

test.each<{ name: string; status: BindingStatus; want: unknown }>([
  { name: 'keeps the placement that the scheduler applied to an earlier generation', status: {}, want: APPLIED },
  {
    name: 'has no second placement after the scheduler has applied the first',
    status: { schedulerObservedGeneration: 2 },
    want: undefined,
  },
])('the cache $name', ({ status, want }) => {
  expect(kept(status).metadata.annotations).toEqual(want)
})

test.each<{ name: string; failover: Failover; want: Failover | undefined }>([
  {
    name: 'that state is preserved, and not which',
    failover: { cluster: { purgeMode: 'Directly', statePreservation: { rules: [{ aliasLabelName: 'job' }] } } },
    want: { application: { statePreservation: { rules: [{}] } } },
  },
  { name: 'nothing of a failover without state', failover: { cluster: { purgeMode: 'Directly' } }, want: undefined },
])('the cache keeps $name', ({ failover, want }) => {
  expect(keep(makeBinding({ failover })).spec.failover).toEqual(want)
})

test('the cache keeps of an eviction whether the workload leaves its cluster at once', () => {
  const task = (fromCluster: string, purgeMode: string) => ({ fromCluster, purgeMode, reason: 'TaintUntolerated' })
  const gracefulEvictionTasks = [task('member1', 'Gracefully'), task('member2', 'Directly')]
  expect(keep(makeBinding({ gracefulEvictionTasks })).spec.gracefulEvictionTasks).toEqual([
    { fromCluster: 'member1' },
    { fromCluster: 'member2', purgeMode: 'Directly' },
  ])
})

const noFit = { type: 'Scheduled', status: 'False' as const, reason: 'NoClusterFit' }

test.each<{ name: string; status: BindingStatus; want: BindingStatus | undefined }>([
  { name: 'has no status that no decision reads', status: { schedulerObservedGeneration: 2 }, want: undefined },
  {
    name: 'keeps the affinity group of every binding',
    status: { schedulerObservingAffinityName: 'second' },
    want: { schedulerObservingAffinityName: 'second' },
  },
  {
    name: 'keeps why the scheduler failed',
    status: { conditions: [{ ...noFit, type: 'FullyApplied' }, noFit] },
    want: { conditions: [noFit] },
  },
  {
    name: 'keeps that the scheduler could not choose among clusters',
    status: {
      conditions: [{ ...noFit, reason: 'SchedulerError', message: 'failed to select clusters: no enough resource' }],
    },
    want: { conditions: [{ ...noFit, reason: 'SchedulerError', message: 'failed to select clusters' }] },
  },
  {
    name: 'keeps that the scheduler could not divide the replicas, with Karmada before 1.18',
    status: {
      conditions: [{ ...noFit, reason: 'SchedulerError', message: 'failed to assign replicas: failed to scale up: …' }],
    },
    want: { conditions: [{ ...noFit, reason: 'SchedulerError', message: 'failed to select clusters' }] },
  },
  {
    name: 'keeps no other message of the scheduler',
    status: { conditions: [{ ...noFit, reason: 'SchedulerError', message: 'timeout' }] },
    want: { conditions: [{ ...noFit, reason: 'SchedulerError' }] },
  },
  {
    name: 'forgets that the scheduler succeeded',
    status: { conditions: [{ type: 'Scheduled', status: 'True', reason: 'Success' }] },
    want: undefined,
  },
])('the cache $name', ({ status, want }) => {
  expect(kept(status).status).toEqual(want)
})

test.each<{ name: string; spec: Partial<BindingSpec>; want: Partial<BindingSpec> }>([
  { name: 'replicas', spec: { replicas: 2, replicaRequirements: { resourceRequest: {} } }, want: { replicas: 2 } },
  {
    name: 'requirements without replicas',
    spec: { replicas: 0, replicaRequirements: { resourceRequest: {} } },
    want: { replicaRequirements: {} },
  },
  {
    name: 'whether a cluster has replicas',
    spec: {
      replicas: 2,
      clusters: [{ name: 'm1', replicas: 7 }, { name: 'm2' }],
    },
    want: { replicas: 2, clusters: [{ name: 'm1', replicas: 1 }, { name: 'm2' }] },
  },
  { name: 'a component', spec: { replicas: 0, components: [{ name: 'a' }] }, want: { components: [{}] } },
  {
    name: 'three components',
    spec: { replicas: 0, components: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
    want: { components: [{}, {}] },
  },
  { name: 'neither', spec: { replicas: 0, components: [], replicaRequirements: null }, want: {} },
])('the cached binding of a workload with $name is divided or copied as the binding', ({ spec, want }) => {
  const placement = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const binding = makeBinding({ ...spec, placement })
  const { replicas, replicaRequirements, clusters, components } = keep(binding).spec
  expect(defined({ replicas, replicaRequirements, clusters, components })).toEqual(want)
  expect([isWorkload(keep(binding).spec), isDivided(keep(binding).spec)]).toEqual([
    isWorkload(binding.spec),
    isDivided(binding.spec),
  ])
})
