/** VolumeManagers that are deleted while a node is not ready, on a store in memory. */
import { expect, test } from 'vitest'
import { nodes } from '../../src/api/node.ts'
import { type VolumeConfig, volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

async function worldWith(volume: Partial<VolumeConfig> = { replicas: 2 }, names = ['n1', 'n2']) {
  const world = await new VolumeWorld().start(...names)
  await world.store.create(volumeManagers, makeVolumeManager([volume]))
  await world.settle()
  return world
}

/** A VolumeManager with data on n1 and n2 that is deleted while n1 is not ready. */
async function deletedWhileNotReady() {
  const world = await worldWith()
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteManager()
  await world.pass(5)
  return world
}

const diskOf = (world: VolumeWorld, node: string) => [...world.disks.keys()].filter((place) => place.startsWith(node))
const annotationsOf = (world: VolumeWorld, node: string) =>
  world.store.get(nodes, undefined, node)?.metadata.annotations
const reasonsOf = (world: VolumeWorld) => world.events.map(({ reason }) => reason)

test('a node that is not ready is skipped, and its data deleted when it is ready', async () => {
  const world = await deletedWhileNotReady()
  await world.pass(580)
  expect((await world.manager())?.status?.message).toContain('n1: the node is not ready')
  expect([diskOf(world, 'n1').length, diskOf(world, 'n2').length]).toEqual([1, 0])
  expect(reasonsOf(world)).not.toContain('NodeSkipped')

  await world.pass(11)
  expect(await world.manager()).toBeUndefined()
  expect(diskOf(world, 'n1')).toHaveLength(1)
  expect(reasonsOf(world)).toContain('NodeSkipped')
  expect(world.movers()).toEqual([])

  world.restart()
  await world.setCondition('n1', 'Ready', 'True')
  await world.settle()
  expect(world.disks.size).toBe(0)
  expect(annotationsOf(world, 'n1')).toBeUndefined()
  expect(reasonsOf(world)).toContain('LeftoverDeleted')
  expect(world.movers()).toEqual([])
  expect(world.violations).toEqual([])
})

test('a mover that finds no room on its node gives its slot back, and begins later', async () => {
  const world = await deletedWhileNotReady()
  await world.pass(601)
  await world.setCondition('n1', 'Ready', 'True')
  /** Lets time pass, and returns the number of movers that have a slot. */
  const wait = async (seconds: number) => {
    world.now += seconds * 1000
    await world.deleteLeftovers()
    return world.movers().length
  }

  expect(await wait(0)).toBe(1)
  const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'Too many pods' }
  const lastTransitionTime = new Date(world.now).toISOString()
  for (const pod of world.movers())
    await world.setStatus(pod, { phase: 'Pending', conditions: [{ ...unschedulable, lastTransitionTime }] })
  expect([await wait(1800), await wait(1), await wait(299), await wait(1)]).toEqual([1, 0, 0, 1])
  expect(world.events.at(-1)?.message).toBe(
    'vol1 of default/sales: PrepareTimeout: did not start in time: Too many pods; it is retried',
  )

  await world.settle()
  expect(world.disks.size).toBe(0)
})

test('a pod that still uses the data keeps it', async () => {
  const world = await worldWith()
  const path = (await world.volume())?.volumeSource?.hostPath?.path ?? ''
  await world.use('reader', path, 'n1')
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteManager()
  await world.pass(5)
  await world.pass(601)
  expect(await world.manager()).toBeUndefined()

  await world.setCondition('n1', 'Ready', 'True')
  await world.settle()
  expect(diskOf(world, 'n1')).toHaveLength(1)
  await world.unuse('reader')
  await world.pass(60)

  expect(world.disks.size).toBe(0)
  expect(world.violations).toEqual([])
})

test('a VolumeManager that is created again under the same name keeps its data', async () => {
  const world = await worldWith()
  const before = diskOf(world, 'n1')
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteManager()
  await world.pass(5)
  await world.pass(601)
  await world.addNode('n3')
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }]))
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n2', 'n3'])
  await world.change({ spec: makeVolumeManager([{ replicas: 3 }]).spec })

  await world.setCondition('n1', 'Ready', 'True')
  for (let i = 0; i < 3; i++) await world.pass(60)

  expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
  const after = diskOf(world, 'n1')
  expect(after).toHaveLength(1)
  expect(after).not.toEqual(before)
  expect(world.violations).toEqual([])
})

test('a node that is deleted takes its copy with it immediately', async () => {
  const world = await deletedWhileNotReady()
  await world.pass(5)
  expect(await world.manager()).toBeDefined()

  await world.removeNode('n1')
  await world.settle()

  expect(await world.manager()).toBeUndefined()
  expect(reasonsOf(world)).not.toContain('NodeSkipped')
})

test('changes that are not written back wait for the node', async () => {
  const options = { ...makeVolumeManager().spec.volumeConfigs[0]?.options, resync: 'true' }
  const world = await worldWith({ replicas: 1, options }, ['n1'])
  const path = (await world.volume())?.volumeSource?.hostPath?.path ?? ''
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.cameAndWent('trainer', path, 'n1')
  await world.settle()
  await world.pass(301)
  await world.deleteManager()
  await world.pass(5)
  await world.pass(601)

  const { message } = (await world.manager())?.status ?? {}
  expect(message).toMatch(
    /n1: the node is not ready; its changes are written back after that; annotate lodestone.dev\/delete-in-use=true/,
  )
  await world.setCondition('n1', 'Ready', 'True')
  for (let i = 0; i < 3; i++) await world.pass(60)

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
})
