import { expect, test } from 'vitest'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { dependencyKey, referenceKeys } from './keys.ts'
import { interpretWorkload } from './workload.ts'

test('an object and a reference to it have the same key', () => {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db', namespace: 'shop' } }
  expect(dependencyKey(object)).toBe('v1/Secret/shop/db')
  expect(dependencyKey({ apiVersion: 'v1', kind: 'Secret', namespace: 'shop', name: 'db' })).toBe('v1/Secret/shop/db')
})

test('a cluster-scoped object has an empty namespace in its key', () => {
  expect(dependencyKey({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' } })).toBe(
    'v1/PersistentVolume//pv',
  )
})

test('a reference by selector has the key of its kind and namespace', () => {
  const reference = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    namespace: 'shop',
    labelSelector: { matchLabels: { app: 'x' } },
  }
  expect(dependencyKey(reference)).toBe('discovery.k8s.io/v1/EndpointSlice/shop/')
})

test('a workload is indexed by every object that it names, with VolumeManagers', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'shop', annotations: { 'lodestone.dev/volumes': '{"name":"sales"}' } },
    spec: {
      serviceAccountName: 'sa',
      imagePullSecrets: [{ name: 'pull' }, { name: 'pull' }],
      volumes: [
        {
          ephemeral: {
            volumeClaimTemplate: { spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'golden' } } },
          },
        },
      ],
    },
  }
  expect(referenceKeys(interpretWorkload(object, SHIPPED_KINDS))).toEqual([
    'v1/PersistentVolumeClaim/shop/golden',
    'v1/Secret/shop/pull',
    'v1/ServiceAccount/shop/sa',
    'vck.intelai.org/v1alpha1/VolumeManager/shop/sales',
  ])
})
