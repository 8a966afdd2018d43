/** The status of a VolumeManager has an entry for each volume, also for removed ones. The CRD limits their number. */
import { expect, test } from 'vitest'
import { volumeManagerSchema } from '../../src/api/schemas/volume-manager.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { findCondition } from '../../src/base/conditions.ts'
import { compileSchema } from '../../src/base/schema/schema-errors.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

const errorsOf = compileSchema(volumeManagerSchema, 'forbidden')
const volumes = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => makeVolume({ id: `${prefix}${i}` }))

test('new volumes wait for the deletion of removed ones if the status has no room', async () => {
  const world = await new VolumeWorld().start('n1', 'n2')
  const errors: unknown[] = []
  const followed = async () => {
    const { spec, status } = (await world.manager()) ?? makeVolumeManager()
    errors.push(...errorsOf({ spec, status }))
    return status
  }
  world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 200, maxPerNode: 100 } }
  await world.store.create(volumeManagers, makeVolumeManager(volumes('a', 60)))
  await world.pass(60)
  expect(await followed()).toMatchObject({ state: 'Running', ready: '60/60' })

  await world.change({ spec: { volumeConfigs: volumes('b', 60) } })
  await world.reconcile()
  const between = await followed()
  expect(between?.volumes).toHaveLength(100)
  expect(between).toMatchObject({ state: 'Pending', ready: expect.stringMatching(/\/120$/) })
  expect(findCondition(between?.conditions, 'ReplicasReady')?.message).toContain(
    'b40: 0 ready (begins when the data of removed volumes is deleted: the status has no room for more)',
  )

  for (let i = 0; i < 6; i++) {
    await world.pass(60)
    await followed()
  }
  const after = await followed()
  expect(after).toMatchObject({ state: 'Running', ready: '60/60' })
  expect(after?.volumes?.map(({ id }) => id)).toEqual(volumes('b', 60).map(({ id }) => id))
  expect(world.disks.size).toBe(60)
  expect([errors, world.violations]).toEqual([[], []])
})

test('a VolumeManager whose new volumes wait can be deleted', async () => {
  const world = await new VolumeWorld().start('n1', 'n2')
  await world.store.create(volumeManagers, makeVolumeManager(volumes('a', 100)))
  await world.reconcile()
  await world.change({ spec: { volumeConfigs: volumes('b', 100) } })
  await world.reconcile()

  await world.deleteManager()
  for (let i = 0; i < 20; i++) await world.pass(60)
  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
})
