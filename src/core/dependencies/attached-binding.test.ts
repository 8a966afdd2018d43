import { describe, expect, test } from 'vitest'
import { makeBinding, makeObject } from '../../../test/builders.ts'
import { clusterResourceBindings, type ResourceBinding, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import {
  combineStrategies,
  labelsFor,
  newAttachedBinding,
  objectResource,
  referrerSnapshots,
} from './attached-binding.ts'
import { dependedByLabel } from './names.ts'

const referrer = (
  name: string,
  spec: Partial<ResourceBinding['spec']> = {},
  namespace: string | undefined = 'default',
) => {
  const idLabel = namespace
    ? 'resourcebinding.karmada.io/permanent-id'
    : 'clusterresourcebinding.karmada.io/permanent-id'
  const binding = makeBinding(spec)
  const metadata = defined({ name, namespace: namespace || undefined, labels: { [idLabel]: `id-${name}` } })
  return { ...binding, metadata }
}
const clusterScoped = (name: string, ...clusters: string[]): ResourceBinding => {
  const { namespace: _none, ...metadata } = referrer(name).metadata
  const labels = { 'clusterresourcebinding.karmada.io/permanent-id': `id-${name}` }
  return {
    ...referrer(name, { clusters: clusters.map((cluster) => ({ name: cluster })) }),
    metadata: { ...metadata, labels },
  }
}

describe('the label of a referrer', () => {
  test('has its permanent id as its value', () => {
    expect(labelsFor([referrer('a'), referrer('b')])).toEqual({
      [dependedByLabel({ namespace: 'default', name: 'a' })]: 'id-a',
      [dependedByLabel({ namespace: 'default', name: 'b' })]: 'id-b',
    })
  })

  test('of a cluster-scoped binding has the id of that kind', () => {
    expect(labelsFor([clusterScoped('c')])).toEqual({ [dependedByLabel({ name: 'c' })]: 'id-c' })
  })

  test('without a permanent id is empty', () => {
    expect(Object.values(labelsFor([makeBinding()]))).toEqual([''])
  })
})

describe('the snapshots', () => {
  const attached = { namespace: 'default', name: 'cm-configmap' }
  const leaving = (purgeMode?: string) =>
    referrer('a', {
      clusters: [{ name: 'm2', replicas: 1 }],
      gracefulEvictionTasks: [{ fromCluster: 'm1', ...defined({ purgeMode }) }],
    })

  test.each([undefined, 'Gracefully', 'Graciously', 'Never'])(
    'have the cluster in which a replaced workload still runs: purge mode %s',
    (purgeMode) => {
      expect(referrerSnapshots(attached, [leaving(purgeMode)])).toEqual([
        { namespace: 'default', name: 'a', clusters: [{ name: 'm2', replicas: 1 }, { name: 'm1' }] },
      ])
    },
  )

  test.each(['Directly', 'Immediately'])('lack a cluster that the workload has left: purge mode %s', (purgeMode) => {
    expect(referrerSnapshots(attached, [leaving(purgeMode)])).toEqual([
      { namespace: 'default', name: 'a', clusters: [{ name: 'm2', replicas: 1 }] },
    ])
  })

  test('have that cluster of a cluster-scoped workload, and each cluster once', () => {
    const volume = clusterScoped('b', 'm2', 'm3')
    const tasks = ['m2', 'm1', 'm1'].map((fromCluster) => ({ fromCluster }))
    const evicted = { ...volume, spec: { ...volume.spec, gracefulEvictionTasks: tasks } }
    const clusters = ['m1', 'm2', 'm3'].map((name) => ({ name }))
    expect(referrerSnapshots(attached, [evicted])).toEqual([{ ...attached, clusters }])
  })

  test('have the name of each referrer, and its clusters if it has any', () => {
    expect(
      referrerSnapshots(attached, [referrer('a', { clusters: [{ name: 'm1', replicas: 2 }] }), referrer('b')]),
    ).toEqual([
      { namespace: 'default', name: 'a', clusters: [{ name: 'm1', replicas: 2 }] },
      { namespace: 'default', name: 'b' },
    ])
  })

  test('have one entry for all cluster-scoped referrers, named as the attached binding', () => {
    expect(referrerSnapshots(attached, [clusterScoped('x', 'm2', 'm1'), clusterScoped('y', 'm2', 'm3')])).toEqual([
      { ...attached, clusters: [{ name: 'm1' }, { name: 'm2' }, { name: 'm3' }] },
    ])
  })

  test('of a cluster-scoped attached binding have the name of each such referrer', () => {
    expect(referrerSnapshots({ name: 'r-clusterrole' }, [clusterScoped('x', 'm1')])).toEqual([
      { name: 'x', clusters: [{ name: 'm1' }] },
    ])
  })
})

describe('the strategy', () => {
  test.each<{ name: string; specs: Partial<ResourceBinding['spec']>[]; want: ReturnType<typeof combineStrategies> }>([
    { name: 'is empty without a referrer', specs: [], want: { strategy: {}, conflicts: [] } },
    {
      name: 'aborts by default',
      specs: [{}, { conflictResolution: 'Abort' }],
      want: { strategy: { conflictResolution: 'Abort', preserveResourcesOnDeletion: false }, conflicts: [] },
    },
    {
      name: 'is the common strategy if all agree',
      specs: [{ conflictResolution: 'Overwrite', preserveResourcesOnDeletion: true }],
      want: { strategy: { conflictResolution: 'Overwrite', preserveResourcesOnDeletion: true }, conflicts: [] },
    },
    {
      name: 'overwrites and preserves if any referrer does, and lists the conflicts',
      specs: [{ conflictResolution: 'Overwrite' }, { preserveResourcesOnDeletion: true }],
      want: {
        strategy: { conflictResolution: 'Overwrite', preserveResourcesOnDeletion: true },
        conflicts: ['conflictResolution (Overwrite and Abort)', 'preserveResourcesOnDeletion (true and false)'],
      },
    },
  ])('$name', ({ specs, want }) => {
    expect(combineStrategies(specs.map((spec, i) => referrer(`r${i}`, spec)))).toEqual(want)
  })
})

describe('a new attached binding', () => {
  const configMap = makeObject('v1', 'ConfigMap', 'cm')
  const dependent: K8sObject = { ...configMap, metadata: { ...configMap.metadata, uid: 'u1', resourceVersion: '7' } }

  test('has the dependency as owner, its resourceVersion, and its referrers', () => {
    expect(newAttachedBinding(resourceBindings, dependent, [referrer('a', { clusters: [{ name: 'm1' }] })])).toEqual({
      apiVersion: 'work.karmada.io/v1alpha2',
      kind: 'ResourceBinding',
      metadata: {
        name: 'cm-configmap',
        namespace: 'default',
        labels: { [dependedByLabel({ namespace: 'default', name: 'a' })]: 'id-a' },
        finalizers: ['karmada.io/binding-controller'],
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'cm', uid: 'u1', controller: true, blockOwnerDeletion: true },
        ],
      },
      spec: {
        resource: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          namespace: 'default',
          name: 'cm',
          uid: 'u1',
          resourceVersion: '7',
        },
        requiredBy: [{ namespace: 'default', name: 'a', clusters: [{ name: 'm1' }] }],
        conflictResolution: 'Abort',
        preserveResourcesOnDeletion: false,
      },
    })
  })

  test('of a cluster-scoped dependency has no namespace', () => {
    const role: K8sObject = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' } }
    const { kind, metadata } = newAttachedBinding(clusterResourceBindings, role, [clusterScoped('x', 'm1')])
    expect({ kind, name: metadata.name, namespace: metadata.namespace }).toEqual({
      kind: 'ClusterResourceBinding',
      name: 'r-clusterrole',
      namespace: undefined,
    })
  })
})

test('a reference to an object without a resourceVersion has none', () => {
  expect(objectResource(makeObject('v1', 'ConfigMap', 'cm'))).toEqual({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'default',
    name: 'cm',
  })
})
