import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { makeDeletion } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { deletionMover, replicaMover, uploadMover } from './build.ts'

const PATH = '/var/datasets/vck-resource-4b1d-0123456789abc'
const SETTINGS: VolumeSettings['movers'] = {
  ...VOLUME_SETTINGS.movers,
  imagePullSecrets: ['registry'],
  priorityClassName: 'movers',
  resources: { limits: { memory: '512Mi' } },
}
const replica: ReplicaStatus = { index: 0, state: 'Queued', revision: 'r', path: PATH, node: 'n1', attempt: 3 }

function moversOf(volume: Partial<VolumeConfig> = {}) {
  const config = makeVolume(volume)
  const manager = makeVolumeManager([config], { uid: '4b1d' })
  const common = { manager, config, slot: 1, settings: SETTINGS, networks: [], localRoots: [] }
  return {
    download: replicaMover({ ...common, replica, placement: { on: 'n1' } }),
    upload: uploadMover({ ...common, replica }),
    delete: deletionMover({
      ...common,
      id: config.id,
      deletion: {
        index: 0,
        node: 'n1',
        path: PATH,
        nodeLabels: [],
        state: 'Queued',
        revision: 'r',
        cause: 'Removed',
        attempt: 1,
      },
    }),
  }
}

const containerOf = ({ spec }: Pod) => spec.containers[0]
const secretKey = (name: string, key: string, more = {}) => ({
  name,
  valueFrom: { secretKeyRef: { name: 'aws-creds', key, ...more } },
})
const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })

test('the Pod of a download has only the rights and mounts that it needs', () => {
  const { spec } = moversOf({ options: { ...makeVolume().options, timeoutForDataDownload: '90s' } }).download

  expect(spec).toEqual({
    restartPolicy: 'Never',
    serviceAccountName: 'lodestone-mover',
    imagePullSecrets: [{ name: 'registry' }],
    priorityClassName: 'movers',
    activeDeadlineSeconds: 90,
    terminationGracePeriodSeconds: 10,
    tolerations: [],
    affinity: expect.objectContaining({ nodeAffinity: expect.anything(), podAntiAffinity: expect.anything() }),
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'mover',
        image: 'lodestone:test',
        imagePullPolicy: 'IfNotPresent',
        args: [
          ...['mover', 'download', '--root', '/volume', '--target', '/volume/data', '--source', 's3://lake/sales/'],
          ...['--keep-free', '1Gi', '--attempt', '3', '--cancel-file', '/mover/cancel'],
        ],
        env: [
          secretKey('AWS_ACCESS_KEY_ID', 'awsAccessKeyID'),
          secretKey('AWS_SECRET_ACCESS_KEY', 'awsSecretAccessKey'),
          secretKey('AWS_SESSION_TOKEN', 'awsSessionToken', { optional: true }),
          secretKey('MOVER_CREDENTIAL_ENDPOINTS', 'endpoints', { optional: true }),
          secretKey('MOVER_CA', 'ca.crt', { optional: true }),
          field('POD_NAME', 'metadata.name'),
          field('POD_NAMESPACE', 'metadata.namespace'),
          field('POD_UID', 'metadata.uid'),
          field('NODE_NAME', 'spec.nodeName'),
          { name: 'EVENT_ABOUT', value: expect.stringContaining('"uid":"4b1d"') },
        ],
        resources: { limits: { memory: '512Mi' } },
        terminationMessagePolicy: 'FallbackToLogsOnError',
        securityContext: {
          runAsUser: 0,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [
          { name: 'volume', mountPath: '/volume' },
          { name: 'mover', mountPath: '/mover', readOnly: true },
        ],
      },
    ],
    volumes: [
      { name: 'volume', hostPath: { path: PATH, type: 'DirectoryOrCreate' } },
      {
        name: 'mover',
        downwardAPI: {
          items: [{ path: 'cancel', fieldRef: { fieldPath: "metadata.annotations['lodestone.dev/cancel']" } }],
        },
      },
    ],
  })
})

test('the metadata of a download names its VolumeManager, its volume and its task', () => {
  const { apiVersion, kind, metadata } = moversOf().download

  expect({ apiVersion, kind, metadata }).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: expect.stringMatching(/^vck-resource-[0-9a-z]{13}-3$/),
      namespace: 'default',
      labels: {
        vckname: 'sales',
        vcid: 'vol1',
        'lodestone.dev/volume': expect.stringMatching(/^4b1d-/),
        'lodestone.dev/mover': 'download',
        'lodestone.dev/mover-slot': '1',
      },
      // As labels, they could match the selector of a controller or a Service.
      annotations: {
        'lodestone.dev/mover-labels': '{"key1":"val1"}',
        'lodestone.dev/mover-task': '{"manager":"default/sales","id":"vol1","role":"replica","index":0,"attempt":3}',
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      },
      ownerReferences: [
        {
          apiVersion: 'vck.intelai.org/v1alpha1',
          kind: 'VolumeManager',
          name: 'sales',
          uid: '4b1d',
          controller: true,
        },
      ],
    },
  })
})

test('a mover has no annotation that begins like one of workloads, for their webhook', () => {
  const keys = Object.keys(moversOf().download.metadata.annotations ?? {})
  expect(keys.filter((key) => /^lodestone\.dev\/(vol|dep)/.test(key))).toEqual([])
})

test('the mover of a deletion has no owner, so that no foreground deletion deletes it', () => {
  const { upload, delete: remove } = moversOf()

  expect([upload, remove].map(({ metadata }) => metadata.ownerReferences?.length)).toEqual([1, undefined])
})

test('a VolumeManager that is not stored has movers without owner and namespace', () => {
  const manager = { ...makeVolumeManager(), metadata: { name: 'sales' } }
  const input = { manager, config: makeVolume(), slot: 1, settings: SETTINGS, networks: [], localRoots: [] }

  expect(Object.keys(replicaMover({ ...input, replica, placement: { on: 'n1' } }).metadata)).toEqual([
    ...['name', 'labels', 'annotations'],
  ])
})

test('names that are not valid label values are replaced by their hashes', () => {
  const long = 'a'.repeat(64)
  const labels = moversOf({ id: long }).download.metadata.labels

  expect(labels).toMatchObject({ vckname: 'sales', vcid: expect.stringMatching(/^[0-9a-z]{13}$/) })
})

test('the defaults of the controller apply to a volume without settings', () => {
  const { imagePullSecrets: _, priorityClassName: __, ...settings } = SETTINGS
  const manager = makeVolumeManager()
  const input = { manager, slot: 1, settings: { ...settings, imagePullSecrets: [] }, id: 'vol1' }
  const { spec } = deletionMover({ ...input, config: undefined, deletion: makeDeletion() })

  expect(Object.keys(spec)).toEqual([
    ...['restartPolicy', 'serviceAccountName', 'terminationGracePeriodSeconds', 'tolerations', 'affinity'],
    ...['securityContext', 'containers', 'volumes'],
  ])
  expect(containerOf({ spec } as Pod)).toMatchObject({ image: 'lodestone:test', resources: SETTINGS.resources })
})

test('the settings of a volume replace the defaults of the controller', () => {
  const tolerations = [{ key: 'gpu', operator: 'Exists' }]
  const mover = { image: 'example.org/mover:1', priorityClassName: 'low', resources: { limits: { cpu: '1' } } }
  const { spec } = moversOf({ mover, tolerations }).download

  expect(spec).toMatchObject({ priorityClassName: 'low', tolerations })
  expect(containerOf({ spec } as Pod)).toMatchObject({ image: mover.image, resources: mover.resources })
  expect(containerOf({ spec } as Pod)?.args?.slice(0, 2)).toEqual(['download', '--root'])
})

describe('the security context of a mover', () => {
  test.each([
    { verb: 'download', capabilities: { drop: ['ALL'] } },
    { verb: 'upload', capabilities: { drop: ['ALL'], add: ['DAC_READ_SEARCH'] } },
    { verb: 'delete', capabilities: { drop: ['ALL'], add: ['DAC_OVERRIDE', 'FOWNER'] } },
  ] as const)('that does a $verb', ({ verb, capabilities }) => {
    const { spec } = moversOf()[verb]

    expect(spec.securityContext).toEqual({ seccompProfile: { type: 'RuntimeDefault' } })
    expect(spec.containers.map(({ securityContext }) => securityContext)).toEqual([
      { runAsUser: 0, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities },
    ])
    expect(Object.keys(spec).filter((name) => /^(host|share|initContainers|ephemeral)/.test(name))).toEqual([])
  })

  test('is the same for an image that the VolumeManager names', () => {
    const own = moversOf({ mover: { image: 'example.org/mover:1' } }).download

    expect(containerOf(own)?.image).toBe('example.org/mover:1')
    expect(containerOf(own)?.securityContext).toEqual(containerOf(moversOf().download)?.securityContext)
    expect(own.spec.securityContext).toEqual(moversOf().download.spec.securityContext)
  })
})

describe('timeoutForDataDownload', () => {
  test.each([
    { timeout: '5m', seconds: 300 },
    { timeout: '1h30m', seconds: 5400 },
    { timeout: '1500ms', seconds: 2 },
    { timeout: '1ms', seconds: 1 },
    { timeout: '596523h', seconds: 2_147_482_800 },
    // The API server rejects a Pod with more.
    { timeout: '596524h', seconds: 2_147_483_647 },
    { timeout: '9999999999999999h', seconds: 2_147_483_647 },
  ])('$timeout ends the Pod of a download after $seconds s', ({ timeout, seconds }) => {
    const options = { ...makeVolume().options, timeoutForDataDownload: timeout }
    const { download, upload, delete: remove } = moversOf({ options })

    expect(download.spec.activeDeadlineSeconds).toBe(seconds)
    expect([upload, remove].map(({ spec }) => spec.activeDeadlineSeconds)).toEqual([undefined, undefined])
  })

  test('is not limited by default', () => {
    const { options: _, ...withoutOptions } = makeVolume()
    const manager = makeVolumeManager()
    const input = {
      manager,
      slot: 1,
      settings: SETTINGS,
      networks: [],
      localRoots: [],
      replica,
      placement: { on: 'n1' },
    }
    const pods = [makeVolume(), withoutOptions].map((config) => replicaMover({ ...input, config }))

    expect(pods.map(({ spec }) => spec.activeDeadlineSeconds)).toEqual([undefined, undefined])
  })
})
