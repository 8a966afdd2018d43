/** What the hub knows while hostile bodies arrive: data in 2,500 clusters, claims beside those of the workload, volumes. */
import { dataSources } from '../src/api/data-source.ts'
import { dataSourceClaims } from '../src/api/data-source-claim.ts'
import { clusters, propagationPolicies } from '../src/api/karmada.ts'
import { volumeManagers } from '../src/api/volume-manager.ts'
import { type FolderStore, openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import { makeClaim, makeCluster, makePolicy, makeSource, makeVolumeManager, nodesWith } from '../test/builders.ts'

const CLUSTERS = 2500
const OTHER_CLAIMS = 2000
const VOLUMES = 60

/** Opens a store in memory with all of it. The VolumeManager is `default/sales`, its volumes are `v0`, `v1` and so on. */
export async function openHostileStore(): Promise<FolderStore> {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const names = Array.from({ length: CLUSTERS }, (_, i) => `c${i}`)
  for (const [i, name] of names.entries()) {
    await store.create(clusters, makeCluster(name, { region: `region-${i % 7}` }, { zone: `zone-${i % 50}` }))
  }
  await store.create(propagationPolicies, makePolicy())
  await store.create(dataSources, makeSource({ locality: { clusterNames: names } }))
  await store.create(dataSourceClaims, makeClaim())
  await store.create(dataSourceClaims, makeClaim({ policy: { enforcement: 'Preferred' } }, { name: 'preferred' }))
  for (let i = 0; i < OTHER_CLAIMS; i++) {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: `other-${i}` }
    await store.create(dataSourceClaims, makeClaim({ workload }, { name: `other-${i}` }))
  }
  await store.create(
    volumeManagers,
    makeVolumeManager(
      Array.from({ length: VOLUMES }, (_, i) => ({
        id: `v${i}`,
        nodeAffinity: nodesWith(...Array.from({ length: 50 }, (_, n) => `node-${n}`)),
      })),
    ),
  )
  return store
}
