import { expect, test } from 'vitest'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makeObject, makeSource, NOW } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import type { BindingSpec } from '../api/karmada.ts'
import { type K8sObject, nameOfObject } from '../api/meta.ts'
import { dependedByLabel, karmadaDependedByLabel } from '../core/dependencies/names.ts'
import { detachedFrom } from './attached.ts'
import { gatherBindingInput } from './binding.ts'

const binding = makeBinding({ propagateDeps: true, clusters: [{ name: 'member1', replicas: 2 }] })
const referrer = nameOfObject(binding)
const ours = { [dependedByLabel(referrer)]: 'id' }

/** The binding of an object that is attached to the workload. */
function attached(
  spec: Partial<BindingSpec> = {},
  labels: Record<string, string> = ours,
  kind = 'PersistentVolumeClaim',
) {
  const { placement: _, ...rest } = makeBinding().spec
  const resource = { apiVersion: 'v1', kind, namespace: 'default', name: 'disk' }
  const requiredBy = [{ ...referrer, clusters: [{ name: 'member1' }] }]
  const made = makeBinding({}, { name: `disk-${kind.toLowerCase()}`, labels })
  return { ...made, spec: { ...rest, resource, requiredBy, ...spec } }
}

test.each<{ name: string; other: ReturnType<typeof attached>; of?: typeof binding; want: string[] | undefined }>([
  { name: 'a PersistentVolumeClaim that Lodestone attached', other: attached(), want: ['disk'] },
  {
    name: 'one that Karmada attached',
    other: attached({}, { [karmadaDependedByLabel(referrer)]: 'id' }),
    want: ['disk'],
  },
  { name: 'no ConfigMap', other: attached({}, ours, 'ConfigMap'), want: undefined },
  {
    name: 'none of another workload',
    other: attached({}, { [dependedByLabel({ name: 'x' })]: 'id' }),
    want: undefined,
  },
  {
    name: 'none that its own policy keeps there',
    other: attached({ placement: {}, clusters: [{ name: 'member1' }] }),
    want: undefined,
  },
  {
    name: 'one that its own policy has elsewhere',
    other: attached({ placement: {}, clusters: [{ name: 'member2' }] }),
    want: ['disk'],
  },
  { name: 'none that Karmada preserves', other: attached({ preserveResourcesOnDeletion: true }), want: undefined },
  {
    name: 'none without propagateDeps',
    other: attached(),
    of: makeBinding({ clusters: [{ name: 'member1', replicas: 2 }] }),
    want: undefined,
  },
  {
    name: 'none of another namespace, with labels of this workload',
    other: { ...attached(), metadata: { ...attached().metadata, namespace: 'tenant' } },
    want: undefined,
  },
])('a workload with a claim of data takes along $name', async ({ other, of = binding, want }) => {
  const store = await storeOf([of, other, makeClaim(), makeSource()])
  expect(gatherBindingInput(of, of, { ...DEFAULT_DECISIONS, store, now: NOW }).volumeClaims).toEqual(want)
})

test('a StatefulSet with a claim of data has templates of PersistentVolumeClaims', async () => {
  const workload = { apiVersion: 'apps/v1', kind: 'StatefulSet', namespace: 'default', name: 'app' }
  const spec = { volumeClaimTemplates: [{ metadata: { name: 'data' } }] }
  const set = makeObject('apps/v1', 'StatefulSet', 'app', { metadata: { name: 'app', namespace: 'default' }, spec })
  const of = makeBinding({ resource: workload, clusters: [{ name: 'member1' }] })
  const inputIn = async (...objects: K8sObject[]) =>
    gatherBindingInput(of, of, { ...DEFAULT_DECISIONS, store: await storeOf(objects), now: NOW })

  const withClaim = await inputIn(of, set, makeClaim({ workload }), makeSource())
  expect(withClaim).toMatchObject({ claimTemplates: ['data'] })
  expect(withClaim).not.toHaveProperty('isWorkloadUnread')
  expect(await inputIn(of, set)).not.toHaveProperty('claimTemplates')
})

test.each([
  { kind: 'StatefulSet', isUnread: true },
  { kind: 'Deployment', isUnread: undefined },
])('a $kind with a claim that is not cached may have templates of volumes: $isUnread', async ({ kind, isUnread }) => {
  const workload = { apiVersion: 'apps/v1', kind, namespace: 'default', name: 'app' }
  const of = makeBinding({ resource: workload, clusters: [{ name: 'member1' }] })
  const store = await storeOf([of, makeClaim({ workload }), makeSource()])
  const context = { ...DEFAULT_DECISIONS, store, now: NOW }
  expect(gatherBindingInput(of, of, context).isWorkloadUnread).toBe(isUnread)
  expect(gatherBindingInput(of, of, context, { claimTemplates: ['data'] }).isWorkloadUnread).toBeUndefined()
})

test('a workload without a claim of data is not asked', async () => {
  const store = await storeOf([binding, attached()])
  expect(gatherBindingInput(binding, binding, { ...DEFAULT_DECISIONS, store, now: NOW }).volumeClaims).toBeUndefined()
})

test.each([
  { name: 'detached', before: attached(), after: attached({ requiredBy: [] }), want: ['default/app-deployment'] },
  { name: 'deleted', before: attached(), after: undefined, want: ['default/app-deployment'] },
  { name: 'attached still', before: attached(), after: attached({ preserveResourcesOnDeletion: true }), want: [] },
  { name: 'new', before: undefined, after: attached(), want: [] },
  {
    name: 'no PersistentVolumeClaim',
    before: attached({}, ours, 'ConfigMap'),
    after: undefined,
    want: [],
  },
])('a workload is decided again for a PersistentVolumeClaim that is $name: $want', ({ before, after, want }) => {
  expect(detachedFrom(before, after)).toEqual(want)
})
