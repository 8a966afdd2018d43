/** A status that another client wrote: a user with the right to it, a restored backup, or another version of Lodestone. */
import { describe, expect, test } from 'vitest'
import { type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus, VolumeStatus } from '../../src/api/volume-status.ts'
import { directoryOfMover } from '../../src/core/volume-manager/mover/affinity.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

const RESYNC = { ...makeVolume().options, resync: 'true' }

/** A world with the ready data of default/sales on n1 and of default/other on n2, and the directories that movers get after that. */
async function worldOfTwo(config: object = {}) {
  const world = await new VolumeWorld().start('n1')
  await world.store.create(volumeManagers, makeVolumeManager([config]))
  await world.settle()
  await world.store.create(volumeManagers, makeVolumeManager([{}], { name: 'other' }))
  await world.settle()
  const [own] = (await world.volume())?.replicas ?? []
  const [foreign] = (await world.volume('vol1', 'other'))?.replicas ?? []
  if (!own?.path || !foreign?.path) throw new Error('no data')
  const directories: (string | undefined)[] = []
  world.fate = (pod) => {
    directories.push(directoryOfMover(pod))
    return 'completes'
  }
  return { world, own, path: own.path, foreign, other: foreign.path, directories }
}

async function writeVolume(world: VolumeWorld, change: (volume: VolumeStatus) => object): Promise<void> {
  const { metadata, status } = (await world.manager()) as VolumeManager
  const volumes = (status?.volumes ?? []).map((volume) => ({ ...volume, ...change(volume) }))
  await world.store.patch(
    volumeManagers,
    { namespace: 'default', name: metadata.name ?? '' },
    { status: { volumes } },
    { subresource: 'status' },
  )
}

function deletionOf({ node = '', path = '', revision }: ReplicaStatus, more: Partial<DeletionStatus> = {}) {
  const common = { nodeLabels: [], cause: 'Removed', attempt: 1, since: '2020-01-01T00:00:00Z' }
  return { index: 7, node, path, revision, state: 'Queued', ...common, ...more }
}

async function later(world: VolumeWorld): Promise<void> {
  for (let i = 0; i < 4; i++) await world.pass(60)
}

describe('a directory in the status that is not one of the VolumeManager', () => {
  test.each(['Waiting', 'Queued', 'Deleting', 'Failed'])('is not deleted by a deletion that is %s', async (state) => {
    const { world, foreign, other, directories } = await worldOfTwo()
    await writeVolume(world, () => ({ deletions: [deletionOf(foreign, { state: state as DeletionStatus['state'] })] }))
    await later(world)

    expect(world.disks.get(`n1:${other}`)).toBe('whole')
    expect(directories).not.toContain(other)
    expect((await world.volume())?.deletions).toBeUndefined()
  })

  test.each(['/', '/etc', '/var/datasets', '/var/datasets/vck-resource-x/../../../etc'])(
    'such as %s gets no mover',
    async (path) => {
      const { world, own, directories } = await worldOfTwo({ options: RESYNC })
      await writeVolume(world, () => ({
        replicas: [{ ...own, path, lastUsedTime: '2020-01-01T00:00:00Z' }],
        deletions: [deletionOf({ ...own, path })],
      }))
      await later(world)

      expect(directories).not.toContain(path)
    },
  )

  test.each((['Ready', 'Queued', 'Unreachable', 'Failed', 'Evicted'] as const).map((state) => ({ state })))(
    'of another tenant is not read, written or deleted for a replica that is $state',
    async ({ state }) => {
      const { world, own, other, directories } = await worldOfTwo({ options: RESYNC })
      await writeVolume(world, () => ({
        replicas: [{ ...own, state, path: other, lastUsedTime: '2020-01-01T00:00:00Z' }],
      }))
      await later(world)
      await world.deleteManager()
      await later(world)

      expect(directories).not.toContain(other)
      expect(world.disks.get(`n1:${other}`)).toBe('whole')
      expect(await world.manager()).toBeUndefined()
    },
  )

  test('of an earlier object is downloaded again after a restore with its status', async () => {
    const { world, own, path, other } = await worldOfTwo()
    await writeVolume(world, () => ({ replicas: [{ ...own, path: other }] }))
    await later(world)

    const volume = await world.volume()
    expect(volume).toMatchObject({ message: 'success', replicas: [{ path, state: 'Ready', node: 'n1' }] })
  })
})

describe('a value in the status that this version does not know', () => {
  test.each(['Thawing', '', 'toString'])('state %j of a replica: its mover looks for the data again', async (state) => {
    const { world, own, path } = await worldOfTwo()
    await writeVolume(world, () => ({ replicas: [{ ...own, state }] }))
    await later(world)

    expect(await world.volume()).toMatchObject({ message: 'success', replicas: [{ path, state: 'Ready', node: 'n1' }] })
    expect(world.downloads.get(`n1:${path}`)).toBe(1)
  })

  test.each([
    { name: 'a replica', change: (own: ReplicaStatus) => ({ replicas: [{ ...own, state: 'Thawing' }] }) },
    {
      name: 'an upload',
      change: (own: ReplicaStatus) => ({ replicas: [{ ...own, upload: { state: 'Thawing', attempt: 1 } }] }),
    },
    {
      name: 'maintenance',
      change: (own: ReplicaStatus) => ({
        replicas: [{ ...own, maintenance: { kind: 'Check', state: 'Thawing', attempt: 1 } }],
      }),
    },
    {
      name: 'a deletion',
      change: (own: ReplicaStatus) => ({ replicas: [], deletions: [deletionOf(own, { state: 'Thawing' as never })] }),
    },
  ])('the state of $name does not stop the deletion of the VolumeManager', async ({ change }) => {
    const { world, own } = await worldOfTwo({ options: RESYNC })
    await writeVolume(world, () => change(own))
    await world.deleteManager()
    await later(world)

    expect(await world.manager()).toBeUndefined()
    expect([...world.disks.keys()]).toHaveLength(1)
  })
})

test('a node label of another client in a deletion does not stop it', async () => {
  const { world, own } = await worldOfTwo()
  const nodeLabels = ['kubernetes.io/hostname']
  await writeVolume(world, () => ({ replicas: [], deletions: [deletionOf(own, { nodeLabels })] }))
  await world.deleteManager()
  await later(world)

  expect(await world.manager()).toBeUndefined()
})

test('a number is used once, also if another client wrote a smaller next one', async () => {
  const { world } = await worldOfTwo()
  await writeVolume(world, () => ({ nextIndex: 0 }))
  await world.addNode('n2')
  await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 2 })] } })
  await later(world)

  const indexes = (await world.volume())?.replicas?.map(({ index }) => index)
  expect(new Set(indexes).size).toBe(2)
  expect(world.violations).toEqual([])
})
