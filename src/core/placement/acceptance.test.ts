import { describe, expect, test } from 'vitest'
import { lookup, makeBinding, makeCluster } from '../../../test/builders.ts'
import type { BindingSpec, Cluster } from '../../api/karmada.ts'
import type { Taint, Toleration } from '../../api/node.ts'
import { moveRefusal, schedulingRefusal } from './acceptance.ts'

const deployments = { groupVersion: 'apps/v1', resources: [{ kind: 'Deployment' }] }
const complete = {
  type: 'CompleteAPIEnablements',
  status: 'True' as const,
  reason: '',
  message: '',
  lastTransitionTime: '',
}

function refusal(spec: Partial<BindingSpec>, cluster: Partial<Cluster>, name = 'member1'): string | undefined {
  return schedulingRefusal(makeBinding(spec).spec, lookup({ ...makeCluster('member1'), ...cluster }))(name)
}

describe('the scheduler refuses a cluster', () => {
  test.each<{ name: string; spec?: Partial<BindingSpec>; cluster?: Partial<Cluster>; of?: string; want: string }>([
    { name: 'that does not exist', of: 'member9', want: 'does not exist' },
    {
      name: 'that is being deleted, even if the workload runs there',
      spec: { clusters: [{ name: 'member1' }] },
      cluster: { metadata: { name: 'member1', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      want: 'is being deleted',
    },
    {
      name: 'that evicts the workload, even if the workload runs there',
      spec: { clusters: [{ name: 'member1' }], gracefulEvictionTasks: [{ fromCluster: 'member1' }] },
      want: 'is being evicted',
    },
    {
      name: 'that does not serve the kind',
      cluster: { status: { apiEnablements: [], conditions: [complete] } },
      want: 'does not serve apps/v1 Deployment',
    },
    {
      name: 'that serves another version of the kind',
      cluster: {
        status: { apiEnablements: [{ ...deployments, groupVersion: 'apps/v1beta1' }], conditions: [complete] },
      },
      want: 'does not serve apps/v1 Deployment',
    },
    {
      name: 'that has not reported its kinds',
      cluster: { status: {} },
      want: 'has not reported yet that it serves apps/v1 Deployment',
    },
    {
      name: 'that lists some kinds and has not reported all',
      cluster: { status: { apiEnablements: [], conditions: [{ ...complete, status: 'False' as const }] } },
      want: 'has not reported yet that it serves apps/v1 Deployment',
    },
    {
      name: 'whose true condition is another one',
      cluster: { status: { apiEnablements: [], conditions: [{ ...complete, type: 'Ready' }] } },
      want: 'has not reported yet that it serves apps/v1 Deployment',
    },
    {
      name: 'that serves only the group of the kind',
      cluster: { status: { apiEnablements: [{ groupVersion: 'apps/v1' }], conditions: [complete] } },
      want: 'does not serve apps/v1 Deployment',
    },
    {
      name: 'that has a taint and does not serve the kind: the taint is the reason',
      cluster: { spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }, status: { apiEnablements: [] } },
      want: 'has the taint gpu:NoSchedule, which the policy does not tolerate',
    },
    {
      name: 'without a provider, if the policy spreads by providers',
      spec: { placement: { spreadConstraints: [{ spreadByField: 'provider' }] } },
      cluster: { spec: { region: 'eu', zones: ['a'] } },
      want: 'has no provider, by which the policy spreads',
    },
    {
      name: 'without zones, if the policy spreads by zones too',
      spec: { placement: { spreadConstraints: [{ spreadByField: 'region' }, { spreadByField: 'zone' }] } },
      cluster: { spec: { region: 'eu', zones: [] } },
      want: 'has no zone, by which the policy spreads',
    },
    {
      name: 'without a region, if the policy spreads by regions',
      spec: { placement: { spreadConstraints: [{ spreadByField: 'region' }] }, clusters: [{ name: 'member1' }] },
      want: 'has no region, by which the policy spreads',
    },
  ])('$name', ({ spec = {}, cluster = {}, of, want }) => {
    expect(refusal(spec, cluster, of)).toBe(want)
  })
})

describe('a tainted cluster is accepted only by a policy that tolerates the taint', () => {
  const taint: Taint = { key: 'gpu', value: 'a100', effect: 'NoSchedule' }
  test.each<{ name: string; taint?: Partial<Taint>; tolerations: Toleration[]; accepted: boolean }>([
    { name: 'no toleration', tolerations: [], accepted: false },
    { name: 'NoExecute without a toleration', taint: { effect: 'NoExecute' }, tolerations: [], accepted: false },
    { name: 'PreferNoSchedule', taint: { effect: 'PreferNoSchedule' }, tolerations: [], accepted: true },
    { name: 'the same key and value', tolerations: [{ key: 'gpu', value: 'a100' }], accepted: true },
    { name: 'another value', tolerations: [{ key: 'gpu', operator: 'Equal', value: 'h100' }], accepted: false },
    { name: 'Exists', tolerations: [{ key: 'gpu', operator: 'Exists' }], accepted: true },
    {
      name: 'Exists of another effect',
      tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }],
      accepted: false,
    },
    { name: 'Exists without a key', tolerations: [{ operator: 'Exists' }], accepted: true },
    { name: 'Equal without a key, and an equal value', tolerations: [{ value: 'a100' }], accepted: true },
    { name: 'Equal without a key or a value, and a taint with a value', tolerations: [{}], accepted: false },
    {
      name: 'an operator that Karmada disables',
      tolerations: [{ key: 'gpu', operator: 'Gt', value: '1' }],
      accepted: false,
    },
  ])('$name', ({ taint: changed, tolerations, accepted }) => {
    const cluster = { spec: { taints: [{ ...taint, ...changed }] } }
    const spec = { placement: { clusterTolerations: tolerations } }
    expect(refusal(spec, cluster) === undefined).toBe(accepted)
  })

  test('or if the workload runs there already', () => {
    expect(refusal({ clusters: [{ name: 'member1' }] }, { spec: { taints: [taint] } })).toBeUndefined()
    expect(refusal({ clusters: [{ name: 'member2' }] }, { spec: { taints: [taint] } })).toBe(
      'has the taint gpu=a100:NoSchedule, which the policy does not tolerate',
    )
  })
})

describe('the scheduler accepts a cluster', () => {
  test.each<{ name: string; spec?: Partial<BindingSpec>; cluster: Partial<Cluster> }>([
    { name: 'that serves the kind', cluster: { status: { apiEnablements: [deployments] } } },
    {
      name: 'that no longer serves the kind, if the workload runs there',
      spec: { clusters: [{ name: 'member1' }] },
      cluster: { status: { apiEnablements: [], conditions: [complete] } },
    },
    {
      name: 'that has each field by which the policy spreads',
      spec: {
        placement: {
          spreadConstraints: ['provider', 'region', 'zone', 'cluster'].map((spreadByField) => ({ spreadByField })),
        },
      },
      cluster: { spec: { provider: 'aws', region: 'eu', zones: ['a'] } },
    },
    {
      name: 'if the policy spreads by labels',
      spec: { placement: { spreadConstraints: [{ spreadByLabel: 'team' }] } },
      cluster: {},
    },
    { name: 'of a manifest without a status, whose APIs are not known', cluster: {} },
  ])('$name', ({ spec = {}, cluster }) => {
    expect(refusal(spec, cluster)).toBeUndefined()
  })

  test('of which nothing is known, unless it evicts the workload', () => {
    const refuses = schedulingRefusal(
      makeBinding({ gracefulEvictionTasks: [{ fromCluster: 'member2' }] }).spec,
      undefined,
    )
    expect([refuses('member1'), refuses('member2')]).toEqual([undefined, 'is being evicted'])
  })
})

describe('a Cluster of a manifest without a spec', () => {
  const cluster = { spec: undefined as never }

  test('is accepted', () => {
    expect(refusal({}, cluster)).toBeUndefined()
  })

  test.each(['provider', 'region', 'zone'])('is refused if the policy spreads by %s', (spreadByField) => {
    const placement = { spreadConstraints: [{ spreadByField }] }
    expect(refusal({ placement }, cluster)).toBe(`has no ${spreadByField}, by which the policy spreads`)
  })
})

test('a binding without a placement tolerates no taint, and accepts other clusters', () => {
  const { placement: _absent, ...spec } = makeBinding().spec
  const clusters = lookup(makeCluster('member1', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }), 'member2')
  expect(schedulingRefusal(spec, clusters)('member2')).toBeUndefined()
  expect(schedulingRefusal(spec, clusters)('member1')).toBe(
    'has the taint gpu:NoSchedule, which the policy does not tolerate',
  )
})

test('the kinds of one list are collected once, for all bindings', () => {
  let reads = 0
  const counted = {
    groupVersion: 'apps/v1',
    get resources() {
      reads++
      return deployments.resources
    },
  }
  const status = { apiEnablements: [counted] }
  expect([refusal({}, { status }), refusal({}, { status }), reads]).toEqual([undefined, undefined, 1])
})

test('one list of kinds is compared with each binding', () => {
  const status = { apiEnablements: [deployments], conditions: [complete] }
  const job = { resource: { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' } }
  const results = [{}, job, {}].map((spec) => refusal(spec, { status }))
  expect(results).toEqual([undefined, 'does not serve batch/v1 Job', undefined])
})

describe('a move to a cluster whose NoExecute taint the policy tolerates for some seconds', () => {
  const clusterTolerations = [{ key: 'gpu', operator: 'Exists', tolerationSeconds: 30 }]
  const clusters = lookup(makeCluster('member1', { taints: [{ key: 'gpu', effect: 'NoExecute' }] }), 'member2')
  const request = (runsIn: string[], tolerations: Toleration[] = clusterTolerations) =>
    makeBinding({
      placement: { clusterTolerations: tolerations },
      ...(runsIn.length > 0 && { clusters: runsIn.map((name) => ({ name })) }),
    }).spec
  const why = 'has the taint gpu:NoExecute, which the policy tolerates for 30 s only'

  test.each<{ name: string; runsIn: string[]; tolerations?: Toleration[]; want: string | undefined }>([
    { name: 'is refused', runsIn: ['member2'], want: why },
    { name: 'is none if the workload runs there', runsIn: ['member1', 'member2'], want: undefined },
    { name: 'is a start if the workload runs nowhere', runsIn: [], want: undefined },
    {
      name: 'is as to any cluster, if another toleration has no limit',
      runsIn: ['member2'],
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
      want: undefined,
    },
    {
      name: 'has the reason of the scheduler, if it refuses the cluster too',
      runsIn: ['member2'],
      tolerations: [],
      want: 'has the taint gpu:NoExecute, which the policy does not tolerate',
    },
  ])('$name', ({ runsIn, tolerations, want }) => {
    const refuses = moveRefusal(request(runsIn, tolerations), clusters)
    expect([refuses('member1'), refuses('member2')]).toEqual([want, undefined])
  })

  test('is not known without Clusters', () => {
    expect(moveRefusal(request(['member2']), undefined)('member1')).toBeUndefined()
  })
})
