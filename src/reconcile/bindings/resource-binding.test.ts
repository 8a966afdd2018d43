import { expect, test, vi } from 'vitest'
import { makeBinding, makeClaim, makeCluster, makeSource, NOW, OWNED } from '../../../test/builders.ts'
import { loopSettings } from '../../../test/loop-settings.ts'
import { storeOf } from '../../../test/stores.ts'
import { clusters, resourceBindings } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { keyOfObject } from '../../api/meta.ts'
import { resourceBindingLoop } from './resource-binding.ts'

test.each([
  { runsIn: 'member2', want: 1 },
  { runsIn: 'member1', want: 0 },
])('a change of member1 concerns a workload in $runsIn that prefers it: $want', async ({ runsIn, want }) => {
  const locality = { state: 'Narrowed', message: '', claims: ['default/sales'], preferred: [['member1']] }
  const annotations = { [LOCALITY_ANNOTATION]: JSON.stringify(locality) }
  const binding = makeBinding({ clusters: [{ name: runsIn }] }, { annotations })
  const store = await storeOf([binding])
  const before = makeCluster('member1', { taints: [{ key: 'maintenance', effect: 'NoSchedule' }] })
  const change = { type: clusters, before, after: makeCluster('member1') }
  expect(resourceBindingLoop.keysForChange(change, store)).toEqual(want === 1 ? [keyOfObject(binding)] : [])
})

test('a workload is decided again when a PersistentVolumeClaim no longer follows it', async () => {
  const resource = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'disk' }
  const before = makeBinding({ resource, requiredBy: [{ namespace: 'default', name: 'app-deployment' }] })
  const change = { type: resourceBindings, before }
  expect(resourceBindingLoop.keysForChange(change, await storeOf([]))).toEqual(['default/app-deployment'])
})

test.each([
  { name: 'an orphaned workload takes one turn', metadata: {}, turns: [1, 1], clusterNames: ['member1'] },
  { name: 'another workload moves', metadata: OWNED, turns: [1, 1], clusterNames: ['member2'] },
])('of the moves per minute, $name', async ({ metadata, turns, clusterNames }) => {
  const locality = { state: 'Narrowed', message: '', claims: ['default/sales'], required: ['member1'] }
  const placement = { clusterAffinity: { clusterNames: ['member1'] } }
  const annotations = {
    [LOCALITY_ANNOTATION]: JSON.stringify(locality),
    [BASE_AFFINITY_ANNOTATION]: JSON.stringify(makeBinding().spec.placement),
  }
  const store = await storeOf([makeClaim(), makeSource()])
  const running = makeBinding({ clusters: [{ name: 'member1', replicas: 2 }], placement }, { ...metadata, annotations })
  await store.create(resourceBindings, running)
  const take = vi.fn(() => 0)
  const context = {
    ...loopSettings,
    store,
    moves: { take, withdraw: () => undefined },
    observer: { moved: () => undefined },
    now: () => NOW,
  }
  const seen: number[] = []
  for (const _round of turns) {
    await resourceBindingLoop.reconcile(keyOfObject(running), context as never)
    seen.push(take.mock.calls.length)
  }
  expect(seen).toEqual(turns)
  const [stored] = store.list(resourceBindings)
  expect(stored?.spec.placement).toEqual({ clusterAffinity: { clusterNames } })
})
