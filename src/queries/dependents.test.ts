import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makeCluster, makeDeployment, makeObject } from '../../test/builders.ts'
import { storeOf, typeOf } from '../../test/stores.ts'
import type { ResourceBinding } from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import { dependencyKey } from '../core/dependencies/keys.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { NotSyncedError, type ObjectStore } from '../store/store.ts'
import { bindingsNeeding, dependentsOf, interpretObject, isStoredWorkload, workloadOfBinding } from './dependents.ts'

/** Few names and labels, so that most generated objects are related. */
const name = fc.constantFrom('a', 'b', 'c')
const labels = fc.dictionary(fc.constantFrom('app', 'tier'), name, { minKeys: 1, maxKeys: 2 })

const pods = fc
  .record({ labels, config: name, secret: name, account: name, volumes: fc.option(name) })
  .map(({ labels, config, secret, account, volumes }) => ({
    metadata: defined({
      labels,
      annotations: volumes ? { 'lodestone.dev/volumes': `{"name":"${volumes}"}` } : undefined,
    }),
    spec: {
      serviceAccountName: account,
      imagePullSecrets: [{ name: secret }],
      containers: [{ name: 'main', envFrom: [{ configMapRef: { name: config } }] }],
    },
  }))

const fleet = fc
  .record({
    workloads: fc.array(pods, { minLength: 1, maxLength: 3 }),
    services: fc.array(labels, { maxLength: 3 }),
    ingresses: fc.array(fc.record({ backend: name, secret: name }), { maxLength: 3 }),
    accounts: fc.array(name, { maxLength: 3 }),
    managers: fc.array(name, { maxLength: 2 }),
    claims: fc.boolean(),
  })
  .map(({ workloads, services, ingresses, accounts, managers, claims }) => {
    const names = ['a', 'b', 'c']
    return [
      ...workloads.map((template, i) => makeObject('apps/v1', 'Deployment', `app-${i}`, { spec: { template } })),
      ...workloads.map((_, i) => bindingOf(`app-${i}`)),
      ...services.map((selector, i) => makeObject('v1', 'Service', names[i] ?? '', { spec: { selector } })),
      ...ingresses.map(({ backend, secret }, i) =>
        makeObject('networking.k8s.io/v1', 'Ingress', names[i] ?? '', {
          spec: { tls: [{ secretName: secret }], defaultBackend: { service: { name: backend } } },
        }),
      ),
      ...accounts.map((secret, i) =>
        makeObject('v1', 'ServiceAccount', names[i] ?? '', { imagePullSecrets: [{ name: secret }] }),
      ),
      ...managers.map((secret, i) =>
        makeObject('vck.intelai.org/v1alpha1', 'VolumeManager', names[i] ?? '', {
          spec: { volumeConfigs: [{ options: { awsCredentialsSecretName: secret } }] },
        }),
      ),
      ...names.map((each) => makeObject('v1', 'ConfigMap', each)),
      ...names.map((each) => makeObject('v1', 'Secret', each)),
      ...(claims
        ? [makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app-0' } }, { name: 'claim' })]
        : []),
      {
        ...makeCluster('member1'),
        status: {
          apiEnablements: [
            { groupVersion: 'vck.intelai.org/v1alpha1', resources: [{ kind: 'VolumeManager' }] },
            { groupVersion: 'datadependency.volcano.sh/v1alpha1', resources: [{ kind: 'DataSourceClaim' }] },
          ],
        },
      },
    ]
  })

function bindingOf(workload: string): ResourceBinding {
  const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: workload }
  return makeBinding(
    { resource, propagateDeps: true, clusters: [{ name: 'member1' }] },
    { name: `${workload}-deployment` },
  )
}

test('the index finds the same bindings for an object as a search of all objects', async () => {
  await fc.assert(
    fc.asyncProperty(fleet, async (objects) => {
      const store = await storeOf(objects)
      const bindings = objects.filter(({ kind }) => kind === 'ResourceBinding') as ResourceBinding[]
      const needs = new Map(
        bindings.map(({ metadata, spec }) => {
          const workload = workloadOfBinding({ metadata, spec } as ResourceBinding, store)
          return [metadata.name, new Set((workload ? dependentsOf(workload, store) : []).map(dependencyKey))]
        }),
      )
      for (const each of objects) {
        const found = bindingsNeeding(heldOf(store, each), store).map(({ metadata }) => metadata.name)
        const expected = [...needs].flatMap(([binding, keys]) => (keys.has(dependencyKey(each)) ? [binding] : []))
        expect(found.sort(), dependencyKey(each)).toEqual(expected.sort())
      }
    }),
    { numRuns: 100 },
  )
})

/** The object as the store caches it, which the loops read. */
function heldOf(store: ObjectStore, { apiVersion, kind, metadata }: K8sObject): K8sObject {
  const held = store.get(typeOf(apiVersion, kind), metadata.namespace, metadata.name ?? '')
  if (!held) throw new Error(`${kind} ${metadata.name} is not held`)
  return held
}

describe('objects of a kind that no member serves', () => {
  test('are no dependencies, since they could not be applied', async () => {
    const store = await storeOf([
      makeObject('vck.intelai.org/v1alpha1', 'VolumeManager', 'data'),
      makeCluster('member1'),
    ])

    expect(interpretObject(makeDeployment({}, ['data']), store, SHIPPED_KINDS)).toEqual([])
  })
})

describe('an object in a request', () => {
  const sent = (uid?: string) => {
    const deployment = makeDeployment()
    return { ...deployment, metadata: { ...deployment.metadata, ...defined({ uid: uid || undefined }) } }
  }

  test.each([
    { name: 'is the stored one if the uid is equal', stored: 'a', given: 'a', want: true },
    { name: 'is another one if the uid differs', stored: 'a', given: 'b', want: false },
    { name: 'is unknown without a uid', stored: 'a', given: undefined, want: false },
  ])('$name', async ({ stored, given, want }) => {
    const store = await storeOf([sent(stored)])

    expect(isStoredWorkload(sent(given), store)).toBe(want)
  })
})

test('with a store that is not synced, NotSyncedError is thrown', () => {
  const store = openFolderStore({ kinds: cachedKinds })

  expect(() => interpretObject(makeDeployment(), store, SHIPPED_KINDS)).toThrow(NotSyncedError)
})
