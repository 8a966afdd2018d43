import { describe, expect, test } from 'vitest'
import {
  DEFAULT_DECISIONS,
  makeBinding,
  makeClaim,
  makeCluster,
  makePolicy,
  makeSource,
  NOW,
} from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { type BindingSpec, CLUSTER_POLICY_NAME_ANNOTATION, type ResourceBinding } from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import { HONOR_MS } from '../core/data-source-claim/honored.ts'
import { openTransferMatrix } from '../core/transfer-cost/matrix.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { bindingPolicy, gatherBindingInput } from '../queries/binding.ts'
import { claimSource } from '../queries/source.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { NotSyncedError } from '../store/store.ts'
import { defaultSettings } from './context.fake.ts'
import { bindingWebhooks } from './resource-binding.ts'

async function gather(...objects: K8sObject[]) {
  return gatherBindingInput(makeBinding(), undefined, { ...DEFAULT_DECISIONS, store: await storeOf(objects), now: NOW })
}

describe('the claims for the decision on a binding', () => {
  test('are those with its workload', async () => {
    const other = makeClaim(
      { workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' } },
      { name: 'other' },
    )

    const { claims } = await gather(makeClaim(), other, makeSource())

    expect(claims).toMatchObject([{ claim: 'default/sales', answer: { kind: 'located', clusters: ['member2'] } }])
  })

  test('are those of its namespace', async () => {
    const { claims } = await gather(makeClaim({}, { namespace: 'elsewhere' }), makeSource())

    expect(claims).toEqual([])
  })

  test('include deleted claims for 5 s, since their workload may be deleted next', async () => {
    const leaving = (forMs: number) => ({
      deletionTimestamp: new Date(NOW - forMs).toISOString(),
      finalizers: ['example.org/hold'],
    })

    const during = await gather(makeClaim({}, leaving(HONOR_MS - 1000)), makeSource())
    const after = await gather(makeClaim({}, leaving(HONOR_MS)), makeSource())

    expect(during.claims).toMatchObject([{ claim: 'default/sales', honoredUntil: NOW + 1000 }])
    expect(after.claims).toEqual([])
  })

  test('are unknown, not nowhere, without a source', async () => {
    const { claims } = await gather(makeClaim())

    expect(claims).toMatchObject([{ answer: { kind: 'unknown' } }])
  })
})

describe('the source of a claim', () => {
  test('is the bound one', async () => {
    const bound = makeSource({ name: 'moved' }, { name: 'bound' })
    const claim = { ...makeClaim(), status: { boundDataSource: 'bound' } }

    expect(claimSource(claim, await storeOf([makeSource(), bound]))?.metadata.name).toBe('bound')
  })

  test('is no longer the bound one after the claim changed', async () => {
    const lastTransitionTime = '2026-01-01T00:00:00Z'
    const bound = { type: 'Bound', status: 'True' as const, reason: 'Located', message: 'm', lastTransitionTime }
    const status = { boundDataSource: 'bound', conditions: [{ ...bound, observedGeneration: 1 }] }
    const claim = (generation: number) => ({ ...makeClaim({}, { generation }), status })
    const store = await storeOf([makeSource(), makeSource({ name: 'moved' }, { name: 'bound' })])
    expect(claimSource(claim(1), store)?.metadata.name).toBe('bound')
    expect(claimSource(claim(2), store)?.metadata.name).toBe('amoro-table-lake.shop.sales')
  })

  test.each([
    { name: 'if it is bound to none', status: undefined },
    { name: 'if its bound source was deleted', status: { boundDataSource: 'gone' } },
  ])('is the one with the same query, $name', async ({ status }) => {
    const claim = { ...makeClaim(), ...defined({ status }) }

    expect(claimSource(claim, await storeOf([makeSource()]))?.metadata.name).toBe('amoro-table-lake.shop.sales')
  })
})

describe('the policy of a binding', () => {
  const clusterPolicy = { ...makePolicy(), kind: 'ClusterPropagationPolicy', metadata: { name: 'all' } }

  test('is the one in its annotations', async () => {
    expect(bindingPolicy(makeBinding(), await storeOf([makePolicy()]))?.metadata.name).toBe('app')
  })

  test('is a cluster-scoped one if its annotations name one', async () => {
    const binding = makeBinding()
    binding.metadata.annotations = { [CLUSTER_POLICY_NAME_ANNOTATION]: 'all' }

    expect(bindingPolicy(binding, await storeOf([makePolicy(), clusterPolicy]))?.kind).toBe('ClusterPropagationPolicy')
  })

  test('is undefined without these annotations, and if the policy was deleted', async () => {
    const store = await storeOf([clusterPolicy])

    expect(bindingPolicy(makeBinding(), store)).toBeUndefined()
    expect(bindingPolicy({ ...makeBinding(), metadata: { name: 'app-deployment' } }, store)).toBeUndefined()
  })
})

describe('the clusters', () => {
  test('can be looked up if Cluster objects exist', async () => {
    const { clusters } = await gather(makeCluster('member1'))

    expect(clusters?.('member1')?.metadata.name).toBe('member1')
    expect(clusters?.('member9')).toBeUndefined()
  })

  test('are undefined if no Cluster objects exist', async () => {
    expect((await gather()).clusters).toBeUndefined()
  })
})

test('from a store that is not synced, NotSyncedError is thrown', () => {
  const store = openFolderStore({ kinds: cachedKinds })

  expect(() => gatherBindingInput(makeBinding(), undefined, { ...DEFAULT_DECISIONS, store, now: NOW })).toThrow(
    NotSyncedError,
  )
})

describe('a claim that prefers clusters by cost', () => {
  const places = [
    makeCluster('member1', { region: 'far' }),
    makeCluster('member2', { region: 'home' }),
    makeCluster('member3', { region: 'near' }),
  ]
  const matrix = openTransferMatrix({
    links: [
      { from: { region: 'home' }, to: { region: 'far' }, pricePerGiB: 0.09 },
      { from: { region: 'home' }, to: { region: 'near' }, pricePerGiB: 0.01 },
    ],
  })
  const objects = [
    ...places,
    makeClaim({ policy: { enforcement: 'Preferred', preference: 'Cost' } }),
    makeSource({ locality: { clusterNames: ['member2'], bytes: 1024 ** 3 } }),
  ]
  const divided = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const clusterNames = ['member1', 'member2', 'member3']
  const [webhook] = bindingWebhooks(SHIPPED_KINDS)

  async function groupsOf(spec: Partial<BindingSpec>, prices: typeof matrix) {
    const object = makeBinding({ placement: { clusterAffinity: { clusterNames }, ...divided }, ...spec })
    const context = { ...defaultSettings, now: NOW, matrix: prices }
    const request = { uid: '1', operation: 'CREATE', kind: { group: 'work.karmada.io', version: 'v1alpha2' }, object }
    const outcome = webhook?.review(request as never, { ...context, store: await storeOf(objects) })
    const patched = outcome?.kind === 'patch' ? (outcome.object as ResourceBinding) : undefined
    return patched?.spec.placement?.clusterAffinities?.map((group) => group.clusterNames)
  }

  test('gets a group for each cost, the cheapest first', async () => {
    expect(await groupsOf({}, matrix)).toEqual([['member2'], ['member3'], ['member1'], clusterNames])
  })

  test('gets the clusters with the data first without prices', async () => {
    expect(await groupsOf({}, undefined)).toEqual([['member2'], clusterNames])
  })

  test('leaves replicas where they run in several clusters, also if one lacks the data', async () => {
    expect(
      await groupsOf(
        {
          clusters: [
            { name: 'member2', replicas: 1 },
            { name: 'member3', replicas: 1 },
          ],
        },
        matrix,
      ),
    ).toBeUndefined()
  })
})

describe('the failback window of the configuration', () => {
  const affinity = { clusterAffinity: { clusterNames: ['member1', 'member2'] } }
  const locality = { state: 'Relaxed', message: 'm', claims: ['default/sales'], required: ['member2'] }
  const narrowed = { clusterAffinity: { clusterNames: ['member2'] } }
  const annotations = (changes: object) => ({
    'lodestone.dev/base-affinity': JSON.stringify(affinity),
    'lodestone.dev/locality': JSON.stringify({ ...locality, ...changes }),
  })
  /** The scheduler has refused the cluster with the data, and every other one since. */
  const stored: ResourceBinding = {
    ...makeBinding(
      { placement: affinity },
      { annotations: annotations({ since: new Date(NOW - 60_000).toISOString() }) },
    ),
    status: {
      lastScheduledTime: '2026-01-01T00:00:00Z',
      conditions: [{ type: 'Scheduled', status: 'False', reason: 'NoClusterFit' }],
    },
  }
  const sent = {
    ...stored,
    ...makeBinding({ placement: narrowed }, { annotations: annotations({ state: 'Narrowed' }) }),
  }
  const [webhook] = bindingWebhooks(SHIPPED_KINDS)

  test.each([
    { failbackWindowMs: 60_000, want: narrowed },
    { failbackWindowMs: 61_000, want: affinity },
  ])('applies to the return that the loop writes: $failbackWindowMs ms', async ({ failbackWindowMs, want }) => {
    const store = await storeOf([makeCluster('member1'), makeCluster('member2'), makeClaim(), makeSource()])
    const timing = { failbackWindowMs, releaseDelayMs: 0 }
    const context = { ...defaultSettings, store, now: NOW, timing }
    const kind = { group: 'work.karmada.io', version: 'v1alpha2' }
    const request = { uid: '1', operation: 'UPDATE', kind, object: sent, oldObject: stored }
    const outcome = webhook?.review(request as never, context)
    const answered = outcome?.kind === 'patch' ? (outcome.object as ResourceBinding) : sent
    expect(answered.spec.placement).toEqual(want)
  })
})
