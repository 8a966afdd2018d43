import { describe, expect, test } from 'vitest'
import type { NamedObject } from '../workload-kinds/references.ts'
import { clonedClaims, ephemeralTemplates, inlineVolumeSecrets, podSpecObjects } from './pod-spec.ts'

const namesOf = (objects: NamedObject[]) => objects.map(({ type, name }) => `${type.kind} ${name}`).sort()
const volume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })

interface Row {
  name: string
  spec: object
  want: string[]
}

describe('a pod spec names the objects that Karmada finds in it:', () => {
  test.each<Row>([
    { name: 'nothing', spec: { containers: [{ name: 'c', image: 'i' }] }, want: [] },
    { name: 'pull Secrets', spec: { imagePullSecrets: [{ name: 'pull' }, { name: '' }, {}] }, want: ['Secret pull'] },
    { name: 'a ServiceAccount', spec: { serviceAccountName: 'sa' }, want: ['ServiceAccount sa'] },
    {
      name: 'a ServiceAccount in the deprecated field, which the API server copies only in its own kinds',
      spec: { serviceAccount: 'sa' },
      want: ['ServiceAccount sa'],
    },
    {
      name: 'one ServiceAccount if both fields differ: the deprecated one is ignored',
      spec: { serviceAccountName: 'sa', serviceAccount: 'old' },
      want: ['ServiceAccount sa'],
    },
    {
      name: 'a claim',
      spec: volume({ persistentVolumeClaim: { claimName: 'pvc' } }),
      want: ['PersistentVolumeClaim pvc'],
    },
    { name: 'a Secret of azureFile', spec: volume({ azureFile: { secretName: 's' } }), want: ['Secret s'] },
    { name: 'a Secret of cephfs', spec: volume({ cephfs: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of cinder', spec: volume({ cinder: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of flexVolume', spec: volume({ flexVolume: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of rbd', spec: volume({ rbd: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of secret', spec: volume({ secret: { secretName: 's' } }), want: ['Secret s'] },
    { name: 'a Secret of scaleIO', spec: volume({ scaleIO: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of iscsi', spec: volume({ iscsi: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    { name: 'a Secret of storageos', spec: volume({ storageos: { secretRef: { name: 's' } } }), want: ['Secret s'] },
    {
      name: 'the Secret of csi with which a node publishes the volume',
      spec: volume({ csi: { nodePublishSecretRef: { name: 's' }, nodeStageSecretRef: { name: 'other' } } }),
      want: ['Secret s'],
    },
    { name: 'a ConfigMap of configMap', spec: volume({ configMap: { name: 'cm' } }), want: ['ConfigMap cm'] },
    {
      name: 'every source of a projected volume',
      spec: volume({
        projected: {
          sources: [
            { configMap: { name: 'cm' } },
            { secret: { name: 's' } },
            { secret: { name: 's2' }, configMap: { name: 'cm2' } },
            { serviceAccountToken: { path: 'token' } },
          ],
        },
      }),
      want: ['ConfigMap cm', 'ConfigMap cm2', 'Secret s', 'Secret s2'],
    },
    {
      name: 'optional objects too',
      spec: volume({ configMap: { name: 'cm', optional: true } }),
      want: ['ConfigMap cm'],
    },
    {
      name: 'of several sources, the first one that may name a Secret, and the claim',
      spec: volume({
        rbd: { secretRef: { name: 'later' } },
        azureFile: { secretName: 'first' },
        persistentVolumeClaim: { claimName: 'pvc' },
      }),
      want: ['PersistentVolumeClaim pvc', 'Secret first'],
    },
    {
      name: 'nothing for a first source without a name',
      spec: volume({ cephfs: {}, secret: { secretName: 'hidden' } }),
      want: [],
    },
    {
      name: 'the next source after a null one',
      spec: volume({ cephfs: null, secret: { secretName: 's' } }),
      want: ['Secret s'],
    },
  ])('$name', ({ spec, want }) => {
    expect(namesOf(podSpecObjects(spec))).toEqual(want)
  })

  test.each(['containers', 'initContainers', 'ephemeralContainers'])('the environment of %s', (field) => {
    const container = {
      env: [
        { name: 'A', value: 'plain' },
        { name: 'B', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } },
        { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        { name: 'D', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      envFrom: [{ configMapRef: { name: 'all-cm' } }, { secretRef: { name: 'all-s' } }, { secretRef: { name: '' } }],
    }
    expect(namesOf(podSpecObjects({ [field]: [container] }))).toEqual([
      'ConfigMap all-cm',
      'ConfigMap cm',
      'Secret all-s',
      'Secret s',
    ])
  })

  test.each([undefined, null, 'spec', [], { containers: 'c', volumes: { a: 1 }, imagePullSecrets: [null, 'x'] }])(
    'nothing in the wrong shape: %j',
    (spec) => {
      expect(podSpecObjects(spec)).toEqual([])
    },
  )
})

describe('a generic ephemeral volume needs', () => {
  const ephemeral = (spec: object) => volume({ ephemeral: { volumeClaimTemplate: { spec } } })

  test.each<Row>([
    { name: 'nothing if it is empty at first', spec: ephemeral({ storageClassName: 'fast' }), want: [] },
    {
      name: 'the claim that it clones, in either field',
      spec: ephemeral({
        dataSource: { kind: 'PersistentVolumeClaim', name: 'golden' },
        dataSourceRef: { apiGroup: '', kind: 'PersistentVolumeClaim', name: 'golden' },
      }),
      want: ['PersistentVolumeClaim golden', 'PersistentVolumeClaim golden'],
    },
    {
      name: 'no snapshot, since it is in the storage of one cluster',
      spec: ephemeral({ dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' } }),
      want: [],
    },
    {
      name: 'no claim of another namespace',
      spec: ephemeral({ dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'golden', namespace: 'other' } }),
      want: [],
    },
  ])('$name', ({ spec, want }) => {
    expect(namesOf(clonedClaims(ephemeralTemplates(spec)))).toEqual(want)
    expect(podSpecObjects(spec)).toEqual([])
  })
})

describe('the driver of an inline volume reads', () => {
  const inline = (volumeAttributes: unknown) => volume({ csi: { driver: 'file.csi.azure.com', volumeAttributes } })
  test.each<Row>([
    { name: 'its Secret', spec: inline({ secretName: 'share', shareName: 'data' }), want: ['Secret share'] },
    { name: 'no Secret without a name', spec: inline({ shareName: 'data' }), want: [] },
    { name: 'no Secret of another namespace', spec: inline({ secretName: 's', secretNamespace: 'storage' }), want: [] },
    { name: 'nothing without attributes', spec: inline(null), want: [] },
  ])('$name', ({ spec, want }) => {
    expect(namesOf(inlineVolumeSecrets(spec))).toEqual(want)
    expect(podSpecObjects(spec)).toEqual([])
  })
})
