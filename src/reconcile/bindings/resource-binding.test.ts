import { expect, test } from 'vitest'
import { makeBinding, makeCluster } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { clusters, resourceBindings } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
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
