/** Downloads that fill one disk together, on a store in memory. */
import { expect, test } from 'vitest'
import type { Pod } from '../../src/api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import { toTime } from '../../src/base/time/timestamp.ts'
import { directoryOfMover } from '../../src/core/volume-manager/mover/affinity.ts'
import { makeVolumeManager } from '../builders.ts'
import { ended, type MoverFate, moverSays, VolumeWorld } from '../volume-world.ts'

const GIB = 2 ** 30

/**
 * A world with nodes of 100 GiB. A download of 60 GiB begins if they are free. Then it adds 10 GiB at each step, until it is complete or the disk
 * is full. `filled` returns how many downloads filled a disk.
 */
async function worldWithDisks(...nodes: string[]) {
  const world = await new VolumeWorld().start(...nodes)
  /** In GiB, by node and directory. */
  const data = new Map<string, number>()
  const freeOn = (node: string) =>
    100 - [...data].reduce((sum, [place, size]) => sum + (place.startsWith(`${node}:`) ? size : 0), 0)
  let filled = 0
  const diskOf = (node: string) => ({ freeBytes: freeOn(node) * GIB, totalBytes: 100 * GIB })
  world.disk = diskOf

  world.fate = ({ spec, ...pod }: Pod): MoverFate => {
    const node = spec.nodeName ?? ''
    const place = `${node}:${directoryOfMover({ spec, ...pod })}`
    const isDownload = spec.containers[0]?.args?.includes('download')
    const has = data.get(place) ?? 0
    if (!isDownload) data.delete(place)
    if (!isDownload || has >= 60) return 'completes'
    if (freeOn(node) >= (has === 0 ? 60 : 1)) {
      data.set(place, has + Math.min(10, freeOn(node)))
      return 'goes on'
    }
    if (has > 0) filled += 1
    const sizes = { bytes: has * GIB, totalBytes: 60 * GIB, disk: diskOf(node) }
    const message = moverSays({ code: 'NoSpace', retry: false, ...sizes })
    return ended('Failed', { exitCode: 1, message, finishedAt: toTime(world.now) })
  }
  return { world, filled: () => filled }
}

const stateIn = async (world: VolumeWorld, name: string) => (await world.volume('vol1', name))?.replicas?.[0]?.state

const create = (world: VolumeWorld, name: string): Promise<VolumeManager> =>
  world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1, capacity: '' }], { name }))

test('of two downloads that fill one disk together, the next ones are in a row', async () => {
  const { world, filled } = await worldWithDisks('n1')
  for (const name of ['a', 'b']) await create(world, name)

  for (let minute = 0; minute < 30; minute++) await world.pass(60)

  expect([await stateIn(world, 'a'), await stateIn(world, 'b')].sort()).toEqual(['Failed', 'Ready'])
  expect(filled()).toBe(2)
})

test('two downloads that fill one disk together go to two nodes then', async () => {
  const { world, filled } = await worldWithDisks('n1', 'n2')
  for (const name of ['a', 'b']) await create(world, name)

  for (let minute = 0; minute < 10; minute++) await world.pass(60)

  expect([await stateIn(world, 'a'), await stateIn(world, 'b')]).toEqual(['Ready', 'Ready'])
  expect(filled()).toBe(2)
})

test('data for which a pod waits is not deleted for other data', async () => {
  const { world } = await worldWithDisks('n1')
  const config = { replicas: 1, capacity: '', evictionPolicy: 'LeastRecentlyUsed' } as const
  for (const name of ['a', 'b']) await world.store.create(volumeManagers, makeVolumeManager([config], { name }))
  await world.settle('a')
  await world.settle('b')
  for (const name of ['a', 'b'])
    await world.use(`pod-of-${name}`, (await world.volume('vol1', name))?.volumeSource?.hostPath?.path ?? '')

  for (let step = 0; step < 600; step++) {
    world.now += 2000
    for (const name of ['a', 'b']) await world.reconcile(name)
    await world.evict('n1')
    await world.live()
  }

  expect([await stateIn(world, 'a'), await stateIn(world, 'b')]).toEqual(['Ready', 'Failed'])
  expect([...world.downloads.values()]).toEqual([1])
})
