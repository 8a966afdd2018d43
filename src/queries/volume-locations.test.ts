import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeCluster,
  makeDeployment,
  makeObject,
  makePolicy,
  makeVolumeManager,
} from '../../test/builders.ts'
import { makeChange, storeOf } from '../../test/stores.ts'
import type { ResourceBinding } from '../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { placementKinds } from '../store/kinds/cached-kinds.ts'
import { bindingsByVolume, locateVolumes, readVolumes } from './volume-locations.ts'

const app = makeDeployment({}, ['sales'])
const preferring = makeObject('apps/v1', 'Deployment', 'app', {
  spec: {
    template: { metadata: { annotations: { [VOLUMES_ANNOTATION]: '{"name":"sales","enforcement":"Preferred"}' } } },
  },
})
const manager = makeVolumeManager()
/** The binding of VolumeManager default/sales, scheduled to member2. */
const placed: ResourceBinding = {
  ...makeBinding(
    {
      resource: { apiVersion: 'vck.intelai.org/v1alpha1', kind: 'VolumeManager', namespace: 'default', name: 'sales' },
    },
    { name: 'sales-volumemanager' },
  ),
  status: { aggregatedStatus: [{ clusterName: 'member2', status: { state: 'Running' } }] },
}
const { placement: _none, ...unplaced } = placed.spec
/** The same binding without its own policy: it follows a workload to a member. */
const following: ResourceBinding = {
  ...placed,
  spec: { ...unplaced, requiredBy: [{ namespace: 'default', name: 'a', clusters: [{ name: 'member2' }] }] },
}
const member = {
  ...makeCluster('member2'),
  status: { apiEnablements: [{ groupVersion: 'vck.intelai.org/v1alpha1', resources: [{ kind: 'VolumeManager' }] }] },
}
const policyOfManager = makePolicy({
  resourceSelectors: [{ apiVersion: 'vck.intelai.org/v1alpha1', kind: 'VolumeManager', name: 'sales' }],
})
const decided = { [BASE_AFFINITY_ANNOTATION]: '{"clusterAffinity":{}}' }

describe('the locations of the VolumeManagers of a bound workload are', () => {
  test.each<{ name: string; objects: K8sObject[]; bound?: ResourceBinding; want: object[] }>([
    {
      name: 'the clusters of their bindings',
      objects: [app, manager, placed],
      want: [{ enforcement: 'Required', answer: { kind: 'located', clusters: ['member2'] } }],
    },
    {
      name: 'Preferred if every pod only prefers them',
      objects: [preferring, manager, placed],
      want: [{ enforcement: 'Preferred', answer: { kind: 'located', clusters: ['member2'] } }],
    },
    {
      name: 'unknown while they do not exist',
      objects: [app],
      want: [{ answer: { kind: 'unknown', reason: 'it is not on this hub yet' } }],
    },
    {
      name: 'unknown without a timeout while a policy selects them and they have no placement',
      objects: [app, manager, policyOfManager],
      want: [{ holdTimeoutSeconds: undefined, answer: { kind: 'unknown', reason: 'Karmada has not placed it yet' } }],
    },
    {
      name: 'unknown for a short time while they may follow the workload',
      objects: [app, manager],
      bound: makeBinding({ propagateDeps: true }),
      want: [{ holdTimeoutSeconds: 10, answer: { kind: 'unknown', reason: 'no policy propagates it yet' } }],
    },
    {
      name: 'none after they follow a workload',
      objects: [app, manager, following],
      bound: makeBinding({ propagateDeps: true }),
      want: [],
    },
    { name: 'none if its pods name none', objects: [makeDeployment(), manager, placed], want: [] },
    {
      name: 'unknown while the workload is not cached and a member serves VolumeManagers',
      objects: [member],
      want: [{ claim: 'Deployment default/app', answer: { kind: 'unknown' } }],
    },
    { name: 'none if the workload is not cached and no member serves VolumeManagers', objects: [], want: [] },
    {
      name: 'none if a scheduled workload was deleted',
      objects: [member],
      bound: makeBinding({ clusters: [{ name: 'member1' }] }),
      want: [],
    },
    {
      name: 'unknown if a workload with a decision of Lodestone was deleted',
      objects: [member],
      bound: makeBinding({ clusters: [{ name: 'member1' }] }, { annotations: decided }),
      want: [{ claim: 'Deployment default/app' }],
    },
    {
      name: 'none for a kind that is not interpreted',
      objects: [member],
      bound: makeBinding({ resource: { apiVersion: 'example.io/v1', kind: 'Robot', namespace: 'default', name: 'r' } }),
      want: [],
    },
    {
      name: 'none for a workload without a namespace',
      objects: [member],
      bound: makeBinding({ resource: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' } }),
      want: [],
    },
  ])('$name', async ({ objects, bound = makeBinding(), want }) => {
    const found = locateVolumes(bound, await storeOf(objects))

    expect(found).toMatchObject(want)
    expect(found).toHaveLength(want.length)
  })

  test('none if workloads are not cached', async () => {
    const store = await storeOf([], placementKinds)

    expect(locateVolumes(makeBinding(), store)).toEqual([])
  })
})

test('the VolumeManagers of a workload that is not stored are read from the API server', async () => {
  const store = await storeOf([manager, placed])

  expect(await readVolumes(app, false, store, SHIPPED_KINDS)).toEqual(
    locateVolumes(makeBinding(), await storeOf([app, manager, placed])),
  )
  expect(await readVolumes(makeDeployment({}, ['orders']), false, store, SHIPPED_KINDS)).toMatchObject([
    { claim: 'VolumeManager default/orders', answer: { kind: 'unknown', reason: 'it is not on this hub yet' } },
  ])
})

describe('the bindings that a change concerns because of volumes are', () => {
  const own = 'app-deployment'
  const plain = makeDeployment()
  const bound = makeBinding()
  const other = makeBinding(
    { resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'other' } },
    { name: 'other-deployment' },
  )
  const decidedOn = makeBinding({}, { annotations: decided })

  test.each<{ name: string; stored: K8sObject[]; before?: K8sObject; after?: K8sObject; want: string[] }>([
    { name: 'those that name a new VolumeManager', stored: [app, bound, other], after: manager, want: [own] },
    { name: 'those that name a deleted VolumeManager', stored: [app, bound, other], before: manager, want: [own] },
    { name: 'those whose VolumeManager is scheduled now', stored: [app, bound, other], after: placed, want: [own] },
    { name: 'none for the binding of another workload', stored: [app, other], after: bound, want: [] },
    { name: 'its own for a workload with volumes', stored: [bound, other], after: app, want: [own] },
    {
      name: 'its own for a workload whose volumes were removed',
      stored: [bound],
      before: app,
      after: plain,
      want: [own],
    },
    {
      name: 'none for a change of a workload without volumes',
      stored: [decidedOn],
      before: plain,
      after: makeDeployment({ labels: { tier: 'web' } }),
      want: [],
    },
    { name: 'none for a new workload without volumes', stored: [bound], after: plain, want: [] },
    {
      name: 'its own for a new workload without volumes, if the binding has our annotations',
      stored: [decidedOn],
      after: plain,
      want: [own],
    },
    { name: 'none for an object without pods', stored: [app, bound], after: makeCluster('member1'), want: [] },
  ])('$name', async ({ stored, want, ...change }) => {
    const store = await storeOf(stored)
    const found = bindingsByVolume(await makeChange(store, change), store)

    expect(found.map(({ metadata }) => metadata.name)).toEqual(want)
  })
})
