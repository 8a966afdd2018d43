import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { Pod } from '../../../api/pod.ts'
import type { ReplicaStatus, VolumeConfig } from '../../../api/volume-manager.ts'
import type { VolumeSettings } from '../spec/settings.ts'
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
  const common = { manager, config, slot: 1, settings: SETTINGS, networks: [] }
  return {
    download: replicaMover({ ...common, replica, placement: { on: 'n1' } }),
    upload: uploadMover({ ...common, replica }),
    delete: deletionMover({
      ...common,
      id: config.id,
      deletion: {
        ...{ index: 0, node: 'n1', path: PATH, nodeLabels: [], state: 'Queued', revision: 'r' },
        ...{ cause: 'Removed', attempt: 1 },
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

test('the whole Pod of a download: nothing in it goes beyond what the work needs', () => {
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
          secretKey('MOVER_CREDENTIAL_ENDPOINTS', 'endpoints', { optional: true }),
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
  ])('$timeout ends the Pod of a download after $seconds s', ({ timeout, seconds }) => {
    const options = { ...makeVolume().options, timeoutForDataDownload: timeout }
    const { download, upload, delete: remove } = moversOf({ options })

    expect(download.spec.activeDeadlineSeconds).toBe(seconds)
    expect([upload, remove].map(({ spec }) => spec.activeDeadlineSeconds)).toEqual([undefined, undefined])
  })

  test('is no limit where it is not given', () => {
    expect(moversOf().download.spec.activeDeadlineSeconds).toBeUndefined()
  })
})
