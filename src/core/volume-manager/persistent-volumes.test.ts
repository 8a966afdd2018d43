import { expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../test/builders.ts'
import { makeVolumeInput } from '../../../test/volume-builders.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/persistent-volume.ts'
import type { VolumeManagerInput } from './input.ts'
import { planPersistentVolumes } from './persistent-volumes.ts'
import type { VolumePlan } from './replica/volume-plan.ts'
import { claimNameOf, volumeKey } from './spec/names.ts'

const manager = makeVolumeManager()
const NFS = makeVolume({
  sourceType: 'NFS',
  accessMode: 'ReadOnlyMany',
  options: { server: 'nfs.example.com', path: '/exports' },
})
const NAME = claimNameOf(manager, NFS)
const labels = { 'lodestone.dev/volume': volumeKey(manager, 'vol1') }
const volume = (phase?: string, metadata: object = {}): PersistentVolume => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: NAME, labels, ...metadata } },
  ...(phase && { status: { phase } }),
})
const claim = (metadata: object = {}): PersistentVolumeClaim => ({
  ...{
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: NAME, namespace: 'default', labels, ...metadata },
  },
})
const WANTED = { id: 'vol1', config: NFS, wanted: {}, problems: [] } as unknown as VolumePlan
const UNWANTED = { ...WANTED, wanted: undefined } as unknown as VolumePlan
const INVALID = { ...UNWANTED, problems: ['server has to be set'] } as unknown as VolumePlan
const used = { users: () => [{ pod: 'default/reader', node: 'n1' }] }

interface Case {
  name: string
  plan: VolumePlan
  input: Partial<Pick<VolumeManagerInput, 'persistentVolumes' | 'persistentVolumeClaims' | 'users'>>
  writes?: string[]
  waiting?: { reason: string; message: string }[]
}

test.each<Case>([
  { name: 'begins with the volume', plan: WANTED, input: {}, writes: ['create PersistentVolume'] },
  { name: 'has no claim while the volume is Pending', plan: WANTED, input: { persistentVolumes: [volume('Pending')] } },
  {
    name: 'has the claim when the volume is available',
    plan: WANTED,
    input: { persistentVolumes: [volume('Available')] },
    writes: ['create PersistentVolumeClaim'],
  },
  {
    name: 'stays as it is',
    plan: WANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()], ...used },
  },
  {
    name: 'keeps all while its spec is invalid',
    plan: INVALID,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()] },
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'keeps its claim while a pod uses it',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()], ...used },
    waiting: [{ reason: 'InUse', message: `claim ${NAME} is in use by default/reader` }],
  },
  {
    name: 'loses its claim first',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Bound')], persistentVolumeClaims: [claim()] },
    writes: ['delete PersistentVolumeClaim'],
    waiting: [
      { reason: 'Terminating', message: `PersistentVolumeClaim ${NAME} is being deleted` },
      { reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` },
    ],
  },
  {
    name: 'loses its volume after that',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Released')] },
    writes: ['delete PersistentVolume'],
    waiting: [{ reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` }],
  },
  {
    name: 'deletes nothing twice',
    plan: UNWANTED,
    input: { persistentVolumes: [volume('Released', { deletionTimestamp: '2026-01-01T00:00:00Z' })] },
    waiting: [{ reason: 'Terminating', message: `PersistentVolume ${NAME} is being deleted` }],
  },
])('an NFS volume $name', ({ plan, input, writes = [], waiting = [] }) => {
  const planned = planPersistentVolumes({ ...makeVolumeInput({ manager }), ...input }, [plan])

  expect(planned.writes.map((write) => `${write.kind} ${write.kind === 'patch' ? '' : write.type.kind}`)).toEqual(
    writes,
  )
  expect(planned.waiting).toEqual(waiting)
})

test('the volume and the claim name each other, and the data is never deleted on the server', () => {
  const objects = [{}, { persistentVolumes: [volume('Available')] }].map((input) => {
    const [write] = planPersistentVolumes({ ...makeVolumeInput({ manager }), ...input }, [WANTED]).writes
    return write?.kind === 'create' && write.object
  })

  expect(objects).toMatchObject([
    {
      metadata: { name: NAME, labels: { key1: 'val1', ...labels } },
      spec: {
        ...{ capacity: { storage: '5Gi' }, accessModes: ['ReadOnlyMany'], persistentVolumeReclaimPolicy: 'Retain' },
        ...{ storageClassName: 'vck', claimRef: { namespace: 'default', name: NAME } },
        nfs: { server: 'nfs.example.com', path: '/exports', readOnly: true },
      },
    },
    {
      metadata: { name: NAME, namespace: 'default' },
      spec: { volumeName: NAME, storageClassName: 'vck', resources: { requests: { storage: '5Gi' } } },
    },
  ])
})

test('a volume of another source has no claim', () => {
  const plan = { ...WANTED, config: makeVolume() }

  expect(planPersistentVolumes(makeVolumeInput(), [plan])).toEqual({ writes: [], waiting: [] })
})
