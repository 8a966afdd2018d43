import { describe, expect, test } from 'vitest'
import { makeCluster, makeObject, makeVolumeManager } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { NotSyncedError } from '../store/store.ts'
import { isHub, requestOfOwner, volumeManagersOf } from './volumes.ts'

const manager = makeVolumeManager()

describe('the VolumeManagers that the pods of a namespace can mount', () => {
  test.each([
    { name: 'include one with that name', namespace: 'default', wanted: 'sales', want: ['vol1'] },
    { name: 'do not include one with another name', namespace: 'default', wanted: 'orders', want: undefined },
    { name: 'do not include one of another namespace', namespace: 'shop', wanted: 'sales', want: undefined },
  ])('$name', async ({ namespace, wanted, want }) => {
    const found = volumeManagersOf(await storeOf([manager]), namespace)(wanted)

    expect(found?.volumes.map(({ id }) => id)).toEqual(want)
  })

  test('are computed once for all pods, until the VolumeManager changes', async () => {
    const store = await storeOf([manager])
    const find = volumeManagersOf(store, 'default')
    const before = find('sales')
    const again = volumeManagersOf(store, 'default')('sales')
    await store.patch(volumeManagers, { namespace: 'default', name: 'sales' }, { spec: { state: 'Completed' } })

    expect(again).toBe(before)
    expect(find('sales')?.refusal).toBe('it is Completed, and its data is deleted')
  })

  test('have no mount for a Local volume outside of the allowed directories', async () => {
    const local = makeVolumeManager([{ sourceType: 'Local', options: { path: '/mnt/local/sales' } }])
    const store = await storeOf([local])
    const mountWith = (...localRoots: string[]) =>
      volumeManagersOf(store, 'default', { allowedRoots: [], localRoots })('sales')?.volumes[0]?.source

    expect([mountWith('/mnt/local'), mountWith('/mnt/other')]).toEqual([
      { hostPath: { path: '/mnt/local/sales' } },
      undefined,
    ])
  })

  test('throw NotSyncedError before the store is synced', () => {
    const unread = openFolderStore({ kinds: cachedKinds })

    expect(() => volumeManagersOf(unread, 'default')('sales')).toThrow(NotSyncedError)
  })
})

test.each([
  { name: 'with member clusters is a hub', objects: [makeCluster('member1')], want: true },
  { name: 'without member clusters is not a hub', objects: [manager], want: false },
])('a cluster $name', async ({ objects, want }) => {
  expect(isHub(await storeOf(objects))).toBe(want)
})

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
