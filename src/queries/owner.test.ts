import { expect, test } from 'vitest'
import { makeObject } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { requestOfOwner } from './owner.ts'

const annotations = { [VOLUMES_ANNOTATION]: '{"name":"mnist"}' }
const trainJob = makeObject('trainer.kubeflow.org/v1alpha1', 'TrainJob', 'train', {
  metadata: { name: 'train', namespace: 'default', annotations },
  spec: {},
})
const ownedBy = (apiVersion: string, kind: string, controller = true) =>
  makeObject('jobset.x-k8s.io/v1alpha2', 'JobSet', 'train', {
    metadata: { ownerReferences: [{ apiVersion, kind, name: 'train', uid: 'u', controller }] },
  })
const owned = ownedBy('trainer.kubeflow.org/v2', 'TrainJob')

test('a workload inherits the annotation of its owner, in any version', async () => {
  const store = await storeOf([trainJob])
  expect(requestOfOwner(owned, 'default', SHIPPED_KINDS, store)).toEqual({
    title: 'TrainJob train',
    annotation: annotations[VOLUMES_ANNOTATION],
  })
})

test('an owner that is not cached yet is unknown', async () => {
  expect(requestOfOwner(owned, 'other', SHIPPED_KINDS, await storeOf([trainJob]))).toEqual({
    title: 'TrainJob train',
    isUnknown: true,
  })
})

test.each([
  ['without an owner', makeObject('jobset.x-k8s.io/v1alpha2', 'JobSet', 'train')],
  ['whose owner is not its controller', ownedBy('trainer.kubeflow.org/v1alpha1', 'TrainJob', false)],
  ['whose owner passes the annotation on itself', ownedBy('jobset.x-k8s.io/v1alpha2', 'JobSet')],
  ['whose owner is of an unknown kind', ownedBy('example.com/v1', 'TrainJob')],
])('a workload %s inherits nothing', async (_name, object) => {
  expect(requestOfOwner(object, 'default', SHIPPED_KINDS, await storeOf([trainJob]))).toBeUndefined()
})
