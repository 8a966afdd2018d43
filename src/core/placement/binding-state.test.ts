import { describe, expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { BindingSpec, ResourceBinding } from '../../api/karmada.ts'
import {
  evictedClusters,
  hasNoChoice,
  hasNoFit,
  hasTarget,
  isNoSelection,
  isPlaced,
  isScaledToZero,
  isSuspended,
  isWorkload,
  scalesInVain,
  schedulingFailure,
  targetClusters,
} from './binding-state.ts'

const clusters = [{ name: 'member2' }, { name: 'member1' }]
const gracefulEvictionTasks = [{ fromCluster: 'member3' }]

// The cases of Test…_IsWorkload in Karmada 1.18.1, binding_types_helper_test.go of the API work.karmada.io/v1alpha2.
test.each<{ name: string; spec: Partial<BindingSpec>; want: boolean }>([
  { name: 'replicas', spec: { replicas: 2 }, want: true },
  { name: 'requirements of replicas, as of a suspended Job', spec: { replicaRequirements: {} }, want: true },
  { name: 'components, as of a FlinkDeployment', spec: { components: [{ name: 'jobmanager' }] }, want: true },
  { name: 'no replica, as of a Deployment that is scaled to zero', spec: { replicas: 0 }, want: false },
  {
    name: 'empty components and null, as of a ConfigMap',
    spec: { components: [], replicaRequirements: null },
    want: false,
  },
])('Karmada counts a resource with $name as a workload: $want', ({ spec, want }) => {
  expect(isWorkload(spec as BindingSpec)).toBe(want)
})

test.each<{ name: string; spec: Partial<BindingSpec>; want: boolean }>([
  { name: 'no replicas, and requirements of them', spec: { replicas: 0, replicaRequirements: {} }, want: true },
  { name: 'requirements alone, as it is cached', spec: { replicaRequirements: {} }, want: true },
  { name: 'replicas', spec: { replicas: 1, replicaRequirements: {} }, want: false },
  { name: 'neither, as a ConfigMap', spec: {}, want: false },
  {
    name: 'several components',
    spec: { components: [{ name: 'jobmanager' }, { name: 'taskmanager' }], replicaRequirements: {} },
    want: false,
  },
])('the scheduler removes a workload with $name from all clusters: $want', ({ spec, want }) => {
  expect(isScaledToZero(spec as BindingSpec)).toBe(want)
})

describe('a binding', () => {
  test.each<{ name: string; spec: Partial<BindingSpec>; want: object }>([
    { name: 'that is new', spec: {}, want: { targets: [], has: false, evicted: [], placed: false } },
    {
      name: 'that is scheduled',
      spec: { clusters },
      want: { targets: ['member2', 'member1'], has: true, evicted: [], placed: true },
    },
    {
      name: 'whose only cluster evicts it',
      spec: { clusters: [], gracefulEvictionTasks },
      want: { targets: [], has: false, evicted: ['member3'], placed: true },
    },
  ])('$name', ({ spec, want }) => {
    expect({
      targets: targetClusters(spec),
      has: hasTarget(spec),
      evicted: [...evictedClusters(spec)],
      placed: isPlaced(spec),
    }).toEqual(want)
  })

  test('that does not exist is nowhere', () => {
    expect([hasTarget(undefined), isPlaced(undefined), isSuspended(undefined), isWorkload(undefined)]).toEqual(
      Array(4).fill(false),
    )
    expect([targetClusters(undefined), evictedClusters(undefined)]).toEqual([[], new Set()])
  })

  test('without a suspension is not suspended', () => {
    expect(isSuspended({})).toBe(false)
  })

  test.each([
    { suspension: { scheduling: true }, want: true },
    { suspension: { scheduling: false }, want: false },
    { suspension: { dispatching: true }, want: false },
  ])('with $suspension is suspended: $want', ({ suspension, want }) => {
    expect(isSuspended({ suspension })).toBe(want)
  })
})

test.each<{ reason: string; message?: string; runs?: string[]; want: boolean }>([
  { reason: 'Unschedulable', want: true },
  { reason: 'Unschedulable', runs: ['m1'], want: false },
  { reason: 'SchedulerError', message: 'failed to select clusters: no enough resource when …', want: true },
  { reason: 'SchedulerError', message: 'failed to assign replicas: failed to scale up: …', want: true },
  { reason: 'SchedulerError', message: 'cannot patch: failed to select clusters', want: false },
  { reason: 'SchedulerError', want: false },
  { reason: 'NoClusterFit', message: 'failed to select clusters', want: false },
])(
  'an attempt with $reason ($message) in a workload in $runs lacks a choice: $want',
  ({ reason, message, runs = [], want }) => {
    const condition = { type: 'Scheduled', status: 'False' as const, reason, ...(message !== undefined && { message }) }
    const clusters = runs.map((name) => ({ name }))
    expect(hasNoChoice({ ...makeBinding({ clusters }), status: { conditions: [condition] } })).toBe(want)
  },
)

describe('the last attempt of the scheduler', () => {
  const condition = (type: string, status: 'True' | 'False', reason: string) => ({ type, status, reason })
  const fits = condition('Scheduled', 'True', 'Success')
  const noFit = condition('Scheduled', 'False', 'NoClusterFit')
  const failed = condition('Scheduled', 'False', 'SchedulerError')
  const applied = condition('FullyApplied', 'False', 'FullyAppliedFailed')

  test.each<{ name: string; runs?: string[]; conditions?: object[]; want: [string | undefined, boolean] }>([
    { name: 'that did not happen yet is no failure', want: [undefined, false] },
    { name: 'that succeeded is no failure', conditions: [fits], runs: ['m1'], want: [undefined, false] },
    { name: 'that found no cluster is known', conditions: [applied, noFit], want: ['NoClusterFit', true] },
    { name: 'that failed for another reason may still fit', conditions: [failed], want: ['SchedulerError', false] },
    {
      name: 'that found no better cluster leaves the workload',
      conditions: [noFit],
      runs: ['m1'],
      want: ['NoClusterFit', false],
    },
    { name: 'is not that of another condition', conditions: [fits, applied], want: [undefined, false] },
  ])('$name', ({ runs = [], conditions, want }) => {
    const binding = {
      ...makeBinding({ clusters: runs.map((name) => ({ name })) }),
      ...(conditions && { status: { conditions } }),
    } as ResourceBinding
    expect([schedulingFailure(binding), hasNoFit(binding)]).toEqual(want)
  })

  test('is unknown in a status without conditions', () => {
    expect(schedulingFailure({ ...makeBinding(), status: {} })).toBeUndefined()
  })
})

test('a message is about the choice among clusters if it begins so', () => {
  const messages = [
    'failed to select clusters: no enough resource',
    'failed to assign replicas: failed to scale up: Clusters available replicas 0 are not enough to schedule.',
    'cannot patch: failed to select clusters',
    undefined,
  ]
  expect(messages.map(isNoSelection)).toEqual([true, true, false, false])
})

test.each<{ name: string; reason?: string; spec: Partial<BindingSpec>; want: boolean }>([
  { name: 'that gets more replicas', spec: {}, want: true },
  { name: 'that gets fewer replicas', spec: { replicas: 1 }, want: true },
  { name: 'that keeps its replicas', spec: { replicas: 2 }, want: false },
  { name: 'that the scheduler could place', reason: '', spec: {}, want: false },
  { name: 'that fits in no cluster', reason: 'NoClusterFit', spec: {}, want: false },
  { name: 'that is copied', spec: { placement: {} }, want: false },
  { name: 'that runs nowhere', spec: { clusters: [] }, want: false },
])('Karmada cannot scale a workload $name: $want', ({ reason = 'Unschedulable', spec, want }) => {
  const clusters = [{ name: 'm1', replicas: 2 }]
  const stored = makeBinding({ placement: { replicaScheduling: {} }, replicas: 2, clusters })
  const conditions = reason ? [{ type: 'Scheduled', status: 'False' as const, reason }] : []
  const written = makeBinding({ ...stored.spec, replicas: 4, ...spec })
  expect(scalesInVain(written, { ...stored, status: { conditions } })).toBe(want)
})
