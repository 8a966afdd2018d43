/** The loops of volumes as they run: only the store tells them what changed. */
import { afterEach, describe, expect, test } from 'vitest'
import { secrets } from '../../src/api/dependencies.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { type Controller, startController } from '../../src/reconcile/controller.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import { makeVolume, makeVolumeManager, nodesWith } from '../builders.ts'
import { loopSettings } from '../loop-settings.ts'
import { ended, moverSays, VolumeWorld } from '../volume-world.ts'

let controller: Controller | undefined
let life: NodeJS.Timeout | undefined

afterEach(async () => {
  clearInterval(life)
  await controller?.stop()
})

async function start(...names: string[]): Promise<VolumeWorld> {
  const world = await new VolumeWorld().start(...names)
  let living = Promise.resolve()
  life = setInterval(() => {
    living = living.then(() => world.live()).catch(() => undefined)
  }, 20)
  controller = startController({
    ...loopSettings,
    loops: openLoops({ propagate: 'never', distribution: 'none', volumes: () => world.settings }),
    store: world.store,
    events: { record: (event) => void world.events.push(event) },
    now: Date.now,
    maxMovesPerMinute: 60,
    driftIntervalMs: 600_000,
    observer: { done: () => undefined, queryEnded: () => undefined, moved: () => undefined, failed: () => undefined },
  })
  return world
}

const stateOf = (world: VolumeWorld, name?: string) => async () => (await world.manager(name))?.status?.state
const create = (world: VolumeWorld, name: string, volume = {}) =>
  world.store.create(volumeManagers, makeVolumeManager([volume], { name }))

test('a VolumeManager becomes Running, follows nodes and spec, and goes with its data', async () => {
  const world = await start('n1', 'n2')
  await create(world, 'sales', { replicas: 1 })
  await expect.poll(stateOf(world)).toBe('Running')

  await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 2 })] } })
  await expect.poll(() => world.nodesOf()).toEqual(['n1', 'n2'])

  await world.removeNode('n1')
  await world.addNode('n3')
  await expect.poll(() => world.nodesOf()).toEqual(['n2', 'n3'])

  const path = (await world.volume())?.volumeSource?.hostPath?.path ?? ''
  await world.use('reader', path, 'n2')
  await expect.poll(async () => (await world.volume())?.replicas?.some(({ inUse }) => inUse)).toBe(true)
  await world.deleteManager()
  await expect.poll(async () => (await world.manager())?.status?.message).toContain('in use by default/reader')
  await world.end('reader')
  await expect.poll(() => world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
  await expect.poll(() => world.movers()).toEqual([])
})

test('the changes of a Job are written back although its pod had ended before', async () => {
  const world = await start('n1')
  await create(world, 'sales', { options: { ...makeVolume().options, resync: 'true' } })
  await expect.poll(stateOf(world)).toBe('Running')
  await expect.poll(() => world.movers()).toEqual([])
  const path = (await world.volume())?.volumeSource?.hostPath?.path ?? ''
  world.now += 60_000

  await world.cameAndWent('trainer', path, 'n1')

  await expect.poll(async () => (await world.volume())?.replicas?.[0]?.uploadedTime).toBeDefined()
})

test('those that wait for a turn get it when another one is done', async () => {
  const world = await start('n1', 'n2', 'n3')
  world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 1 } }
  const names = Array.from({ length: 8 }, (_, i) => `v${i}`)
  for (const name of names) await create(world, name, { replicas: 3 })

  for (const name of names) await expect.poll(stateOf(world, name)).toBe('Running')
  expect([...world.downloads.values()]).toEqual(Array(24).fill(1))
})

const failed = (code: string, retry = false) => ended('Failed', { exitCode: 3, message: moverSays({ code, retry }) })
const secret = (name: string, metadata: object = {}): K8sObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default', ...metadata },
})

test('a corrected spec is tried at once', async () => {
  const world = await start('n1')
  world.fate = () => failed('AccessDenied')
  await create(world, 'sales')
  await expect.poll(stateOf(world)).toBe('Failed')
  world.fate = () => 'completes'

  const [volume] = (await world.manager())?.spec?.volumeConfigs ?? []
  const options = { ...volume?.options, region: 'eu-west-1' }
  await world.store.patch(
    volumeManagers,
    { namespace: 'default', name: 'sales' },
    { spec: { volumeConfigs: [{ ...volume, options }] } },
  )

  await expect.poll(stateOf(world)).toBe('Running')
  expect((await world.volume())?.replicas).toMatchObject([{ attempt: 2 }])
})

describe('a Secret that is fixed', () => {
  test.each([
    { name: 'by being made', given: undefined },
    { name: 'by being changed', given: 'aws-creds' },
  ])('has what failed for it tried again at once: $name', async ({ given }) => {
    const world = await start('n1')
    if (given) await world.store.create(secrets, secret(given))
    world.fate = () => failed('AccessDenied')
    await create(world, 'sales')
    await expect.poll(stateOf(world)).toBe('Failed')
    world.fate = () => 'completes'

    if (given) await world.store.patch(secrets, { namespace: 'default', name: given }, { data: { key: 'bmV3' } })
    else await world.store.create(secrets, secret('aws-creds'))

    await expect.poll(stateOf(world)).toBe('Running')
    expect((await world.volume())?.replicas).toMatchObject([{ attempt: 2 }])
  })

  test('while a mover with the old one runs retries only that, when it fails', async () => {
    const world = await start('n1', 'n2')
    await world.store.create(secrets, secret('aws-creds'))
    world.fate = () => 'goes on'
    await create(world, 'sales', { replicas: 2 })
    const runs = () => world.movers().filter(({ status }) => status?.phase === 'Running')
    await expect.poll(() => runs().length).toBe(2)

    await world.store.patch(secrets, { namespace: 'default', name: 'aws-creds' }, { data: { key: 'bmV3' } })
    // The first attempt of one replica ends as before; the cause of the failure of its second attempt remains.
    const [first] = runs()
    world.fate = ({ spec }) => (spec.nodeName === first?.spec.nodeName ? failed('AccessDenied') : 'goes on')

    await expect
      .poll(async () => (await world.volume())?.replicas?.map(({ attempt, state }) => `${attempt} ${state}`).sort())
      .toEqual(['1 Downloading', '2 Failed'])
  })

  test('does not concern those that do not name it, in this namespace or another', async () => {
    const world = await start('n1')
    world.fate = () => failed('AccessDenied')
    await create(world, 'sales')
    await create(world, 'other', { options: { sourceURL: 's3://lake/other/', awsCredentialsSecretName: 'others' } })
    await expect.poll(stateOf(world)).toBe('Failed')
    await expect.poll(stateOf(world, 'other')).toBe('Failed')
    world.fate = () => 'completes'
    await world.store.create(secrets, secret('aws-creds', { namespace: 'elsewhere' }))
    await world.store.create(secrets, secret('others'))

    await expect.poll(stateOf(world, 'other')).toBe('Running')
    expect(await stateOf(world)()).toBe('Failed')
  })
})

describe('a node', () => {
  test('that has room again is tried at once by the VolumeManagers that found none', async () => {
    const world = await start('n1')
    let code = 'NoSpace'
    world.fate = ({ metadata, spec }) => {
      if (metadata.labels?.['vckname'] === 'wrong') return failed('AccessDenied')
      return spec.containers[0]?.args?.includes('download') && code ? failed(code) : 'completes'
    }
    await create(world, 'sales')
    await create(world, 'wrong')
    await expect.poll(stateOf(world)).toBe('Failed')
    await expect.poll(stateOf(world, 'wrong')).toBe('Failed')
    await world.setCondition('n1', 'DiskPressure', 'True')
    code = ''
    await world.setCondition('n1', 'DiskPressure', 'False')

    await expect.poll(stateOf(world)).toBe('Running')
    expect((await world.volume('vol1', 'wrong'))?.replicas).toMatchObject([{ state: 'Failed', attempt: 1 }])
  })

  test('that evicted data lets VolumeManagers without room retry at once', async () => {
    const world = await start()
    for (const zone of ['a', 'b']) await world.addNode(`n-${zone}`, { labels: { [zone]: '' } })
    await create(world, 'old', { evictionPolicy: 'LeastRecentlyUsed', nodeAffinity: nodesWith('a') })
    await expect.poll(stateOf(world, 'old')).toBe('Running')
    const [old] = world.disks.keys()
    world.fate = ({ spec }) => {
      const isFull = spec.nodeName === 'n-b' || world.disks.has(old ?? '')
      return spec.containers[0]?.args?.includes('download') && isFull ? failed('NoSpace') : 'completes'
    }
    await create(world, 'elsewhere', { nodeAffinity: nodesWith('b') })
    await expect.poll(stateOf(world, 'elsewhere')).toBe('Failed')

    await create(world, 'sales', { nodeAffinity: nodesWith('a') })

    await expect.poll(stateOf(world)).toBe('Running')
    expect((await world.volume('vol1', 'elsewhere'))?.replicas).toMatchObject([{ state: 'Failed', attempt: 1 }])
    expect((await world.volume('vol1', 'old'))?.replicas).toMatchObject([{ state: 'Evicted' }])
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready', attempt: 2 }])
  })

  test('that comes is used by the VolumeManager that waited for it', async () => {
    const world = await start('n1')
    await create(world, 'sales', { replicas: 2 })
    await expect.poll(stateOf(world)).toBe('Failed')
    await world.addNode('n2')

    await expect.poll(stateOf(world)).toBe('Running')
  })

  test('that is short of disk loses unused data', async () => {
    const world = await start('n1')
    await create(world, 'sales', { evictionPolicy: 'LeastRecentlyUsed' })
    await expect.poll(stateOf(world)).toBe('Running')
    await world.setCondition('n1', 'DiskPressure', 'True')

    await expect.poll(async () => (await world.volume())?.replicas?.[0]?.state).toBe('Evicted')
    await expect.poll(() => world.disks.size).toBe(0)
  })

  test('that is short of disk loses the next unused data despite a long deletion', async () => {
    const world = await start('n1')
    world.settings.eviction.pauseSeconds = 0.001
    await create(world, 'sales', { evictionPolicy: 'LeastRecentlyUsed' })
    await create(world, 'orders', { evictionPolicy: 'LeastRecentlyUsed' })
    await expect.poll(() => world.disks.size).toBe(2)
    await expect.poll(stateOf(world, 'sales')).toBe('Running')
    await expect.poll(stateOf(world, 'orders')).toBe('Running')
    await world.setCondition('n1', 'DiskPressure', 'True')

    await expect.poll(() => world.disks.size).toBe(0)
  })

  test('that is short of disk loses unused data after a VolumeManager was deleted', async () => {
    const world = await start('n1')
    await create(world, 'sales', { evictionPolicy: 'LeastRecentlyUsed' })
    await create(world, 'orders')
    await expect.poll(stateOf(world, 'sales')).toBe('Running')
    await expect.poll(stateOf(world, 'orders')).toBe('Running')
    await world.use('reader', (await world.volume('vol1', 'orders'))?.volumeSource?.hostPath?.path ?? '', 'n1')
    await expect.poll(async () => (await world.volume('vol1', 'orders'))?.replicas?.[0]?.inUse).toBe(true)
    await world.deleteManager('orders')
    await expect.poll(async () => (await world.manager('orders'))?.status?.message).toContain('in use by')
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.end('reader')

    await expect.poll(() => world.disks.size).toBe(0)
  })

  test('whose label was taken away has it back', async () => {
    const world = await start('n1')
    await create(world, 'sales')
    await expect.poll(stateOf(world)).toBe('Running')
    await world.unlabel('n1')

    await expect.poll(() => world.nodesOf()).toEqual(['n1'])
  })
})

test('forty VolumeManagers with three replicas come to a hundred nodes, once each', {
  timeout: 120_000,
}, async () => {
  const nodes = Array.from({ length: 100 }, (_, i) => `n${i}`)
  const world = await start(...nodes)
  world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 50 } }
  const names = Array.from({ length: 40 }, (_, i) => `v${i}`)
  for (const name of names) await create(world, name, { replicas: 3 })

  for (const name of names) await expect.poll(stateOf(world, name), { timeout: 100_000 }).toBe('Running')
  expect([...world.downloads.values()]).toEqual(Array(120).fill(1))
})
