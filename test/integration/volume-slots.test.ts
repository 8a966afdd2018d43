/** Tenants that take all slots of movers, on a store in memory. */
import { describe, expect, test } from 'vitest'
import { keyOfObject } from '../../src/api/meta.ts'
import { pods } from '../../src/api/pod.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import { namespaceOfMover } from '../../src/core/volume-manager/schedule/shares.ts'
import { makeVolumeManager, nodesWith } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

function managerIn(namespace: string, name: string, config: Partial<VolumeConfig> = {}): VolumeManager {
  const manager = makeVolumeManager([{ replicas: 1, ...config }], { name })
  return { ...manager, metadata: { ...manager.metadata, namespace } }
}

describe('the slots of a cluster', () => {
  /** A cluster with two slots, and the namespace `shop` with ten VolumeManagers of the highest priority whose movers go on. */
  async function busyWorld(): Promise<VolumeWorld> {
    const world = await new VolumeWorld().start('n1', 'n2')
    world.settings = {
      ...world.settings,
      movers: { ...world.settings.movers, maxInAll: 2, progressTimeoutSeconds: 1e6 },
    }
    world.fate = (pod) => (namespaceOfMover(pod) === 'shop' ? 'goes on' : 'completes')
    for (let i = 0; i < 10; i++)
      await world.store.create(volumeManagers, managerIn('shop', `slow-${i}`, { priority: 1e9 }))
    await world.settle()
    return world
  }

  const statesIn = (world: VolumeWorld, namespace: string) =>
    [...world.store.list(volumeManagers)]
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(({ status }) => status?.volumes?.[0]?.replicas?.[0])

  test('go to another namespace when a mover ends, before the ten of highest priority', async () => {
    const world = await busyWorld()
    await world.store.create(volumeManagers, managerIn('default', 'late', { priority: -1e9 }))
    await world.settle()
    expect(statesIn(world, 'default')[0]?.state).toBe('Queued')

    let isFirst = true
    world.fate = (pod) => {
      if (namespaceOfMover(pod) !== 'shop') return 'completes'
      const fate = isFirst ? 'completes' : 'goes on'
      isFirst = false
      return fate
    }
    await world.settle()

    expect(statesIn(world, 'default')[0]?.state).toBe('Ready')
    expect(statesIn(world, 'shop').filter((one) => one?.state === 'Ready')).toHaveLength(1)
  })

  test('are held by slow movers of one namespace for a limited time only', async () => {
    const world = await busyWorld()
    await world.store.create(volumeManagers, managerIn('default', 'late'))
    await world.pass(1700)
    expect(statesIn(world, 'default')[0]?.state).toBe('Queued')

    await world.pass(200)
    const preempted = statesIn(world, 'shop').filter((one) => one?.preemptions)
    expect(statesIn(world, 'default')[0]?.state).toBe('Ready')
    expect(preempted).toHaveLength(1)
    expect(preempted[0]).toMatchObject({ state: 'Queued', reason: 'Preempted', attempt: 2, preemptions: 1 })
    expect(preempted[0]?.failures).toBeUndefined()
    expect(world.events.filter(({ reason }) => reason === 'MoverPreempted')).toHaveLength(1)

    world.fate = () => 'completes'
    await world.pass(300)
    expect(statesIn(world, 'shop').map((one) => one?.state)).toEqual(Array.from({ length: 10 }, () => 'Ready'))
    expect(statesIn(world, 'shop').filter((one) => one?.preemptions)).toEqual([])
    expect(world.violations).toEqual([])
  })

  test('are held by movers without room on a node, after 5 minutes until others wait', async () => {
    const world = await new VolumeWorld().start('n1', 'n2')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 2 } }
    world.hasRoom = (pod) => namespaceOfMover(pod) !== 'shop'
    for (let i = 0; i < 2; i++) await world.store.create(volumeManagers, managerIn('shop', `large-${i}`))
    await world.settle()
    await world.pass(1000)
    expect(statesIn(world, 'shop').map((one) => one?.state)).toEqual(['Starting', 'Starting'])
    for (const name of ['one', 'two']) await world.store.create(volumeManagers, managerIn('default', name))
    await world.settle()
    expect(statesIn(world, 'default').map((one) => one?.state)).toEqual(['Ready', 'Ready'])
    expect(statesIn(world, 'shop')).toContainEqual(
      expect.objectContaining({
        state: 'Failed',
        reason: 'PrepareTimeout',
        message: 'did not start in time: 0 nodes are available',
      }),
    )

    world.hasRoom = () => true
    await world.pass(600)
    expect(statesIn(world, 'shop').map((one) => one?.state)).toEqual(['Ready', 'Ready'])
    expect(world.violations).toEqual([])
  })

  test('are held as long as they are needed while no other namespace waits', async () => {
    const world = await busyWorld()
    await world.pass(86_400)

    expect(statesIn(world, 'shop').filter((one) => one?.preemptions)).toEqual([])
    expect(world.events.map(({ reason }) => reason)).not.toContain('MoverPreempted')
  })
})

test('deletions without room on their node delay those of others by 5 minutes only', async () => {
  const world = await new VolumeWorld().start('n1')
  world.settings = { ...world.settings, movers: { ...world.settings.movers, maxPerNode: 2 } }
  const managers = [managerIn('shop', 'a'), managerIn('shop', 'b'), managerIn('default', 'c')]
  for (const manager of managers) await world.store.create(volumeManagers, manager)
  await world.settle()
  expect(world.disks.size).toBe(3)

  world.hasRoom = (pod) => namespaceOfMover(pod) !== 'shop'
  const keys = managers.map(keyOfObject)
  for (const manager of managers) {
    await world.remove(volumeManagers, manager)
    await world.settle(...keys)
  }
  expect(world.disks.size).toBe(3)
  world.now += 310_000
  await world.settle(...keys)
  expect(world.disks.size).toBe(2)

  world.hasRoom = () => true
  world.now += 310_000
  await world.settle(...keys)
  expect(world.disks.size).toBe(0)
  expect(world.violations).toEqual([])
})

describe('a mover on a node that does not answer', () => {
  /** A mover of `sales` that downloads, on a node that is not ready any more. Its Pod stays, since no kubelet ends it. */
  async function lostMover(...others: string[]): Promise<{ world: VolumeWorld; lost: string }> {
    const world = await new VolumeWorld().start()
    for (const name of ['n1', ...others]) await world.addNode(name, { labels: { disk: '' } })
    world.fate = () => 'goes on'
    const config = { replicas: 1, nodeAffinity: nodesWith('disk') }
    await world.store.create(volumeManagers, makeVolumeManager([config], { name: 'sales' }))
    await world.settle()
    const [pod] = world.movers()
    const lost = pod?.spec.nodeName ?? ''
    const { name = '' } = pod?.metadata ?? {}
    await world.store.patch(pods, { namespace: 'default', name }, { metadata: { finalizers: ['example.org/kubelet'] } })
    await world.setCondition(lost, 'Ready', 'Unknown')
    if (pod) await world.remove(pods, pod)
    world.fate = () => 'completes'
    return { world, lost }
  }
  const replicaOf = async (world: VolumeWorld) => (await world.volume())?.replicas?.[0]

  test('is replaced by one on another node after volumes.nodeLossSeconds', async () => {
    const { world, lost } = await lostMover('n2')
    await world.pass(world.settings.nodeLossSeconds - 60)
    expect((await replicaOf(world))?.state).not.toBe('Ready')

    await world.pass(120)
    const replica = await replicaOf(world)
    expect(replica).toMatchObject({ state: 'Ready', node: lost === 'n1' ? 'n2' : 'n1' })

    // Its data is deleted when the node is back, and not earlier.
    expect((await world.volume())?.deletions).toMatchObject([{ node: lost, state: 'Waiting' }])
    await world.setCondition(lost, 'Ready', 'True')
    for (const { metadata } of world.movers()) {
      const patch = { metadata: { finalizers: null } }
      await world.store.patch(pods, { namespace: 'default', name: metadata.name ?? '' }, patch)
    }
    await world.pass(10)
    expect(await world.volume()).not.toHaveProperty('deletions')
    expect(world.violations).toEqual([])
  })

  test('has no slot after volumes.nodeLossSeconds, also without another node', async () => {
    const { world } = await lostMover()
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 1 } }
    await world.addNode('n2', { labels: { pool: 'other' } })
    const config = { nodeAffinity: nodesWith('pool'), replicas: 1 }
    await world.store.create(volumeManagers, makeVolumeManager([config], { name: 'other' }))

    await world.pass(world.settings.nodeLossSeconds - 60)
    expect((await world.volume('vol1', 'other'))?.replicas?.[0]?.state).toBe('Queued')
    await world.pass(120)
    expect((await world.volume('vol1', 'other'))?.replicas?.[0]?.state).toBe('Ready')
    expect(world.violations).toEqual([])
  })
})
