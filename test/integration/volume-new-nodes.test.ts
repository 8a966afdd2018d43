/** Data for nodes that do not exist yet: an autoscaler adds a node only for a Pod that is Pending. */
import { describe, expect, test } from 'vitest'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

const POOL = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['gpu'] }] }],
  },
}

/** A cluster whose pool `gpu` has no node, and a VolumeManager with data for that pool. */
async function worldWithout(config: Partial<VolumeConfig> = {}, awaitNewNodes = true): Promise<VolumeWorld> {
  const world = await new VolumeWorld().start('n1')
  world.settings = {
    ...world.settings,
    movers: { ...world.settings.movers, awaitNewNodes, maxInAll: 2, maxPerNode: 2 },
  }
  await world.store.create(volumeManagers, makeVolumeManager([{ nodeAffinity: POOL, replicas: 1, ...config }]))
  await world.settle()
  return world
}

const addGpuNode = (world: VolumeWorld, name: string) => world.addNode(name, { labels: { pool: 'gpu' } })
const pending = (world: VolumeWorld) => world.movers().filter(({ status }) => status?.phase === 'Pending')

describe('with `awaitNewNodes`, data that no node can take', () => {
  test('has one mover that is Pending, and arrives with the node', async () => {
    const world = await worldWithout({ replicas: 2 })
    expect(pending(world)).toHaveLength(1)

    await addGpuNode(world, 'gpu-1')
    await world.settle()
    expect(await world.nodesOf()).toEqual(['gpu-1'])
    expect(pending(world)).toHaveLength(1)

    await addGpuNode(world, 'gpu-2')
    await world.settle()
    expect(await world.nodesOf()).toEqual(['gpu-1', 'gpu-2'])
    expect([world.movers().length, world.violations]).toEqual([0, []])
  })

  test('keeps no slot from data of other namespaces for more than five minutes', async () => {
    const world = await worldWithout()
    for (const name of ['other', 'third'])
      await world.store.create(volumeManagers, makeVolumeManager([{ nodeAffinity: POOL, replicas: 1 }], { name }))
    await world.settle()
    expect(pending(world)).toHaveLength(2)
    const late = makeVolumeManager([{ replicas: 1 }], { name: 'late' })
    await world.store.create(volumeManagers, { ...late, metadata: { ...late.metadata, namespace: 'shop' } })
    await world.settle()

    for (let i = 0; i < 7; i++) await world.pass(60)

    const found = [...world.store.list(volumeManagers)].find(({ metadata }) => metadata.namespace === 'shop')
    expect(found?.status?.state).toBe('Running')
  })

  test.each<{ name: string; config?: Partial<VolumeConfig>; change: (world: VolumeWorld) => Promise<unknown> }>([
    {
      name: 'a copy on every node',
      config: { onEveryNode: true, replicas: undefined as never },
      change: async () => 0,
    },
    {
      name: 'the node is only not ready',
      change: async (world) => {
        await addGpuNode(world, 'gpu-1')
        await world.setCondition('gpu-1', 'Ready', 'False')
      },
    },
  ])('has no such mover: $name', async ({ config = {}, change }) => {
    const world = await new VolumeWorld().start('n1')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, awaitNewNodes: true } }
    await change(world)
    await world.store.create(volumeManagers, makeVolumeManager([{ nodeAffinity: POOL, replicas: 1, ...config }]))

    await world.settle()

    expect(world.movers()).toEqual([])
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Queued', reason: 'NoNode' }])
  })
})

test('without `awaitNewNodes`, data that no node can take has no mover', async () => {
  const world = await worldWithout({}, false)

  expect(world.movers()).toEqual([])
  expect((await world.volume())?.replicas).toMatchObject([{ state: 'Queued', reason: 'NoNode' }])
})
