/** The production decision on the bindings of snapshots: plain and anonymous ones decide as the store that they came from. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import {
  bindingTypes,
  CLUSTER_BINDING_ID_LABEL,
  clusterResourceBindings,
  clusters,
  type Placement,
  propagationPolicies,
  resourceBindings,
} from '../../src/api/karmada.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import type { Workload } from '../../src/core/dependencies/workload.ts'
import { newestRules } from '../../src/core/karmada-rules.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { attachedTo, labeledClusterBindings } from '../../src/queries/attached.ts'
import { gatherBindingInput } from '../../src/queries/binding.ts'
import type { IndexFunctions } from '../../src/store/cache/object-table.ts'
import { nameOfSource } from '../../src/store/kinds/query-key.ts'
import { anonymizer } from '../../src/store/snapshot/anonymous.ts'
import { snapshotKinds } from '../../src/store/snapshot/snapshot-kinds.ts'
import type { ObjectStore } from '../../src/store/store.ts'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makeCluster, makeObject, makePolicy, NOW } from '../builders.ts'
import { Fleet } from '../fleet/fleet.ts'
import { storeOf, written } from '../fleet/fleet-files.ts'

const SIZE = { clusters: 25, sources: 80, bindings: 400 }
const kinds = snapshotKinds(SHIPPED_KINDS)

describe.each([1, 2, 3])('a generated hub, seed %i', (seed) => {
  test('decisions on a snapshot, and on an anonymous one, are those of the store', async () => {
    const from = await storeOf(new Fleet(seed, SIZE))
    await addDuplicates(from)
    const plain = (await written({ store: from })).store
    const { store: anonymous } = await written({ store: from, change: anonymizer(from) })

    const decided = decisions(from)
    expect(new Set(decided.map(({ state }) => state)).size).toBeGreaterThan(3)
    expect(decisions(plain)).toEqual(decided)
    expect(decisions(anonymous).map(withoutMessages)).toEqual(decided.map(withoutMessages))
    expect(attachments(from).some((count) => count > 0)).toBe(true)
    expect(attachments(anonymous)).toEqual(attachments(from))
    expect(bucketSizes(anonymous)).toEqual(bucketSizes(from))
    expect(generatedNames(anonymous)).toEqual(generatedNames(from))
  })

  test('an anonymous snapshot has no name of a tenant', async () => {
    const fleet = new Fleet(seed, SIZE)
    const store = await storeOf(fleet)
    const { file, store: anonymous } = await written({ store, change: anonymizer(store) })
    const content = gunzipSync(readFileSync(file)).toString()

    const names = tenantNames([...fleet.objects()].map(({ object }) => object))
    expect(names.size).toBeGreaterThan(1000)
    expect([...names].filter((name) => content.includes(name))).toEqual([])
    // Decisions read names, taints and APIs of clusters. A label that no placement selects is left out.
    const expected = [...fleet.clusters.values()].map(({ metadata, spec, status }) => ({
      name: metadata.name,
      spec,
      status,
    }))
    const found = [...anonymous.list(clusters)].map(({ metadata, spec, status }) => ({
      name: metadata.name,
      spec,
      status,
    }))
    expect(found).toMatchObject(expected)
    expect([...anonymous.list(clusters)].flatMap(({ metadata }) => Object.keys(metadata.labels ?? {}))).not.toContain(
      'cost-center',
    )
  })
})

test('an anonymous snapshot has no label of workloads by which a placement groups them', async () => {
  const store = await storeOf(new Fleet(1, { clusters: 3, sources: 1, bindings: 0 }))
  const grouped = { workloadAffinity: { affinity: { groupByLabelKey: 'tenant.example/group' } } } as Placement
  const annotations = { 'policy.karmada.io/applied-placement': JSON.stringify(grouped) }
  await store.create(propagationPolicies, makePolicy({ placement: grouped }))
  await store.create(resourceBindings, makeBinding({ placement: grouped }, { generation: 2, annotations }))
  const { file, store: anonymous } = await written({ store, change: anonymizer(store) })
  expect(gunzipSync(readFileSync(file)).toString()).not.toContain('tenant.example')
  const [policy] = anonymous.list(propagationPolicies)
  const [binding] = anonymous.list(resourceBindings)
  expect(binding?.spec.placement).toEqual(policy?.spec.placement)
  expect(JSON.parse(binding?.metadata.annotations?.['policy.karmada.io/applied-placement'] ?? '')).toEqual(
    policy?.spec.placement,
  )
})

test('an anonymous snapshot has no messages of clusters, and keeps what they serve', async () => {
  const store = await storeOf(new Fleet(1, { clusters: 3, sources: 1, bindings: 0 }))
  const message = 'APIs of-tenant cannot be read'
  const failed = { status: 'False' as const, reason: 'Partial', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const complete = { type: 'CompleteAPIEnablements', ...failed, message }
  await store.create(clusters, { ...makeCluster('other'), status: { conditions: [complete] } })
  const { file, store: anonymous } = await written({ store, change: anonymizer(store) })

  expect(gunzipSync(readFileSync(file)).toString()).not.toContain('of-tenant')
  const cluster = anonymous.get(clusters, undefined, 'other')
  expect(cluster?.status).toMatchObject({ conditions: [{ type: 'CompleteAPIEnablements', status: 'False' }] })
})

test('an anonymous snapshot has no names of the claim templates of a workload', async () => {
  const { type } = SHIPPED_KINDS.find('apps/v1', 'StatefulSet') ?? {}
  if (!type) throw new Error('StatefulSet is not in the table of kinds')
  const store = await storeOf(new Fleet(1, { clusters: 3, sources: 1, bindings: 0 }))
  const volumeClaimTemplates = ['disk-of-tenant', 'log-of-tenant'].map((name) => ({ metadata: { name } }))
  await store.create(type, makeObject('apps/v1', 'StatefulSet', 'app', { spec: { volumeClaimTemplates } }))
  const { file, store: anonymous } = await written({ store, change: anonymizer(store) })

  expect(gunzipSync(readFileSync(file)).toString()).not.toContain('of-tenant')
  const [workload] = anonymous.list(type as ResourceType<Workload>)
  expect(workload?.dependencies.claimTemplates).toHaveLength(2)
})

test('two anonymous snapshots have other pseudonyms', async () => {
  const store = await storeOf(new Fleet(1, { clusters: 3, sources: 3, bindings: 3 }))
  const names = async () => {
    const { store: anonymous } = await written({ store, change: anonymizer(store) })
    return [...anonymous.list(resourceBindings)].map(({ metadata }) => metadata.name)
  }
  const [one, other] = [await names(), await names()]
  expect(one.filter((name) => other.includes(name))).toEqual([])
})

test('annotations that users wrote are not copied', async () => {
  const store = await storeOf(new Fleet(1, { clusters: 3, sources: 3, bindings: 3 }))
  const secret = 'secret-of-a-tenant'
  const texts = [
    secret,
    `"${secret}"`,
    JSON.stringify({ message: secret }),
    JSON.stringify({ clusterAffinity: secret }),
  ]
  for (const [i, text] of texts.entries()) {
    const annotations = Object.fromEntries(
      ['base-affinity', 'locality', 'hold'].map((name) => [`lodestone.dev/${name}`, text] as const),
    )
    const binding = makeBinding({}, { name: `forged-${i}`, annotations })
    await store.create(resourceBindings, binding)
  }
  const { file } = await written({ store, change: anonymizer(store) })
  expect(gunzipSync(readFileSync(file)).toString()).not.toContain(secret)
})

/** Adds sources of the same queries with names of users, and a cluster-scoped binding. */
async function addDuplicates(store: ObjectStore): Promise<void> {
  const sources = [...store.list(dataSources)].slice(0, 30)
  for (const [i, { spec, ...source }] of sources.entries()) {
    for (const name of [`own-source-${i}`, `another-source-${i}`]) {
      const locality = { clusterNames: [name.startsWith('own') ? 'm1' : 'm2'] }
      await store.create(dataSources, { ...source, metadata: { name }, spec: { ...spec, locality } } as DataSource)
    }
    const generated = await store.read(dataSources, undefined, source.metadata.name ?? '')
    if (i % 2 === 0 && generated) await store.delete(dataSources, generated)
  }
  const resource = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'role-of-tenant' }
  const metadata = {
    name: 'role-of-tenant-clusterrole',
    namespace: '',
    labels: { [CLUSTER_BINDING_ID_LABEL]: 'id-of-role' },
  }
  await store.create(clusterResourceBindings, {
    ...makeBinding({ resource }, metadata),
    kind: 'ClusterResourceBinding',
  })
  await store.create(
    resourceBindings,
    makeBinding(
      { requiredBy: [{ name: metadata.name }] },
      {
        name: 'attached-secret',
        labels: { 'lodestone.dev/depended-by-unknown': 'id-of-role' },
      },
    ),
  )
  await store.create(store.kinds().find(({ kind }) => kind === 'DataSourceClaim') as ResourceType, makeClaim())
}

function decisions(store: ObjectStore) {
  return bindingTypes.flatMap((type) =>
    [...store.list(type)].map((binding) => {
      const context = {
        ...DEFAULT_DECISIONS,
        store,
        now: NOW,
        karmadaRules: newestRules,
        clusterScopedClaims: 'allowed' as const,
      }
      const { state, message, binding: decided } = decideBinding(gatherBindingInput(binding, binding, context))
      const { placement, suspension } = decided.spec
      return { state, message, placement, suspension, changes: decided !== binding }
    }),
  )
}

/** An anonymous snapshot has no messages, so the loop would write each decision again. */
function withoutMessages({ state, placement, suspension }: ReturnType<typeof decisions>[number]) {
  return { state, placement, suspension }
}

function attachments(store: ObjectStore): number[] {
  return [...store.list(resourceBindings)].map(
    (binding) => attachedTo(binding, store).length + labeledClusterBindings(binding, store).length,
  )
}

/** Whether each source has the name that Lodestone generates for its query: claims prefer it. */
function generatedNames(store: ObjectStore): boolean[] {
  return [...store.list(dataSources)].map(({ metadata, spec }) => metadata.name === nameOfSource(spec))
}

/** How many objects each key of each index has, sorted. */
function bucketSizes(store: ObjectStore): Record<string, number[]> {
  return Object.fromEntries(
    kinds.flatMap(({ type, indexes }) =>
      Object.entries(indexes as IndexFunctions<K8sObject>).map(([index, keysOf]) => {
        const keys = new Set([...store.list(type)].flatMap(keysOf))
        const sizes = [...keys].map((key) => store.byIndex(type, index, key).length).sort((a, b) => a - b)
        return [`${type.kind} ${index}`, sizes]
      }),
    ),
  )
}

/** Every name, label, table and id of the objects, except for those of clusters. */
function tenantNames(objects: readonly K8sObject[]): Set<string> {
  const names = new Set<string>()
  const add = (value: unknown): void => {
    if (typeof value === 'string') {
      for (const word of value.match(
        /[a-z]+[-_][\w.-]*(prod|main|set|data-\d+|policy-\d+|orders_\d+)|\w+-of-[\w.-]+/g,
      ) ?? [])
        names.add(word)
    } else if (typeof value === 'object' && value !== null)
      Object.entries(value).forEach(([key, member]) => {
        add(key)
        add(member)
      })
  }
  for (const object of objects) if (object.kind !== clusters.kind) add(object)
  for (const { metadata, kind } of objects) {
    if (kind !== clusters.kind) for (const name of [metadata.name, metadata.namespace]) if (name) names.add(name)
  }
  return names
}
