import { describe, expect, test } from 'vitest'
import { makeVolumeManager, NOW } from '../../../../test/builders.ts'
import {
  asTask,
  at,
  makeAllowance,
  makeDeletion,
  makeMover,
  makeReplica,
  makeVolumeInput,
  moversOf,
  observeVolume,
} from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { PersistentVolumeClaim } from '../../../api/persistent-volume.ts'
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus, UploadStatus, VolumeStatus } from '../../../api/volume-status.ts'
import type { VolumeManagerInput } from '../input.ts'
import { readTask } from '../mover/task.ts'
import { planVolume } from '../replica/volume-plan.ts'
import { claimNameOf, directoryOf } from '../rules/names.ts'
import { revisionOf } from '../rules/source-types.ts'
import { startMovers } from './start.ts'

const [config] = makeVolumeManager().spec.volumeConfigs as [VolumeConfig]
const current = { revision: revisionOf(config) }
const path = directoryOf(makeVolumeManager(), config)
const UNSCHEDULABLE = { conditions: [{ type: 'PodScheduled', status: 'False' }] }
const queued = makeReplica({ ...current, path, state: 'Queued', node: undefined as never })

const NFS = { sourceType: 'NFS', accessMode: 'ReadOnlyMany', options: { server: 'nfs', path: '/' } } as const
const mounted: ReplicaStatus = {
  index: 0,
  state: 'Queued',
  attempt: 1,
  since: at(0),
  revision: revisionOf({ ...config, ...NFS }),
}
const claimNamed = (name: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
})
const claim = claimNamed(claimNameOf(makeVolumeManager([NFS]), { ...config, ...NFS }))

/** Plans the volumes of a manager with this status, and starts their movers. */
function start(
  volumes: Partial<VolumeStatus>[],
  {
    configs = [{}] as Partial<VolumeConfig>[],
    ...more
  }: Partial<VolumeManagerInput> & { configs?: Partial<VolumeConfig>[] } = {},
) {
  const status = volumes.map((volume, i) => ({ id: `vol${i + 1}`, nodeAffinity: {}, nextIndex: 10, ...volume }))
  const manager: VolumeManager = makeVolumeManager(configs, { status: { volumes: status } })
  const input = { ...makeVolumeInput({ manager }), ...more }
  const plans = manager.spec.volumeConfigs.map((one) => planVolume(input, observeVolume(input, one.id), one, 'present'))
  const started = startMovers(input, plans)
  return {
    pods: started.pods,
    tasks: started.pods.map((pod) => {
      const { id, role, index } = readTask(pod) ?? {}
      return `${id} ${role} ${index}`
    }),
    sets: started.plans.map(({ set }) => set),
  }
}

const full = Array.from({ length: 5 }, () => makeMover({}, { phase: 'Running' }, 'n1'))
const slots = (count: number) => ({ allowance: makeAllowance(count) })

describe('a replica that waits', () => {
  test('is started, and checked when its mover may have a node', () => {
    const { tasks, sets } = start([{ replicas: [queued] }])

    expect(tasks).toEqual(['vol1 replica 0'])
    expect(sets[0]?.replicas).toEqual([
      { ...queued, state: 'Starting', since: at(0), reason: 'Starting', message: 'the mover was created' },
    ])
    expect(sets[0]?.dueAt).toBe(NOW + 30_000)
  })

  test.each<{ name: string; volume?: Partial<VolumeStatus>; more?: Parameters<typeof start>[1]; reason?: string }>([
    { name: 'is not started without a slot', more: slots(0) },
    { name: 'is not started before the status records it', volume: {} },
    { name: 'is stuck when there is no node', more: { nodes: makeVolumeInput({ nodes: [] }).nodes }, reason: 'NoNode' },
    {
      name: 'is stuck when its volume is invalid',
      more: { configs: [{ options: { sourceURL: 's3://lake/sales/' } }] },
      reason: 'InvalidSpec',
    },
    {
      name: 'is stuck with changes of another source',
      more: { configs: [{ options: { ...config.options, resync: 'true' } }] },
      volume: { replicas: [{ ...queued, node: 'n1', isUnchecked: true, revision: 'old', lastUsedTime: at(-9) }] },
      reason: 'OtherSource',
    },
    {
      name: 'is not started before the status records its next attempt',
      volume: { replicas: [{ ...queued, state: 'Failed', retryTime: at(0) }] },
    },
    {
      name: 'is not started before its previous mover is gone',
      more: { movers: moversOf(makeMover({ path, attempt: 9 }, { phase: 'Failed' })) },
    },
    {
      name: 'is stuck while the data on its node is being deleted',
      volume: { replicas: [{ ...queued, node: 'n1' }], deletions: [makeDeletion({ path })] },
      reason: 'NoNode',
    },
    {
      name: 'is stuck before its claim exists',
      more: { configs: [NFS] },
      volume: { replicas: [mounted] },
      reason: 'NoClaim',
    },
    {
      name: 'is stuck while a mover of its volume is unschedulable',
      more: { configs: [{ replicas: 2 }], movers: moversOf(makeMover({ index: 5, path }, UNSCHEDULABLE)) },
      volume: { replicas: [queued, makeReplica({ ...current, index: 5, path, state: 'Starting' })] },
      reason: 'NoNode',
    },
  ])('$name', ({ volume = { replicas: [queued] }, more = {}, reason }) => {
    const { tasks, sets } = start([volume], more)

    expect(tasks).toEqual([])
    expect([sets[0]?.replicas[0]?.state, sets[0]?.replicas[0]?.reason]).toEqual(['Queued', reason])
  })

  test.each<{ name: string; more?: Parameters<typeof start>[1]; reason: string; want?: string }>([
    {
      name: 'NoClaim when its claim exists',
      reason: 'NoClaim',
      more: { configs: [NFS], persistentVolumeClaims: [claim] },
    },
    { name: 'InvalidSpec when its spec is valid', reason: 'InvalidSpec' },
    { name: 'OtherSource when the spec has its source again', reason: 'OtherSource' },
    { name: 'not NoClaim before its claim exists', reason: 'NoClaim', more: { configs: [NFS] }, want: 'NoClaim' },
    { name: 'not NoNode, which is known only with a slot', reason: 'NoNode', want: 'NoNode' },
    { name: 'not Demanded', reason: 'Demanded', want: 'Demanded' },
  ])('without a slot loses the reason $name', ({ more, reason, want }) => {
    const replica = { ...(more ? mounted : queued), reason, message: 'why it waits' }
    const { sets } = start([{ replicas: [replica] }], { ...more, ...slots(0) })

    expect(sets[0]?.replicas[0]).toMatchObject({ state: 'Queued', since: replica.since })
    expect([sets[0]?.replicas[0]?.reason, sets[0]?.replicas[0]?.message]).toEqual([want, want && 'why it waits'])
  })

  test('without a reason stays without one when its volume is invalid', () => {
    const ready = makeReplica({ ...current, path })
    const { sets } = start([{ replicas: [ready] }], { configs: [{ labels: {} }] })

    expect(sets[0]?.replicas).toEqual([ready])
  })

  test.each([
    { name: 'of another replica', mover: makeMover({ path: '/old', index: 3 }, { phase: 'Failed' }) },
    { name: 'of another role', mover: asTask({ role: 'upload' }, makeMover({ path })) },
    { name: 'of another volume', mover: asTask({ id: 'vol2' }, makeMover({ path })) },
  ])('is started beside a mover $name', ({ mover }) => {
    expect(start([{ replicas: [queued] }], { movers: moversOf(mover) }).tasks).toEqual(['vol1 replica 0'])
  })

  test('of NFS is started when its claim exists', () => {
    const tasksWith = (...persistentVolumeClaims: PersistentVolumeClaim[]) =>
      start([{ replicas: [mounted] }], { configs: [NFS], persistentVolumeClaims }).tasks

    expect([tasksWith(claimNamed('other'), claim), tasksWith(claimNamed('other'))]).toEqual([['vol1 replica 0'], []])
  })

  test('has a mover that may reach the allowed local networks', () => {
    const settings = { ...VOLUME_SETTINGS, allowedLocalNetworks: ['127.0.0.0/8'] }
    const { pods } = start([{ replicas: [queued] }], { settings })

    expect(pods[0]?.spec.containers[0]?.args?.join(' ')).toContain('--local-network 127.0.0.0/8')
  })

  test('waits while the mover of another replica is being placed', () => {
    const { tasks } = start([{ replicas: [queued, { ...queued, index: 1 }] }], { configs: [{ replicas: 2 }] })

    expect(tasks).toEqual(['vol1 replica 0'])
  })

  test('is started with other movers when it is pinned', () => {
    const replicas = [
      { ...queued, node: 'n1' },
      { ...queued, index: 1 },
      { ...queued, index: 2, node: 'n2' },
    ]

    expect(start([{ replicas }], { configs: [{ replicas: 3 }] }).tasks).toEqual([
      ...['vol1 replica 0', 'vol1 replica 1', 'vol1 replica 2'],
    ])
  })
})

describe('the slots', () => {
  const configs = [{ id: 'vol1' }, { id: 'vol2', priority: 5 }]
  const second = { ...queued, revision: current.revision }

  test.each([
    { count: 3, want: ['vol2 deletion 7', 'vol2 replica 0', 'vol1 replica 0'] },
    { count: 2, want: ['vol2 deletion 7', 'vol2 replica 0'] },
    { count: 1, want: ['vol2 deletion 7'] },
    { count: 0, want: [] },
  ])('of $count go to deletions first, and then by priority', ({ count, want }) => {
    const deletions = [makeDeletion({ index: 7, state: 'Queued', node: 'n3', path: '/old', nodeLabels: [] })]

    const { tasks, sets } = start([{ replicas: [queued] }, { replicas: [second], deletions }], {
      configs,
      ...slots(count),
    })

    expect(tasks).toEqual(want)
    expect(sets.map(({ deletions }) => deletions.length)).toEqual([0, 1])
  })

  test('go to volumes without a priority before those with one below zero', () => {
    const configs = [{ priority: -1 }, { id: 'vol2' }]

    expect(start([{ replicas: [queued] }, { replicas: [second] }], { configs, ...slots(1) }).tasks).toEqual([
      'vol2 replica 0',
    ])
  })

  test('go to an upload of a volume that is written back', () => {
    const options = { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/', resync: 'true' }
    const upload = { state: 'Queued' as const, attempt: 1, since: at(-5) }
    const replicas = [makeReplica({ ...current, index: 0, lastUsedTime: at(-9), upload })]

    const { tasks, sets } = start([{ replicas }], { configs: [{ options }] })

    expect(tasks).toEqual(['vol1 upload 0'])
    expect(sets[0]?.replicas[0]).toMatchObject({ upload: { state: 'Uploading', since: at(0) }, uploads: 1 })
  })

  test.each<{ name: string; upload?: UploadStatus; more?: Parameters<typeof start>[1] }>([
    { name: 'that the status does not record' },
    {
      name: 'whose next attempt the status does not record',
      upload: { state: 'Failed', attempt: 1, since: at(-5), retryTime: at(0) },
    },
    {
      name: 'before its previous mover is gone',
      upload: { state: 'Queued', attempt: 2, since: at(-5) },
      more: { movers: moversOf(asTask({ role: 'upload' }, makeMover({}, { phase: 'Failed' }))) },
    },
    {
      name: 'on a node that is full',
      upload: { state: 'Queued', attempt: 2, since: at(-5) },
      more: { allowance: makeAllowance(9, full) },
    },
  ])('do not go to an upload $name', ({ upload, more = {} }) => {
    const options = { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/', resync: 'true' }
    const replicas = [makeReplica({ ...current, index: 0, lastUsedTime: at(-9), ...(upload && { upload }) })]

    const { tasks, sets } = start([{ replicas }], { configs: [{ options }], ...more })

    expect(tasks).toEqual([])
    expect(sets[0]?.replicas[0]).toMatchObject({ upload: { state: 'Queued' } })
  })

  test('go to a check after all others, on a free slot, and to a quarter of all movers', () => {
    const maintenance = { kind: 'Check' as const, state: 'Queued' as const, attempt: 1 }
    const replicas = [0, 1].map((index) => makeReplica({ ...current, path, index, node: `n${index + 1}`, maintenance }))
    const movers = { ...VOLUME_SETTINGS.movers, maxInAll: 4 }
    const settings = { ...VOLUME_SETTINGS, movers }
    const volume = { replicas: [...replicas, { ...queued, index: 2 }] }
    const configs = [{ replicas: 3 }]

    expect(start([volume], { configs, settings }).tasks).toEqual(['vol1 replica 2', 'vol1 maintenance 0'])
    expect(start([volume], { configs, ...slots(1) }).tasks).toEqual(['vol1 replica 2'])
    expect(start([volume], { configs }).tasks).toEqual(['vol1 replica 2', 'vol1 maintenance 0', 'vol1 maintenance 1'])
  })

  test('do not go to a check while another mover works for the replica', () => {
    const maintenance = { kind: 'Check' as const, state: 'Queued' as const, attempt: 1 }
    const replica = makeReplica({ ...current, path, maintenance })
    const upload = asTask({ role: 'upload' }, makeMover({}, { phase: 'Running' }, 'n1'))

    expect(start([{ replicas: [replica] }], { movers: moversOf(upload) }).tasks).toEqual([])
    expect(start([{ replicas: [replica] }]).tasks).toEqual(['vol1 maintenance 0'])
  })

  test('go to the deletion that the status records, and not to one that is queued now', () => {
    const deletions = [
      makeDeletion({ index: 7, state: 'Queued', path: '/old', nodeLabels: [] }),
      makeDeletion({ index: 8, state: 'Waiting', path: '/older', nodeLabels: [] }),
    ]

    expect(start([{ deletions }]).tasks).toEqual(['vol1 deletion 7'])
  })

  test('do not go to a deletion of data that a pod uses now', () => {
    const deletions = [makeDeletion({ state: 'Queued', path: '/old', nodeLabels: [] })]

    expect(start([{ deletions }], { users: () => [{ pod: 'default/reader', node: 'n1' }] }).tasks).toEqual([])
  })

  test('do not go to a deletion on a node that is full', () => {
    const deletions = [makeDeletion({ index: 7, state: 'Queued', path: '/old', nodeLabels: [] })]

    expect(start([{ deletions }], { allowance: makeAllowance(9, full) }).tasks).toEqual([])
  })
})
