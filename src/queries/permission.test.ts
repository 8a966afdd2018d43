import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makeForeignClaim, makeNamespace } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { clusterResourceBindings } from '../api/karmada.ts'
import { namespaces } from '../api/namespace.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { NotSyncedError, type ObjectStore } from '../store/store.ts'
import { claimsFor, claimsRegranted, refusalOfClaim, workloadsFor } from './permission.ts'

const app = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
const namesFor = (store: ObjectStore) => claimsFor(app, store, undefined).map(({ metadata }) => metadata.namespace)

test('in a folder without Namespaces, claims of other namespaces are not permitted', async () => {
  expect(namesFor(await storeOf([makeClaim(), makeForeignClaim()]))).toEqual(['default'])
})

test('a claim that the Namespace allows is permitted', async () => {
  const store = await storeOf([makeClaim(), makeForeignClaim(), makeNamespace('default', 'other')])

  expect(namesFor(store).sort()).toEqual(['default', 'other'])
})

test('the cache has only the name and this annotation of Namespaces', async () => {
  const namespace = makeNamespace('default', 'team-a')
  Object.assign(namespace.metadata.annotations ?? {}, { 'openshift.io/description': 'x'.repeat(1000) })
  Object.assign(namespace.metadata, { labels: { team: 'a' }, managedFields: [{}] })
  const store = await storeOf([namespace, makeNamespace('plain')])

  expect([...store.list(namespaces)]).toEqual([
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'default',
        resourceVersion: expect.any(String),
        annotations: { 'lodestone.dev/allow-claims-from': 'team-a' },
      },
      claimGrant: { kind: 'listed', namespaces: new Set(['team-a']) },
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain', resourceVersion: expect.any(String) } },
  ])
})

describe('before the store is synced', () => {
  const unread = openFolderStore({ kinds: cachedKinds })

  test('the permission of a claim of another namespace throws NotSyncedError', () => {
    expect(() => refusalOfClaim(makeForeignClaim(), unread, undefined)).toThrow(NotSyncedError)
    expect(() => workloadsFor(makeForeignClaim(), unread, undefined)).toThrow(NotSyncedError)
  })

  test('a claim with its own namespace is permitted', () => {
    expect(refusalOfClaim(makeClaim({ workload: app }), unread, undefined)).toBeUndefined()
  })
})

describe('a claim without workload.namespace', () => {
  const { namespace: _none, ...resource } = app
  const clusterBinding = { ...makeBinding({ resource }), kind: clusterResourceBindings.kind, metadata: { name: 'app' } }

  test.each([
    { name: 'is not refused if no cluster-scoped workload with that name is known', objects: [], scope: undefined },
    {
      name: 'is refused if it names a cluster-scoped workload',
      objects: [clusterBinding],
      scope: undefined,
      refused: true,
    },
    {
      name: 'is not refused for a cluster-scoped workload if the configuration allows it',
      objects: [clusterBinding],
      scope: 'allowed',
    },
  ] as const)('$name', async ({ objects, scope, ...want }) => {
    const store = await storeOf([makeClaim(), ...objects])

    expect(refusalOfClaim(makeClaim(), store, scope) !== undefined).toBe('refused' in want)
  })
})

test.each([
  { name: 'a new Namespace with a grant', after: makeNamespace('default', 'other'), want: ['other'] },
  { name: 'a deleted Namespace with a grant', before: makeNamespace('default', 'other'), want: ['other'] },
  {
    name: 'a Namespace whose annotation changes',
    before: makeNamespace('default', 'a'),
    after: makeNamespace('default', 'b'),
    want: ['other'],
  },
  {
    name: 'a Namespace whose annotation stays',
    before: makeNamespace('default', 'a'),
    after: makeNamespace('default', 'a'),
    want: [],
  },
  { name: 'a Namespace without a grant', after: makeNamespace('default'), want: [] },
  { name: 'another Namespace', after: makeNamespace('shop', 'other'), want: [] },
])('$name concerns the claims of other namespaces for its workloads: $want', async ({ want, ...change }) => {
  const store = await storeOf([makeClaim(), makeForeignClaim()])
  const found = claimsRegranted({ type: namespaces, ...change }, store)

  expect(found.map(({ metadata }) => metadata.namespace)).toEqual(want)
})
