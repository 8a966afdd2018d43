import { expect, test } from 'vitest'
import { makeBinding, makeClaim, makeCluster, makePolicy, makeSource } from '../../test/builders.ts'
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { type Cluster, clusters, propagationPolicies, resourceBindings } from '../api/karmada.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { workloadKey } from '../core/data-source-claim/keys.ts'
import { openFolderStore } from './folder/folder.ts'
import { cachedKinds } from './kinds/cached-kinds.ts'
import { OverlayStore } from './overlay-store.ts'
import type { ObjectStore } from './store.ts'

const WORKLOAD = workloadKey({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' })

/** An overlay on a store with one claim and three clusters. */
async function openOverlay() {
  const base = openFolderStore({ kinds: cachedKinds })
  await base.start(new AbortController().signal)
  await base.create(dataSourceClaims, makeClaim())
  for (const name of ['m1', 'm2', 'm3']) await base.create(clusters, makeCluster(name))
  return { base, overlay: new OverlayStore(base, cachedKinds) }
}

const namesIn = (objects: Iterable<K8sObject>) => [...objects].map(({ metadata }) => metadata.name).sort()

test('an overlay without changes reads as its base', async () => {
  const { base, overlay } = await openOverlay()
  for (const type of base.kinds()) {
    expect([...overlay.list(type as ResourceType)]).toEqual([...base.list(type)])
    expect(overlay.size(type)).toBe(base.size(type))
  }
  expect(overlay.get(clusters, undefined, 'm1')).toBe(base.get(clusters, undefined, 'm1'))
  expect(await overlay.read(clusters, undefined, 'm1')).toEqual(await base.read(clusters, undefined, 'm1'))
})

test('every read sees new, replaced and removed objects, and the base stays the same', async () => {
  const { base, overlay } = await openOverlay()
  const taints = [{ key: 'broken', effect: 'NoExecute' as const }]
  expect(overlay.put(clusters, makeCluster('m4')).before).toBeUndefined()
  const replaced = overlay.put(clusters, makeCluster('m1', { taints }))
  expect(replaced.before).toBe(base.get(clusters, undefined, 'm1'))
  expect(overlay.remove(clusters, undefined, 'm2')?.before).toBe(base.get(clusters, undefined, 'm2'))
  expect(overlay.remove(clusters, undefined, 'm9')).toBeUndefined()

  expect(namesIn(overlay.list(clusters))).toEqual(['m1', 'm3', 'm4'])
  expect(overlay.size(clusters)).toBe(3)
  expect(overlay.get(clusters, undefined, 'm1')?.spec.taints).toEqual(taints)
  expect(overlay.get(clusters, undefined, 'm2')).toBeUndefined()
  expect(await overlay.read(clusters, undefined, 'm2')).toBeUndefined()
  expect(namesIn(base.list(clusters))).toEqual(['m1', 'm2', 'm3'])
})

test('indexes find changed objects by their new keys only', async () => {
  const { overlay } = await openOverlay()
  expect(overlay.byIndex(dataSourceClaims, 'workload', WORKLOAD)).toHaveLength(1)
  const other = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' }
  overlay.put(dataSourceClaims, makeClaim({ workload: other }))
  expect(overlay.byIndex(dataSourceClaims, 'workload', WORKLOAD)).toEqual([])
  overlay.put(dataSourceClaims, makeClaim({}, { name: 'second' }))
  expect(namesIn(overlay.byIndex(dataSourceClaims, 'workload', WORKLOAD))).toEqual(['second'])
})

test('a second change of an object counts, also if it has the same version', async () => {
  const { base, overlay } = await openOverlay()
  const cluster = base.get(clusters, undefined, 'm1') as Cluster
  expect(cluster.metadata.resourceVersion).toBeDefined()
  const withTaint = (key: string) => ({ ...cluster, spec: { taints: [{ key, effect: 'NoExecute' as const }] } })
  overlay.put(clusters, withTaint('first'))
  const change = overlay.put(clusters, withTaint('second'))
  expect(overlay.get(clusters, undefined, 'm1')?.spec.taints?.map(({ key }) => key)).toEqual(['second'])
  expect(change.after).toBe(overlay.get(clusters, undefined, 'm1'))
})

test('an object that was put and removed is gone', async () => {
  const { overlay } = await openOverlay()
  overlay.put(dataSources, makeSource())
  overlay.put(dataSources, makeSource({ locality: { clusterNames: ['m3'] } }))
  expect(overlay.remove(dataSources, undefined, 'amoro-table-lake.shop.sales')?.before).toMatchObject({
    spec: { locality: { clusterNames: ['m3'] } },
  })
  expect(overlay.size(dataSources)).toBe(0)
})

test('an overlay can lie on an overlay', async () => {
  const { overlay } = await openOverlay()
  overlay.put(resourceBindings, makeBinding())
  const upper = new OverlayStore(overlay, cachedKinds)
  upper.remove(resourceBindings, 'default', 'app-deployment')
  upper.put(propagationPolicies, makePolicy())
  expect([upper.size(resourceBindings), overlay.size(resourceBindings)]).toEqual([0, 1])
  expect([upper.size(propagationPolicies), overlay.size(propagationPolicies)]).toEqual([1, 0])
})

test('writes are rejected', async () => {
  const { overlay } = await openOverlay()
  const store: ObjectStore = overlay
  await expect(store.create(clusters, makeCluster('m5'))).rejects.toThrow('an overlay takes no writes')
  await expect(store.delete(clusters, makeCluster('m1'))).rejects.toThrow('an overlay takes no writes')
})

test('a long list of an index has the later changes too', async () => {
  const { base, overlay } = await openOverlay()
  const claims = Array.from({ length: 100 }, (_, i) => makeClaim({}, { name: `claim-${i}` }))
  for (const claim of claims) await base.create(dataSourceClaims, claim)
  const read = () => overlay.byIndex(dataSourceClaims, 'workload', WORKLOAD).length
  overlay.put(dataSourceClaims, makeClaim({}, { name: 'new' }))
  expect([read(), read()]).toEqual([102, 102])
  overlay.remove(dataSourceClaims, 'default', 'claim-7')
  expect(read()).toBe(101)
})
