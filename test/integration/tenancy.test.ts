/** The loops and claims of other namespaces: without a grant they change nothing, a grant makes them count, and its end restores. */
import { beforeEach, describe, expect, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import {
  clusterResourceBindings,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { ALLOW_CLAIMS_FROM_ANNOTATION } from '../../src/api/lodestone.ts'
import { namespaces } from '../../src/api/namespace.ts'
import type { ClusterScopedClaims } from '../../src/core/data-source-claim/permission.ts'
import { DEFAULT_TIMING } from '../../src/core/resource-binding/timing.ts'
import type { Systems } from '../../src/locality/locality.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import { makeBinding, makeClaim, makeForeignClaim, makeNamespace, makePolicy, OWNED } from '../builders.ts'
import { storeOf } from '../stores.ts'
import { runLoops } from './controller.ts'
import { makeLake } from './lake.ts'

let store: FolderStore
/** The names of the data that the system was asked for. */
let asked: string[]

const lake = makeLake(async ({ name }) => {
  asked.push(name)
  return { kind: 'located', location: 's3://lake', clusters: ['member2'] }
})
const systems: Systems = { get: () => lake, subscribe: () => () => undefined }

beforeEach(async () => {
  store = await storeOf([makeNamespace('default'), makePolicy()])
  asked = []
  systems.get = () => lake
})

function start(clusterScopedClaims?: ClusterScopedClaims) {
  const loops = openLoops({ propagate: 'dataBound', distribution: 'karmada' })
  const timing = { ...DEFAULT_TIMING, releaseDelayMs: 0 }
  return runLoops({ store, loops, systems, timing, ...(clusterScopedClaims && { clusterScopedClaims }) })
}

const allow = (names: string | null) =>
  store.patch(namespaces, { name: 'default' }, { metadata: { annotations: { [ALLOW_CLAIMS_FROM_ANNOTATION]: names } } })
const readBinding = () => store.read<ResourceBinding>(resourceBindings, 'default', 'app-deployment')
const affinity = async () => (await readBinding())?.spec.placement?.clusterAffinity?.clusterNames
const suspension = async () => (await readBinding())?.spec.suspension
const propagates = async () =>
  (await store.read<PropagationPolicy>(propagationPolicies, 'default', 'app'))?.spec.propagateDeps
const reasonOf = async (namespace: string) => {
  const claim = await store.read<DataSourceClaim>(dataSourceClaims, namespace, 'sales')
  return claim?.status?.conditions?.find(({ type }) => type === 'Resolved')?.reason
}
const everywhere = ['member1', 'member2', 'member3']

describe('a claim of another namespace', () => {
  test('changes nothing without a grant: no move, dependency or query, and says so', async () => {
    start()
    await store.create(resourceBindings, makeBinding())
    await store.create(dataSourceClaims, makeForeignClaim())

    await expect.poll(() => reasonOf('other')).toBe('NotPermitted')
    // Only the tenant's own claim has effects: the loop decided the other claim before.
    const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'own' }
    await store.create(resourceBindings, makeBinding({ resource }, { name: 'own-deployment' }))
    const own = { workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'own' }, dataSourceName: 'lake.own' }
    await store.create(dataSourceClaims, makeClaim(own))
    await expect.poll(() => reasonOf('default')).toBe('Located')

    expect(await readBinding()).toMatchObject(makeBinding())
    expect([await propagates(), asked, [...store.list(dataSources)].length]).toEqual([undefined, ['lake.own'], 1])
  })

  test('counts as soon as its namespace is listed, and no longer when it is not', async () => {
    start()
    await store.create(resourceBindings, makeBinding())
    await store.create(dataSourceClaims, makeForeignClaim())
    await expect.poll(() => reasonOf('other')).toBe('NotPermitted')

    await allow('team-a,other')

    await expect.poll(affinity).toEqual(['member2'])
    await expect.poll(propagates).toBe(true)
    await expect.poll(() => reasonOf('other')).toBe('Located')
    expect(asked).toEqual(['lake.shop.sales'])

    await allow('team-a')

    await expect.poll(affinity).toEqual(everywhere)
    await expect.poll(() => reasonOf('other')).toBe('NotPermitted')
    await expect.poll(() => [...store.list(dataSources)][0]?.status?.boundClaims).toBe(0)
  })

  test('holds a workload only while it is permitted', async () => {
    systems.get = () => undefined
    await allow('other')
    start()
    await store.create(dataSourceClaims, makeForeignClaim())
    await store.create(resourceBindings, makeBinding())
    await expect.poll(suspension).toEqual({ scheduling: true })

    await allow(null)

    await expect.poll(suspension).toBeUndefined()
  })

  test('that is not permitted any more takes no running workload away from where it is', async () => {
    await allow('*')
    start()
    await store.create(dataSourceClaims, makeForeignClaim())
    await store.create(resourceBindings, makeBinding({ clusters: [{ name: 'member2', replicas: 2 }] }, OWNED))
    await expect.poll(affinity).toEqual(['member2'])

    await store.delete(namespaces, store.get(namespaces, undefined, 'default') ?? makeNamespace('default'))

    await expect.poll(affinity).toEqual(everywhere)
    expect((await readBinding())?.spec.clusters).toEqual([{ name: 'member2', replicas: 2 }])
  })

  test('can be deleted although it was never permitted', async () => {
    start()
    const made = await store.create(dataSourceClaims, makeForeignClaim())
    await expect.poll(() => reasonOf('other')).toBe('NotPermitted')

    const now = await store.read<DataSourceClaim>(dataSourceClaims, 'other', 'sales')
    await store.delete(dataSourceClaims, now ?? made)

    await expect.poll(() => store.read(dataSourceClaims, 'other', 'sales')).toBeUndefined()
  })
})

describe('a claim for a cluster-scoped workload', () => {
  const resource = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'archive' }
  const binding = { ...makeBinding({ resource }), kind: 'ClusterResourceBinding', metadata: { name: 'archive' } }
  const clusters = async () =>
    (await store.read<ResourceBinding>(clusterResourceBindings, undefined, 'archive'))?.spec.placement?.clusterAffinity
      ?.clusterNames

  test('changes nothing by default, as its status says, also before the workload exists', async () => {
    start()
    await store.create(dataSourceClaims, makeClaim({ workload: resource }))
    await expect.poll(() => reasonOf('default')).toBe('Located')

    await store.create(clusterResourceBindings, binding)

    await expect.poll(() => reasonOf('default')).toBe('NotPermitted')
    expect(await clusters()).toEqual(everywhere)
  })

  test('counts where the configuration allows it', async () => {
    start('allowed')
    await store.create(dataSourceClaims, makeClaim({ workload: resource }))
    await store.create(clusterResourceBindings, binding)

    await expect.poll(clusters).toEqual(['member2'])
    await expect.poll(() => reasonOf('default')).toBe('Located')
  })
})
