/** VolumeManagers whose source is an NFS server, on a store in memory. */
import { describe, expect, test } from 'vitest'
import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '../../src/api/persistent-volume.ts'
import { type Pod, pods } from '../../src/api/pod.ts'
import type { VolumeConfig, VolumeManager } from '../../src/api/volume-manager.ts'
import { claimNameOf } from '../../src/core/volume-manager/rules/names.ts'
import { decidePod } from '../../src/core/workload/decide-pod.ts'
import { volumeManagersOf } from '../../src/queries/volumes.ts'
import { makeVolume } from '../builders.ts'
import { worldWith } from './volume-steps.ts'

describe('NFS', () => {
  const NFS: Partial<VolumeConfig> = {
    sourceType: 'NFS',
    accessMode: 'ReadOnlyMany',
    options: { server: 'nfs.example.org', path: '/exports' },
  }

  test('is a volume and a claim that name each other, usable once it was mounted', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 3; i++) await world.reconcile()
    expect((await world.manager())?.status?.state).toBe('Pending')
    await world.settle()

    const volume = await world.volume()
    const claimName = volume?.volumeSource?.persistentVolumeClaim?.claimName ?? ''
    expect(volume).toMatchObject({
      message: 'success',
      nodeAffinity: {},
      volumeSource: { persistentVolumeClaim: { claimName, readOnly: true } },
    })
    expect(await world.store.read(persistentVolumes, undefined, claimName)).toMatchObject({
      spec: {
        claimRef: { namespace: 'default', name: claimName },
        nfs: { server: 'nfs.example.org', path: '/exports', readOnly: true },
        persistentVolumeReclaimPolicy: 'Retain',
      },
    })
    expect(await world.store.read(persistentVolumeClaims, 'default', claimName)).toMatchObject({
      spec: { volumeName: claimName, accessModes: ['ReadOnlyMany'], resources: { requests: { storage: '5Gi' } } },
    })
  })

  test('has its claim created when the volume is seen, so that they are bound at once', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 2; i++) await world.reconcile()
    const [volume] = world.store.list(persistentVolumes)
    const name = volume?.metadata.name ?? ''
    const phase = (is: string) =>
      world.store.patch(persistentVolumes, { name }, { status: { phase: is } }, { subresource: 'status' })
    await phase('Pending')
    await world.reconcile()
    expect(await world.store.read(persistentVolumeClaims, 'default', name)).toBeUndefined()

    await phase('Available')
    await world.reconcile()
    expect(await world.store.read(persistentVolumeClaims, 'default', name)).toBeDefined()
  })

  test('is on no node: pods of every node may have it, also when one is deleted', async () => {
    const world = await worldWith([NFS])
    await world.settle()
    const volumes = '{"name": "sales"}'
    const pinned: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'reader',
        labels: { 'lodestone.dev/inject': 'true' },
        annotations: { 'lodestone.dev/volumes': volumes },
      },
      spec: { nodeName: 'n3', containers: [{ name: 'main', image: 'pause' }] },
    }
    const managers = volumeManagersOf(world.store, 'default')
    const input = {
      pod: pinned,
      managers,
      whenNotReady: 'gate',
      mayRun: () => true,
      request: '1',
      isHub: false,
    } as const
    expect(decidePod(input)).toMatchObject({ kind: 'patch', auditAnnotations: { decision: 'Injected' } })

    world.fate = () => 'goes on'
    for (const node of ['n1', 'n2']) await world.removeNode(node)
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(world.events.map(({ reason }) => reason)).not.toContain('ReplicaLost')
  })

  test('that cannot be mounted says so', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 4; i++) await world.reconcile()
    world.now += 1801_000
    await world.reconcile()

    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'PrepareTimeout' }])
  })

  test.each([
    { kind: 'PersistentVolume', type: persistentVolumes, namespace: undefined },
    { kind: 'PersistentVolumeClaim', type: persistentVolumeClaims, namespace: 'default' },
  ])(
    'fails while another client has a $kind with its name, and leaves that alone',
    async ({ kind, type, namespace }) => {
      const world = await worldWith([NFS])
      const manager = (await world.manager()) as VolumeManager
      const name = claimNameOf(manager, makeVolume(NFS))
      const foreign = await world.store.create(type, {
        apiVersion: 'v1',
        kind,
        metadata: { name, ...(namespace && { namespace }) },
      })
      await world.settle()

      const message = `${kind} ${name} exists, and Lodestone did not create it; delete it, so that Lodestone can create its own`
      expect((await world.manager())?.status).toMatchObject({
        state: 'Failed',
        conditions: [{ type: 'Ready', status: 'False', message: `vol1: ${message}` }, {}, { type: 'Stalled' }],
      })
      expect(world.events).toContainEqual(
        expect.objectContaining({ type: 'Warning', message: expect.stringContaining(message) }),
      )
      expect(await world.store.read(type, namespace, name)).toEqual(foreign)
      await world.store.delete(type, foreign)
      await world.settle()
      expect((await world.manager())?.status?.state).toBe('Running')
    },
  )

  test.each([
    { kind: 'PersistentVolume', type: persistentVolumes, namespace: undefined },
    { kind: 'PersistentVolumeClaim', type: persistentVolumeClaims, namespace: 'default' },
  ])('leaves a $kind alone to which another client copied its labels', async ({ kind, type, namespace }) => {
    const world = await worldWith([NFS])
    await world.settle()
    const [own] = world.store.list(type)
    const foreign = await world.store.create(type, {
      apiVersion: 'v1',
      kind,
      metadata: { name: 'copy', labels: own?.metadata.labels, ...(namespace && { namespace }) },
    } as PersistentVolume)
    await world.settle()
    await world.deleteManager()
    await world.pass(60)

    expect([...world.store.list(type)].map(({ metadata }) => metadata.uid)).toEqual([foreign.metadata.uid])
    expect(await world.manager()).toBeUndefined()
  })

  test('leaves no claim and no volume behind, but not while a pod uses it', async () => {
    const world = await worldWith([NFS])
    await world.settle()
    const claimName = (await world.volume())?.volumeSource?.persistentVolumeClaim?.claimName ?? ''
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }]
    const metadata = { name: 'reader', namespace: 'default' }
    await world.store.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [], volumes, nodeName: 'n1' },
    })
    await world.deleteManager()
    await world.pass(60)
    expect(world.store.size(persistentVolumes)).toBe(1)
    expect((await world.manager())?.status?.message).toContain('in use by default/reader')

    await world.end('reader')
    await world.pass(60)

    expect([world.store.size(persistentVolumes), world.store.size(persistentVolumeClaims)]).toEqual([0, 0])
    expect(await world.manager()).toBeUndefined()
  })
})
