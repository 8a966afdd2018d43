/** Attached bindings on a store in memory: a workload's dependencies follow it, and are released with it. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  configMaps,
  endpointSlices,
  type Service,
  secrets,
  serviceAccounts,
  services,
} from '../../src/api/dependencies.ts'
import {
  BINDING_ID_LABEL,
  CLUSTER_BINDING_ID_LABEL,
  CLUSTER_POLICY_NAME_ANNOTATION,
  clusterPropagationPolicies,
  clusterResourceBindings,
  DEPENDENCIES_ANNOTATION,
  type PropagationPolicy,
  type ResourceBinding,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../src/api/lodestone.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { dependedByLabel, karmadaDependedByLabel } from '../../src/core/dependencies/names.ts'
import type { Distribution } from '../../src/core/dependencies/needs.ts'
import { buildWorkloadKinds } from '../../src/core/workload-kinds/kinds.ts'
import type { Controller } from '../../src/reconcile/controller.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import { makeBinding, makeObject } from '../builders.ts'
import { storeOf, typeOf } from '../stores.ts'
import { runLoops } from './controller.ts'

let store: FolderStore
let controller: Controller

beforeEach(async () => {
  store = await storeOf()
})

function start(distribution: Distribution | 'none' = 'builtin') {
  controller = runLoops({ store, loops: openLoops({ propagate: 'never', distribution }) })
}

const deployments = typeOf('apps/v1', 'Deployment')
const IMPORTS = 'multicluster.x-k8s.io/v1alpha1'
const ingresses = typeOf('networking.k8s.io/v1', 'Ingress')

function deployment(name = 'app', spec: Record<string, unknown> = {}): K8sObject {
  const envFrom = [{ configMapRef: { name: 'settings' } }]
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', envFrom }], ...spec } }
  return makeObject('apps/v1', 'Deployment', name, { spec: { template } })
}

const settings = makeObject('v1', 'ConfigMap', 'settings')
const on = (...names: string[]) => ({ propagateDeps: true, clusters: names.map((name) => ({ name, replicas: 2 })) })

function bindingOf(name = 'app', spec: Partial<ResourceBinding['spec']> = on('member2')): ResourceBinding {
  const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name }
  return makeBinding(
    { resource, ...spec },
    { name: `${name}-deployment`, labels: { [BINDING_ID_LABEL]: `${name}-id` } },
  )
}

async function place(spec = on('member2'), name = 'app') {
  await store.create(deployments, deployment(name))
  await store.create(resourceBindings, bindingOf(name, spec))
}

const name = (of: string) => ({ namespace: 'default', name: of })
const read = (name: string) => store.read<ResourceBinding>(resourceBindings, 'default', name)
const clustersOf = async (name: string) =>
  (await read(name))?.spec.requiredBy?.map((entry) => [entry.name, ...(entry.clusters ?? []).map((c) => c.name)])

async function edit(name: string, change: (binding: ResourceBinding) => void) {
  const binding = structuredClone(await read(name)) as ResourceBinding
  change(binding)
  await store.update(resourceBindings, binding)
}

describe('a dependency', () => {
  test.each([
    ['before the workload', ['dependency', 'workload', 'binding']],
    ['between workload and binding', ['workload', 'dependency', 'binding']],
    ['after everything', ['workload', 'binding', 'dependency']],
  ])('that is created %s follows it', async (_case, order) => {
    start()
    const steps: Record<string, () => Promise<unknown>> = {
      dependency: () => store.create(configMaps, settings),
      workload: () => store.create(deployments, deployment()),
      binding: () => store.create(resourceBindings, bindingOf()),
    }
    for (const step of order) await steps[step]?.()

    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member2']])
    expect((await read('app-deployment'))?.metadata.finalizers).toContain(DEPENDENCIES_FINALIZER)
  })

  test('moves with its workload', async () => {
    start()
    await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member2']])

    await edit('app-deployment', ({ spec }) => {
      spec.clusters = [{ name: 'member3', replicas: 2 }]
    })

    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member3']])
  })

  test('is put into members again when its content changes', async () => {
    start()
    const created = await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()

    const edited = await store.update(configMaps, { ...created, data: { key: 'other' } } as K8sObject)

    await expect
      .poll(async () => (await read('settings-configmap'))?.spec.resource.resourceVersion)
      .toBe(edited.metadata.resourceVersion)
  })

  test('that the workload no longer names is released', async () => {
    start()
    await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()

    const stored = (await store.read(deployments, 'default', 'app')) as K8sObject
    await store.update(deployments, {
      ...deployment('app', { containers: [] }),
      metadata: stored.metadata,
    })

    await expect.poll(() => clustersOf('settings-configmap')).toBeUndefined()
    await expect.poll(async () => (await read('app-deployment'))?.metadata.finalizers ?? []).toEqual([])
  })

  test('that two workloads share follows both, and stays with one when the other goes', async () => {
    start()
    await store.create(configMaps, settings)
    await place(on('member1'), 'one')
    await place(on('member2'), 'two')
    await expect.poll(async () => (await clustersOf('settings-configmap'))?.length).toBe(2)

    await store.delete(resourceBindings, (await read('one-deployment')) as ResourceBinding)

    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['two-deployment', 'member2']])
    await expect.poll(() => read('one-deployment')).toBeUndefined()
    expect((await read('settings-configmap'))?.metadata.labels).toEqual({
      [dependedByLabel({ namespace: 'default', name: 'two-deployment' })]: 'two-id',
    })
  })

  test('is released when its workload stops to propagate', async () => {
    start()
    await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()

    await edit('app-deployment', ({ spec }) => {
      delete spec.propagateDeps
    })

    await expect.poll(() => clustersOf('settings-configmap')).toBeUndefined()
    await expect.poll(async () => (await read('app-deployment'))?.metadata.finalizers ?? []).toEqual([])
  })

  test('stays while the workload itself is not there to be asked', async () => {
    start()
    await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member2']])

    await store.delete(deployments, (await store.read(deployments, 'default', 'app')) as K8sObject)
    await store.create(configMaps, makeObject('v1', 'ConfigMap', 'other'))
    await store.create(resourceBindings, bindingOf('other'))
    await store.create(deployments, { ...deployment('other') })

    await expect.poll(async () => (await clustersOf('settings-configmap'))?.length).toBe(2)
    expect(await clustersOf('settings-configmap')).toContainEqual(['app-deployment', 'member2'])
  })

  test('that was deleted and created again is attached when the old binding is collected', async () => {
    start()
    const first = await store.create(configMaps, settings)
    await place()
    await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()

    await store.delete(configMaps, first)
    const second = await store.create(configMaps, settings)
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
    await collect('settings-configmap')

    await expect
      .poll(async () => (await read('settings-configmap'))?.metadata.ownerReferences?.[0]?.uid)
      .toBe(second.metadata.uid)
  })

  test('that has a policy of its own keeps its placement and is joined', async () => {
    start()
    const own = makeBinding(
      {
        resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' },
        clusters: [{ name: 'member1' }],
        conflictResolution: 'Overwrite',
      },
      { name: 'settings-configmap' },
    )
    await store.create(configMaps, settings)
    await store.create(resourceBindings, own)
    await place()

    await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member2']])
    expect((await read('settings-configmap'))?.spec).toMatchObject({
      placement: own.spec.placement,
      clusters: own.spec.clusters,
      conflictResolution: 'Overwrite',
    })
  })
})

describe('an object that is needed by its labels', () => {
  const slice = (labels: Record<string, string>): K8sObject => ({
    ...makeObject('discovery.k8s.io/v1', 'EndpointSlice', 'slice'),
    metadata: { name: 'slice', namespace: 'default', labels },
  })
  const meant = { 'kubernetes.io/service-name': 'derived-web' }

  beforeEach(async () => {
    const resource = { apiVersion: IMPORTS, kind: 'ServiceImport', namespace: 'default', name: 'web' }
    await store.create(typeOf(IMPORTS, 'ServiceImport'), makeObject(IMPORTS, 'ServiceImport', 'web'))
    await store.create(resourceBindings, makeBinding({ ...on('member1'), resource }, { name: 'web-serviceimport' }))
  })

  test('follows, and is released when its labels change', async () => {
    start()
    const created = await store.create(endpointSlices, slice(meant))
    await expect.poll(() => clustersOf('slice-endpointslice')).toEqual([['web-serviceimport', 'member1']])

    await store.update(endpointSlices, { ...slice({ other: 'label' }), metadata: { ...created.metadata, labels: {} } })

    await expect.poll(() => clustersOf('slice-endpointslice')).toBeUndefined()
  })

  test('follows once its labels are those', async () => {
    start()
    const created = await store.create(endpointSlices, slice({}))

    await store.update(endpointSlices, { ...created, metadata: { ...created.metadata, labels: meant } })

    await expect.poll(() => clustersOf('slice-endpointslice')).toEqual([['web-serviceimport', 'member1']])
  })
})

test('a status that Karmada wrote back does not put a dependency into members again', async () => {
  start()
  await store.create(services, makeObject('v1', 'Service', 'web', { spec: { selector: { app: 'app' } } }))
  await place()
  await expect.poll(() => clustersOf('web-service')).toBeDefined()
  // The loop works in order: once this later object is attached, the loop has seen every earlier one.
  await store.create(configMaps, settings)
  await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()
  const before = await read('web-service')

  await store.patch(services, name('web'), { status: { loadBalancer: {} } }, { subresource: 'status' })
  await store.patch(configMaps, name('settings'), { data: { key: 'other' } })

  const { resourceVersion } = store.get(configMaps, 'default', 'settings')?.metadata ?? {}
  await expect.poll(async () => (await read('settings-configmap'))?.spec.resource.resourceVersion).toBe(resourceVersion)
  expect(await read('web-service')).toEqual(before)
})

describe('an object that goes with the pods without being named', () => {
  const service = makeObject('v1', 'Service', 'web', { spec: { selector: { app: 'app' } } })
  const ingress = makeObject('networking.k8s.io/v1', 'Ingress', 'front', {
    spec: { tls: [{ secretName: 'cert' }], defaultBackend: { service: { name: 'web' } } },
  })

  test('a Service, its Ingress and the Ingress’s Secret follow, also when they come last', async () => {
    start()
    await place()

    await store.create(services, service)
    await store.create(ingresses, ingress)
    await store.create(secrets, makeObject('v1', 'Secret', 'cert'))

    for (const name of ['web-service', 'front-ingress', 'cert-secret']) {
      await expect.poll(() => clustersOf(name), { message: name }).toEqual([['app-deployment', 'member2']])
    }
  })

  test('a Service that selects other pods now is released with its own dependencies', async () => {
    start()
    await place()
    const created = await store.create(services, service)
    await store.create(ingresses, ingress)
    await expect.poll(() => clustersOf('front-ingress')).toBeDefined()

    await store.update(services, {
      ...service,
      metadata: created.metadata,
      spec: { selector: { app: 'other' } },
    } as K8sObject)

    await expect.poll(() => clustersOf('web-service')).toBeUndefined()
    await expect.poll(() => clustersOf('front-ingress')).toBeUndefined()
  })

  test('the pull Secret of a ServiceAccount follows', async () => {
    start()
    await store.create(deployments, deployment('app', { serviceAccountName: 'runner' }))
    await store.create(resourceBindings, bindingOf())
    await store.create(secrets, makeObject('v1', 'Secret', 'registry'))
    await store.create(
      serviceAccounts,
      makeObject('v1', 'ServiceAccount', 'runner', { imagePullSecrets: [{ name: 'registry' }] }),
    )

    await expect.poll(() => clustersOf('registry-secret')).toEqual([['app-deployment', 'member2']])
  })
})

describe('a cluster-scoped workload', () => {
  const readVolume = () => store.read<ResourceBinding>(clusterResourceBindings, undefined, 'data-persistentvolume')
  const resource = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'data' }
  const policy = (propagateDeps?: boolean): PropagationPolicy => ({
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'volumes' },
    spec: { resourceSelectors: [resource], ...(propagateDeps !== undefined && { propagateDeps }) },
  })

  async function placeVolume(spec: Partial<ResourceBinding['spec']>): Promise<void> {
    await store.create(secrets, makeObject('v1', 'Secret', 'key'))
    await store.create(typeOf('v1', 'PersistentVolume'), {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'data' },
      spec: { csi: { nodePublishSecretRef: { name: 'key', namespace: 'default' } } },
    } as K8sObject)
    await store.create(clusterResourceBindings, {
      ...makeBinding({ ...spec, resource }),
      kind: 'ClusterResourceBinding',
      metadata: {
        name: 'data-persistentvolume',
        labels: { [CLUSTER_BINDING_ID_LABEL]: 'data-id' },
        annotations: { [CLUSTER_POLICY_NAME_ANNOTATION]: 'volumes' },
      },
    })
  }

  const readPolicy = async () =>
    (await store.read(clusterPropagationPolicies, undefined, 'volumes')) as PropagationPolicy

  async function editPolicy(propagateDeps?: boolean): Promise<void> {
    const { metadata } = await readPolicy()
    await store.update(clusterPropagationPolicies, { ...policy(propagateDeps), metadata })
  }

  test('has a Secret that follows it into its own namespace', async () => {
    start('karmada')
    await placeVolume(on('member1'))

    // Under its own name, since Karmada's distributor would not find the volume's binding.
    await expect.poll(() => clustersOf('key-secret')).toEqual([['key-secret', 'member1']])

    await expect.poll(async () => (await readVolume())?.metadata.finalizers).toEqual([DEPENDENCIES_FINALIZER])
    await store.delete(clusterResourceBindings, (await readVolume()) as ResourceBinding)

    await expect.poll(() => clustersOf('key-secret')).toBeUndefined()
    await expect.poll(readVolume).toBeUndefined()
  })

  test('has dependencies that follow as soon as its policy says so, before its binding', async () => {
    start('karmada')
    const { clusters = [] } = on('member1')
    await store.create(clusterPropagationPolicies, policy())
    await placeVolume({ clusters })

    await editPolicy(true)
    await expect.poll(() => clustersOf('key-secret')).toEqual([['key-secret', 'member1']])
    await expect.poll(async () => (await readVolume())?.metadata.finalizers).toEqual([DEPENDENCIES_FINALIZER])

    await editPolicy()
    await expect.poll(() => clustersOf('key-secret')).toBeUndefined()
    await expect.poll(async () => (await readVolume())?.metadata.finalizers ?? []).toEqual([])
  })

  test('has dependencies that are released as soon as its policy says so', async () => {
    await store.create(clusterPropagationPolicies, policy(true))
    start('karmada')
    await placeVolume(on('member1'))
    await expect.poll(() => clustersOf('key-secret')).toEqual([['key-secret', 'member1']])

    await editPolicy()

    await expect.poll(() => clustersOf('key-secret')).toBeUndefined()
  })

  test('keeps its dependencies when its policy is deleted', async () => {
    await store.create(clusterPropagationPolicies, policy(true))
    start('karmada')
    const { clusters = [] } = on('member1')
    await placeVolume({ clusters, propagateDeps: true })
    await expect.poll(() => clustersOf('key-secret')).toEqual([['key-secret', 'member1']])

    await store.delete(clusterPropagationPolicies, await readPolicy())
    const volume = structuredClone(await readVolume()) as ResourceBinding
    volume.spec.clusters = [{ name: 'member2' }]
    await store.update(clusterResourceBindings, volume)

    await expect.poll(() => clustersOf('key-secret')).toEqual([['key-secret', 'member2']])
  })
})

test('beside Karmada’s distributor only what it has not recorded is attached', async () => {
  start('karmada')
  await store.create(configMaps, settings)
  await store.create(services, makeObject('v1', 'Service', 'web', { spec: { selector: { app: 'app' } } }))
  await place()
  await edit('app-deployment', ({ metadata }) => {
    const known = [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' }]
    metadata.annotations = { 'resourcebinding.karmada.io/dependencies': JSON.stringify(known) }
  })

  await expect.poll(() => clustersOf('web-service')).toEqual([['app-deployment', 'member2']])
  expect(await read('settings-configmap')).toBeUndefined()
})

test('a move is left to Karmada for ten seconds, also if the clock is set back', async () => {
  let now = Date.parse('2026-11-20T12:00:00Z')
  controller = runLoops({ store, loops: openLoops({ propagate: 'never', distribution: 'karmada' }), now: () => now })
  let service = await store.create(
    services,
    makeObject('v1', 'Service', 'web', { spec: { selector: { app: 'app' } } }) as Service,
  )
  await place()
  await edit('app-deployment', ({ metadata }) => {
    metadata.annotations = { 'resourcebinding.karmada.io/dependencies': '[]' }
  })
  await expect.poll(() => clustersOf('web-service')).toEqual([['app-deployment', 'member2']])
  /** Changes the Service, and waits until the loop has written its version. */
  const runsAgain = async (externalName: string) => {
    service = await store.update(services, { ...service, spec: { ...service.spec, externalName } } as Service)
    const { resourceVersion } = service.metadata
    await expect.poll(async () => (await read('web-service'))?.spec.resource.resourceVersion).toBe(resourceVersion)
  }

  await edit('app-deployment', ({ spec }) => {
    spec.clusters = [{ name: 'member3', replicas: 2 }]
  })
  await runsAgain('one')
  now -= 3_600_000
  await runsAgain('two')
  expect(await clustersOf('web-service')).toEqual([['app-deployment', 'member2']])
  now += 10_000
  await runsAgain('three')

  expect(await clustersOf('web-service')).toEqual([['app-deployment', 'member3']])
})

describe('an object that each cluster creates for itself', () => {
  const ca = makeObject('v1', 'ConfigMap', 'kube-root-ca.crt')
  const needsCa = () =>
    deployment('app', {
      containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'settings' } }] }],
      volumes: [{ name: 'ca', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }],
    })
  const attachedCa = (label: string) => ({
    ...makeBinding(
      {
        resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'kube-root-ca.crt' },
        conflictResolution: 'Overwrite',
        requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }],
      },
      { name: 'kube-root-ca.crt-configmap', labels: { [label]: 'app-id' } },
    ),
  })

  test.each(['builtin', 'karmada'] as const)(
    'does not follow a workload that names it, with %s',
    async (distribution) => {
      start(distribution)
      for (const object of [ca, settings]) await store.create(configMaps, object)
      await store.create(deployments, needsCa())
      await store.create(resourceBindings, bindingOf())
      // A record without the dependencies lets Lodestone attach them in either mode.
      await edit('app-deployment', ({ metadata }) => {
        metadata.annotations = { [DEPENDENCIES_ANNOTATION]: '[]' }
      })

      await expect.poll(() => clustersOf('settings-configmap')).toEqual([['app-deployment', 'member2']])
      await controller.stop()
      expect(await read('kube-root-ca.crt-configmap')).toBeUndefined()
    },
  )

  test.each([
    ['Lodestone', dependedByLabel(name('app-deployment'))],
    ['Karmada', karmadaDependedByLabel(name('app-deployment'))],
  ])('is released if %s attached it before', async (_writer, label) => {
    await store.create(configMaps, ca)
    await store.create(deployments, needsCa())
    await store.create(resourceBindings, bindingOf())
    await store.create(resourceBindings, attachedCa(label))

    start('karmada')

    await expect.poll(() => clustersOf('kube-root-ca.crt-configmap')).toBeUndefined()
    expect((await read('kube-root-ca.crt-configmap'))?.metadata.labels).toEqual({})
  })

  test('can be one that the configuration lists', async () => {
    const kinds = buildWorkloadKinds([], [], [{ kind: 'ConfigMap', name: 'sett*' }])
    controller = runLoops({
      store,
      loops: openLoops({ propagate: 'never', distribution: 'builtin' }),
      kinds,
    })
    const needed = ['settings', 'flags'].map((name) => ({ configMapRef: { name } }))
    for (const name of ['settings', 'flags']) await store.create(configMaps, makeObject('v1', 'ConfigMap', name))
    await store.create(deployments, deployment('app', { containers: [{ name: 'main', envFrom: needed }] }))
    await store.create(resourceBindings, bindingOf())

    await expect.poll(() => clustersOf('flags-configmap')).toEqual([['app-deployment', 'member2']])
    await controller.stop()
    expect(await read('settings-configmap')).toBeUndefined()
  })
})

test('where distribution is off, all attached bindings are released', async () => {
  await attachAndStop()

  start('none')

  await expect.poll(() => clustersOf('settings-configmap')).toBeUndefined()
  await expect.poll(async () => (await read('app-deployment'))?.metadata.finalizers ?? []).toEqual([])
  expect(JSON.stringify(await read('settings-configmap'))).not.toContain('lodestone.dev')
})

test('a controller that starts again writes nothing when everything is right', async () => {
  await attachAndStop()
  const versions = () => store.objects().map((entry) => entry.object.metadata.resourceVersion)
  const before = versions()

  start()
  await store.create(configMaps, makeObject('v1', 'ConfigMap', 'marker'))
  await place(on('member1'), 'later')
  await expect.poll(async () => (await clustersOf('settings-configmap'))?.length).toBe(2)

  expect(versions().filter((version) => before.includes(version)).length).toBe(before.length - 1)
})

/** Runs the loops until a ConfigMap is attached to the workload and everything has settled. */
async function attachAndStop() {
  start()
  await store.create(configMaps, settings)
  await place()
  await expect.poll(() => clustersOf('settings-configmap')).toBeDefined()
  await expect.poll(async () => (await read('app-deployment'))?.metadata.finalizers).toContain(DEPENDENCIES_FINALIZER)
  await controller.stop()
}

/** Deletes a binding as the garbage collector and Karmada's binding controller do. */
async function collect(name: string) {
  const stale = (await read(name)) as ResourceBinding
  await store.delete(resourceBindings, stale)
  await store.patch(resourceBindings, { namespace: 'default', name }, { metadata: { finalizers: null } })
}
