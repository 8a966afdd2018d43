import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { makeReplica, PATH } from '../../../../test/volume-builders.ts'
import { volumeKey } from '../rules/names.ts'
import { buildPersistentVolume, claimOfVolume, nfsExport } from './persistent-volume-objects.ts'

const manager = makeVolumeManager()
const labels = { key1: 'val1', 'lodestone.dev/volume': volumeKey(manager, 'vol1') }
const NFS = makeVolume({
  sourceType: 'NFS',
  accessMode: 'ReadOnlyMany',
  options: { server: 'nfs.example.com', path: '/exports' },
})
const local = { replica: makeReplica({ bytes: 4096 }), node: { name: 'n1', hostname: 'host-1' } }

test('the PersistentVolume of a replica is on the node of its data, for one claim only', () => {
  expect(buildPersistentVolume(manager, { name: 'c0', config: makeVolume(), local })).toEqual({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'c0', labels, annotations: { 'lodestone.dev/node': 'n1' } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'lodestone-local',
      capacity: { storage: '5Gi' },
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c0' },
      local: { path: `${PATH}/data` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['host-1'] }] },
          ],
        },
      },
    },
  })
})

test('the claim of a replica names its PersistentVolume', () => {
  expect(claimOfVolume(manager, { name: 'c0', config: makeVolume(), local })).toEqual({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c0', namespace: 'default', labels },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'lodestone-local',
      volumeName: 'c0',
      resources: { requests: { storage: '5Gi' } },
    },
  })
})

test.each([
  ['its bytes', local, '4096'],
  ['one byte, while it has none', { ...local, replica: makeReplica() }, '1'],
])('a replica without a declared capacity has that of %s', (_name, of, storage) => {
  const config = makeVolume({ capacity: '' })
  expect(buildPersistentVolume(manager, { name: 'c0', config, local: of }).spec?.capacity).toEqual({ storage })
})

test('the PersistentVolume of NFS is an export, on every node', () => {
  const { metadata, spec } = buildPersistentVolume(manager, { name: 'c', config: NFS })
  expect(metadata).toEqual({ name: 'c', labels })
  expect(spec).toMatchObject({
    storageClassName: 'vck',
    nfs: { server: 'nfs.example.com', path: '/exports', readOnly: true },
  })
  expect(spec?.nodeAffinity).toBeUndefined()
})

test('an export is writable unless the access mode is ReadOnlyMany', () => {
  expect(nfsExport({ ...NFS, accessMode: 'ReadWriteMany' })).toEqual({ server: 'nfs.example.com', path: '/exports' })
})
