/** Nodes that are short of disk, on a store in memory: which data leaves them, and when it comes back. */
import { describe, expect, test } from 'vitest'
import { admissionChecks, kueueWorkloads } from '../../src/api/kueue.ts'
import type { ResourceType } from '../../src/api/meta.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { makeAdmissionCheck, makeDaemonSet, makeKueueWorkload, makeVolume, makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'
import { pathOf } from './volume-steps.ts'

describe('a node that is short of disk', () => {
  async function cramped() {
    const world = await new VolumeWorld().start('n1')
    const cache = { evictionPolicy: 'LeastRecentlyUsed' as const }
    await world.store.create(volumeManagers, makeVolumeManager([cache], { name: 'old' }))
    await world.settle()
    world.now += 60_000
    await world.store.create(volumeManagers, makeVolumeManager([cache], { name: 'new' }))
    await world.store.create(volumeManagers, makeVolumeManager([{}], { name: 'kept' }))
    await world.settle()
    await world.setCondition('n1', 'DiskPressure', 'True')
    return world
  }
  /** A node whose data of `old` was evicted, and that has free disk again. */
  async function afterEviction() {
    const world = await cramped()
    await world.evict('n1')
    for (let i = 0; i < 3; i++) await world.pass(10)
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    expect(await stateOf(world, 'old')).toBe('Evicted')
    return world
  }
  const stateOf = async (world: VolumeWorld, name: string) => (await world.volume('vol1', name))?.replicas?.[0]?.state

  test('loses the data that was used longest ago, one at a time, of those that allow it', async () => {
    const world = await cramped()
    await world.evict('n1')
    await world.settle()
    await world.pass(10)
    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Evicted', 'Ready'])
    expect(world.disks.size).toBe(2)
    expect(world.events.map(({ reason }) => reason)).toContain('ReplicaEvicted')

    expect(await world.evict('n1')).toBeGreaterThan(200_000)
    expect(await stateOf(world, 'new')).toBe('Ready')
    world.now += 300_000
    await world.evict('n1')
    expect(await stateOf(world, 'new')).toBe('Evicted')
    await world.pass(10)
    world.now += 300_000
    await world.evict('n1')
    expect(await stateOf(world, 'kept')).toBe('Ready')
  })

  test('keeps new data that a waiting mover brings while the old data is deleted', async () => {
    const world = await new VolumeWorld().start('n1')
    const cache = makeVolume({ evictionPolicy: 'LeastRecentlyUsed' })
    await world.store.create(volumeManagers, makeVolumeManager([cache]))
    await world.settle()
    await world.addNode('n2')
    await world.change({ spec: { volumeConfigs: [{ ...cache, replicas: 2 }] } })
    for (let i = 0; i < 2; i++) await world.reconcile()
    // The mover for n2 finds no room there, and then n1 loses its node label.
    await world.taint('n2', { key: 'maintenance', effect: 'NoSchedule' })
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.evict('n1')
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(world.violations).toEqual([])
    expect((await world.volume())?.replicas?.filter(({ state }) => state === 'Ready').map(({ node }) => node)).toEqual([
      'n1',
    ])
    expect([...world.disks.values()]).toEqual(['whole'])
  })

  test('is relieved in a minute if movers report the disk, and loses no more than needed', async () => {
    const world = await new VolumeWorld().start('n1')
    // Each replica has 4 % of the disk, and other programs have 56 %.
    world.disk = () => ({ freeBytes: 44 - 4 * world.disks.size, totalBytes: 100 })
    for (let i = 0; i < 10; i++) {
      const cache = makeVolumeManager([{ evictionPolicy: 'LeastRecentlyUsed' }], { name: `cache-${i}` })
      await world.store.create(volumeManagers, cache)
      await world.settle()
    }
    await world.setCondition('n1', 'DiskPressure', 'True')
    const passed = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        await world.evict('n1')
        await world.pass(5)
      }
      return world.disks.size
    }

    expect([await passed(60), await passed(200)]).toEqual([6, 6])
    // The kubelet may mean another disk.
    expect(await passed(100)).toBe(5)
  })

  test('keeps what a pod uses, and what was used lately', async () => {
    const world = await cramped()
    await world.use('reader', (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? '', 'n1')
    await world.settle()
    await world.evict('n1')

    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Ready', 'Evicted'])
  })

  test('keeps what a Job used last, although the loop does not know its end yet', async () => {
    const world = await cramped()
    world.now += 60_000
    await world.cameAndWent('trainer', (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? '', 'n1')
    await world.evict('n1')

    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Ready', 'Evicted'])
  })

  test('keeps what a Job changed that came and went unseen, until that is written back', async () => {
    const world = await new VolumeWorld().start('n1')
    const options = { ...makeVolume().options, resync: 'true' }
    await world.store.create(volumeManagers, makeVolumeManager([{ options, evictionPolicy: 'LeastRecentlyUsed' }]))
    await world.settle()
    await world.pass(60)
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.evict('n1')
    expect(await stateOf(world, 'sales')).toBe('Ready')

    await world.pass(60)
    await world.evict('n1')

    expect(await stateOf(world, 'sales')).toBe('Evicted')
  })

  test('gets the data again when a pod waits for it', async () => {
    const world = await cramped()
    await world.evict('n1')
    for (let i = 0; i < 3; i++) await world.pass(10)
    const path = (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? ''
    expect((await world.manager('old'))?.status?.state).toBe('Pending')
    expect(path).not.toBe('')
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    expect(await stateOf(world, 'old')).toBe('Evicted')

    await world.use('waiting', path)
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('gets the data again when a Workload of Kueue without pods waits for it', async () => {
    const world = await afterEviction()
    await world.store.create(admissionChecks, makeAdmissionCheck())
    const workload = makeKueueWorkload({ volumes: '{"name":"old"}' })
    await world.store.create(kueueWorkloads, workload)
    const { status } = workload
    const of = { namespace: 'default', name: 'job-train' }
    await world.store.patch(kueueWorkloads, of, { status }, { subresource: 'status' })
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('gets the data again for a DaemonSet, which has no pods before that', async () => {
    const world = await afterEviction()
    const daemonSets = SHIPPED_KINDS.find('apps/v1', 'DaemonSet')?.type as ResourceType
    await world.store.create(daemonSets, makeDaemonSet('{"name":"old"}'))
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('is left alone where eviction is off', async () => {
    const world = await cramped()
    world.settings = { ...world.settings, eviction: { ...world.settings.eviction, enabled: false } }
    await world.evict('n1')

    expect(await stateOf(world, 'old')).toBe('Ready')
  })
})
