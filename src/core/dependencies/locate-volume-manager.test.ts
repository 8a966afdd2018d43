import { expect, test } from 'vitest'
import { makeBinding, makeVolumeManager } from '../../../test/builders.ts'
import type { AggregatedStatusItem, ResourceBinding } from '../../api/karmada.ts'
import { defined } from '../../base/json.ts'
import { keepMemberStatus, locateUnread, locateVolumeManager, type VolumeUse } from './locate-volume-manager.ts'

const placed = (aggregatedStatus?: AggregatedStatusItem[]): ResourceBinding => ({
  ...makeBinding(
    {
      resource: { apiVersion: 'vck.intelai.org/v1alpha1', kind: 'VolumeManager', namespace: 'default', name: 'sales' },
    },
    { name: 'sales-volumemanager' },
  ),
  ...defined({ status: aggregatedStatus && { aggregatedStatus } }),
})

const running = (clusterName: string, ...bytes: number[]) => ({
  clusterName,
  status: { state: 'Running', volumes: bytes.map((each) => ({ bytes: each })) },
})
const attached: ResourceBinding = { ...placed(), spec: { resource: placed().spec.resource } }

const required = { namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member1' }] }
const requiredBy = [{ namespace: 'default', name: 'other' }, required]
const following: ResourceBinding = { ...attached, spec: { ...attached.spec, requiredBy } }

function locate(use: Partial<VolumeUse>) {
  return locateVolumeManager({
    namespace: 'default',
    name: 'sales',
    enforcement: 'Required',
    manager: makeVolumeManager(),
    binding: placed(),
    isSelected: false,
    dependenciesFollow: true,
    ...use,
  })
}

test.each<{ name: string; use: Partial<VolumeUse>; answer: object }>([
  {
    name: 'in the members in which it is Running, sorted, with the largest size',
    use: {
      binding: placed([
        running('member3', 5, 2),
        { clusterName: 'member2', status: { state: 'Failed' } },
        running('member1'),
      ]),
    },
    answer: { kind: 'located', clusters: ['member1', 'member3'], bytes: 7 },
  },
  {
    name: 'in a member that fails to write changes back, since its data is usable',
    use: {
      binding: placed([
        { clusterName: 'member1', status: { state: 'Failed', conditions: [{ type: 'Ready', status: 'True' }] } },
      ]),
    },
    answer: { kind: 'located', clusters: ['member1'], bytes: undefined },
  },
  {
    name: 'unknown while it is Running in no member, with the states and messages of members',
    use: {
      binding: placed([
        { clusterName: 'member1', status: { state: 'Pending', message: 'downloading' } },
        { clusterName: 'member2' },
      ]),
    },
    answer: {
      kind: 'unknown',
      reason: 'it is Running in no member yet (member1 Pending: downloading, member2 Pending)',
    },
  },
  {
    name: 'unknown while no member reports a status',
    use: {},
    answer: { kind: 'unknown', reason: 'it is Running in no member yet' },
  },
  {
    name: 'in a member that does not report its size',
    use: { binding: placed([{ clusterName: 'member1', status: { state: 'Running', volumes: [{ id: 'vol1' }] } }]) },
    answer: { kind: 'located', clusters: ['member1'], bytes: undefined },
  },
  {
    name: 'in members, with the size of those that report one',
    use: { binding: placed([running('member1'), running('member2', 4)]) },
    answer: { kind: 'located', clusters: ['member1', 'member2'], bytes: 4 },
  },
  {
    name: 'nowhere when the user wants it to fail',
    use: { manager: makeVolumeManager([{}], { state: 'Failed' }), binding: placed([running('member1')]) },
    answer: { kind: 'nowhere', reason: 'its spec.state is Failed' },
  },
  {
    name: 'unknown while it does not exist',
    use: { manager: undefined, binding: undefined },
    answer: { kind: 'unknown', reason: 'it is not on this hub yet' },
  },
  {
    name: 'unknown while neither a policy nor a workload propagates it',
    use: { binding: undefined, dependenciesFollow: false },
    answer: { kind: 'unknown', reason: 'no policy propagates it yet' },
  },
  {
    name: 'unknown, without a timeout, until Karmada applies the policy that selects it',
    use: { binding: undefined, isSelected: true },
    answer: { kind: 'unknown', reason: 'Karmada has not placed it yet' },
  },
  {
    name: 'unknown while it is being deleted, even if it is Running in a member',
    use: {
      manager: makeVolumeManager([{}], { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      binding: placed([running('member1')]),
    },
    answer: { kind: 'unknown', reason: 'it is being deleted' },
  },
  {
    name: 'nowhere when its data was deleted',
    use: { manager: makeVolumeManager([{}], { state: 'Completed' }), binding: placed([running('member1')]) },
    answer: { kind: 'nowhere', reason: 'its spec.state is Completed' },
  },
  {
    name: 'unknown when the status of members has another shape',
    use: {
      binding: placed([
        { clusterName: 'member1', status: 'Running' },
        { clusterName: 'member2', status: { state: 7 } },
      ]),
    },
    answer: { kind: 'unknown', reason: 'it is Running in no member yet (member1 Pending, member2 Pending)' },
  },
])('a VolumeManager is $name', ({ use, answer }) => {
  expect(locate(use)).toMatchObject({
    claim: 'VolumeManager default/sales',
    enforcement: 'Required',
    holdTimeoutSeconds: undefined,
    answer,
  })
})

test('a workload that is not cached yet causes a hold of at most 10 s', () => {
  const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }

  expect(locateUnread(app)).toEqual({
    claim: 'Deployment default/app',
    enforcement: 'Required',
    holdTimeoutSeconds: 10,
    onUnresolved: 'Hold',
    onUnsatisfiable: 'Hold',
    rebalance: 'Auto',
    answer: { kind: 'unknown', reason: 'it was not read yet, and may use VolumeManagers' },
  })
})

test('a VolumeManager has the terms of a claim without a policy', () => {
  expect(locate({ binding: placed([running('member1', 3)]) })).toEqual({
    claim: 'VolumeManager default/sales',
    enforcement: 'Required',
    holdTimeoutSeconds: undefined,
    onUnresolved: 'Hold',
    onUnsatisfiable: 'Hold',
    rebalance: 'Auto',
    answer: { kind: 'located', clusters: ['member1'], bytes: 3 },
  })
})

test.each<{ name: string; use: Partial<VolumeUse> }>([
  { name: 'a placement of its own', use: { binding: { ...placed(), spec: { ...placed().spec, requiredBy } } } },
  { name: 'a policy that selects it', use: { binding: following, isSelected: true } },
  { name: 'workloads that do not propagate dependencies', use: { binding: following, dependenciesFollow: false } },
  {
    name: 'workloads without clusters',
    use: { binding: { ...following, spec: { ...attached.spec, requiredBy: [{ ...required, clusters: [] }] } } },
  },
])('a VolumeManager with $name restricts its workloads, although they require it', ({ use }) => {
  expect(locate(use)).toMatchObject({ answer: { kind: 'unknown' } })
})

test('a VolumeManager that is attached to workloads does not restrict them', () => {
  expect(locate({ binding: following })).toBeUndefined()
})

test.each([
  { name: 'without a binding', binding: undefined },
  { name: 'with a binding that is attached to nothing', binding: attached },
])('a VolumeManager $name causes a hold of at most 10 s: it may follow the workload', ({ binding }) => {
  expect(locate({ binding })).toMatchObject({
    answer: { kind: 'unknown', reason: 'no policy propagates it yet' },
    holdTimeoutSeconds: 10,
  })
  expect(locate({ binding, dependenciesFollow: false })).toMatchObject({ holdTimeoutSeconds: undefined })
})

test('a preferred volume is located in the same way', () => {
  expect(locate({ enforcement: 'Preferred', binding: placed([running('member1')]) })).toMatchObject({
    enforcement: 'Preferred',
    answer: { kind: 'located', clusters: ['member1'] },
  })
})

test('only the fields of a member status that the location depends on are cached', () => {
  const status = {
    state: 'Running',
    message: 'all volumes are ready',
    conditions: [{ type: 'ReplicasReady', message: 'vol1: 1 ready' }],
    volumes: [{ id: 'vol1', bytes: 5, replicas: [{ node: 'node-1' }] }, { id: 'vol2' }],
  }
  expect(keepMemberStatus({ clusterName: 'member1', status })).toEqual({
    clusterName: 'member1',
    status: { state: 'Running', message: 'all volumes are ready', volumes: [{ bytes: 5 }] },
  })
  const conditions = [{ type: 'Ready', message: 'vol1: AccessDenied: not for you' }]
  expect(
    keepMemberStatus({ clusterName: 'member1', status: { state: 'Failed', message: 'failed', conditions } }),
  ).toEqual({
    clusterName: 'member1',
    status: { state: 'Failed', message: 'vol1: AccessDenied: not for you' },
  })
  expect(keepMemberStatus({ clusterName: 'member1' })).toEqual({ clusterName: 'member1', status: {} })
})
