/** The cache of a hub while hostile bodies arrive: data in 2,500 clusters, claims of other workloads, volumes. */
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { clusters, propagationPolicies } from '../../src/api/karmada.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { type FolderStore, openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { makeClaim, makeCluster, makePolicy, makeSource, makeVolumeManager, nodesWith } from '../../test/builders.ts'
import { clusterNames, range } from '../hostile-bodies.ts'

/**
 * Opens a store in memory. The VolumeManager is `default/sales`, with the volumes `v0` to `v59`.
 *
 * @param place a hub has clusters; in a member, admission injects volumes
 */
export async function openHostileStore(place: 'hub' | 'member'): Promise<FolderStore> {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const names = clusterNames(2500)
  for (const [i, name] of place === 'hub' ? names.entries() : []) {
    await store.create(clusters, makeCluster(name, { region: `region-${i % 7}` }, { zone: `zone-${i % 50}` }))
  }
  await store.create(propagationPolicies, makePolicy())
  await store.create(dataSources, makeSource({ locality: { clusterNames: names } }))
  await store.create(dataSourceClaims, makeClaim())
  await store.create(dataSourceClaims, makeClaim({ policy: { enforcement: 'Preferred' } }, { name: 'preferred' }))
  for (const i of range(2000)) {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: `other-${i}` }
    await store.create(dataSourceClaims, makeClaim({ workload }, { name: `other-${i}` }))
  }
  const nodeAffinity = nodesWith(...range(50).map((node) => `node-${node}`))
  await store.create(volumeManagers, makeVolumeManager(range(60).map((i) => ({ id: `v${i}`, nodeAffinity }))))
  return store
}
