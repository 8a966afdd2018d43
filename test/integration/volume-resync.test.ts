/** Volumes that write changes back to their source, on a store in memory. */
import { describe, expect, test } from 'vitest'
import { makeVolume } from '../builders.ts'
import type { VolumeWorld } from '../volume-world.ts'
import { failed, isDelete, pathOf, replicaStates, spec, wholeOn, worldWith } from './volume-steps.ts'

test('movers that download and movers that write back receive the region of a bucket', async () => {
  const world = await worldWith([{ options: { ...makeVolume().options, region: 'eu-central-1', resync: 'true' } }])
  const told: [string | undefined, string | undefined][] = []
  world.fate = (pod) => {
    const args = pod.spec.containers[0]?.args ?? []
    told.push([args[1], args.includes('--region') ? args[args.indexOf('--region') + 1] : undefined])
    return 'completes'
  }
  await world.settle()
  const path = await pathOf(world)
  await world.change({
    spec: { volumeConfigs: [makeVolume({ options: { ...makeVolume().options, resync: 'true' } })] },
  })
  await world.settle()
  expect(await pathOf(world)).toBe(path)
  await world.change(spec({ options: { ...makeVolume().options, region: 'eu-central-1', resync: 'true' } }))
  await world.use('trainer', path, 'n1')
  await world.pass(60)
  await world.end('trainer')
  await world.pass(60)

  expect(told).toEqual([
    ['download', 'eu-central-1'],
    ['upload', 'eu-central-1'],
  ])
})

describe('resync', () => {
  const options = { ...makeVolume().options, resync: 'true' }
  const uploads = (world: VolumeWorld) => {
    const seen: string[][] = []
    world.fate = (pod) => {
      const args = pod.spec.containers[0]?.args ?? []
      if (args.includes('upload')) seen.push(args)
      return 'completes'
    }
    return seen
  }

  test('writes back, below its folder, when the last pod is done with the data', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    expect(seen).toEqual([])
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toEqual([])

    await world.end('trainer')
    await world.pass(60)

    expect(seen).toHaveLength(1)
    expect(seen[0]).toEqual(expect.arrayContaining(['--source', '/volume/data', '--target', 's3://lake/sales/']))
    await world.pass(600)
    expect(seen).toHaveLength(1)
    expect(world.movers()).toEqual([])
  })

  test('writes back before the data goes, however often that fails', async () => {
    const world = await worldWith([{ options }])
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.end('trainer')
    world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('AccessDenied', false))
    await world.deleteManager()
    for (let i = 0; i < 4; i++) await world.pass(60)
    expect(wholeOn(world)).toEqual(['n1'])
    expect((await world.manager())?.status?.message).toContain('changes are not written back: AccessDenied')

    const seen = uploads(world)
    for (let i = 0; i < 4; i++) await world.pass(600)

    expect(seen).toHaveLength(1)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  describe('of a source that is no longer in the spec', () => {
    const other = { ...options, sourceURL: 's3://lake/other/' }
    const targets = (seen: string[][]) => seen.map((args) => args[args.indexOf('--target') + 1])

    /** A world in which a pod has changed the data of n1, and the spec was changed before the pod ended. */
    async function changed(volumes: object[], replicas = 1) {
      const world = await worldWith([{ options, replicas }])
      const seen = uploads(world)
      await world.settle()
      await world.use('trainer', await pathOf(world), 'n1')
      await world.pass(60)
      await world.change({ spec: { volumeConfigs: volumes } })
      await world.pass(60)
      await world.end('trainer')
      for (let i = 0; i < 4; i++) await world.pass(60)
      return { world, seen }
    }

    test('changes are not written to the new source, and the data stays', async () => {
      const { world, seen } = await changed([makeVolume({ options: other })])

      expect(targets(seen)).toEqual([])
      expect([...world.disks.values()]).toEqual(['whole', 'whole'])
      const { status } = (await world.manager()) ?? {}
      expect(status).toMatchObject({ state: 'Failed', ready: '1/1', volumes: [{ message: 'success' }] })
      expect(status?.message).toMatch(
        /^failed to write back changes: vol1: n1: .* no longer has their source; restore it, or annotate/,
      )
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }))
    })

    test('changes are written back when the spec has the source again', async () => {
      const { world, seen } = await changed([makeVolume({ options: other })])
      await world.change({ spec: { volumeConfigs: [makeVolume({ options })] } })
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    test('changes are written back to the same source, whatever else of the volume is new', async () => {
      const { world, seen } = await changed([makeVolume({ options: { ...options, exclude: '*.tmp' } })])

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    describe('on a node that was replaced', () => {
      /** The node has its old disk. The controller has observed it, and no mover has looked yet whether the data is there. */
      async function unchecked() {
        const world = await worldWith([{ options }])
        await world.settle()
        const path = await pathOf(world)
        await world.use('trainer', path, 'n1')
        world.write(path, 'n1')
        await world.pass(60)
        await world.unuse('trainer')
        const [disks, written] = [[...world.disks], [...world.changed]]
        await world.removeNode('n1')
        await world.addNode('n1')
        for (const [place, state] of disks) world.disks.set(place, state)
        for (const place of written) world.changed.add(place)
        await world.reconcile()
        expect((await world.volume())?.replicas).toMatchObject([{ state: 'Queued', isUnchecked: true }])
        return { world, seen: uploads(world) }
      }

      test('are written back before the data is deleted with its VolumeManager', async () => {
        const { world, seen } = await unchecked()
        await world.deleteManager()
        await world.reconcile()
        expect((await world.manager())?.status?.message).toMatch(/n1 was replaced; a mover checks its data/)
        for (let i = 0; i < 4; i++) await world.pass(60)

        expect(targets(seen)).toEqual(['s3://lake/sales/'])
        expect([await world.manager(), world.disks.size, world.violations]).toEqual([undefined, 0, []])
      })

      test('stay with the reason while no mover can look for them', async () => {
        const { world } = await unchecked()
        world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('AccessDenied', false))
        await world.deleteManager()
        for (let i = 0; i < 20; i++) await world.pass(60)

        expect((await world.manager())?.status).toMatchObject({
          state: 'Failed',
          message: expect.stringMatching(/vol1: n1: changes are not written back: AccessDenied: .*delete-in-use=true/),
        })
        await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
        world.changed.clear()
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([await world.manager(), world.disks.size, world.violations]).toEqual([undefined, 0, []])
      })

      test.each([
        { name: 'was removed', volumes: [makeVolume({ id: 'vol2' })] },
        { name: 'has another source', volumes: [makeVolume({ options: other })] },
        { name: 'has other objects', volumes: [makeVolume({ options: { ...options, exclude: '*.tmp' } })] },
      ])('stay while the volume $name, until it is restored', async ({ volumes }) => {
        const { world, seen } = await unchecked()
        await world.change({ spec: { volumeConfigs: volumes } })
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([targets(seen), world.violations]).toEqual([[], []])
        expect(wholeOn(world)).toContain('n1')
        expect((await world.manager())?.status).toMatchObject({
          state: 'Failed',
          message: expect.stringMatching(/the spec no longer has their source; restore it/),
        })

        await world.change({ spec: { volumeConfigs: [makeVolume({ options })] } })
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([targets(seen), world.violations]).toEqual([['s3://lake/sales/'], []])
        expect((await world.manager())?.status?.state).toBe('Running')
      })
    })

    test('an upload that runs ends at the old source', async () => {
      const world = await worldWith([{ options }])
      await world.settle()
      await world.use('trainer', await pathOf(world), 'n1')
      await world.pass(60)
      world.fate = () => 'goes on'
      await world.end('trainer')
      await world.pass(60)
      await world.change({ spec: { volumeConfigs: [makeVolume({ options: other })] } })
      await world.pass(5)
      const seen = uploads(world)
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    test.each([
      { name: 'was removed', volumes: [makeVolume({ id: 'vol2' })] },
      { name: 'has another source', volumes: [makeVolume({ options: other })] },
    ])('of a volume that $name, changes stay until an annotation gives them up', async ({ volumes }) => {
      const { world, seen } = await changed(volumes)
      expect(targets(seen)).toEqual([])
      expect(wholeOn(world)).toContain('n1')
      expect((await world.manager())?.status).toMatchObject({ state: 'Failed' })

      await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
      for (let i = 0; i < 4; i++) await world.pass(60)
      expect(world.disks.size).toBe(1)
      expect((await world.manager())?.status?.state).toBe('Running')
    })

    test('a deletion names changes of a volume that was removed', async () => {
      const { world } = await changed([makeVolume({ id: 'vol2' })])
      await world.deleteManager()
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect((await world.manager())?.status?.message).toMatch(
        /^the data is not deleted: vol1: n1: changes are not written back: .*; annotate lodestone.dev\/delete-in-use=true/,
      )
      await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
      for (let i = 0; i < 4; i++) await world.pass(60)
      expect(await world.manager()).toBeUndefined()
      expect(world.disks.size).toBe(0)
    })

    test('a volume that is not written back any more loses its data without them', async () => {
      const { world, seen } = await changed([makeVolume({ options: { ...other, resync: 'false' } })])

      expect(targets(seen)).toEqual([])
      expect(world.disks.size).toBe(1)
      expect((await world.manager())?.status?.state).toBe('Running')
    })
  })

  test.each([
    { name: 'is deleted', end: (world: VolumeWorld) => world.deleteManager() },
    {
      name: 'is Completed',
      end: (world: VolumeWorld) => world.change({ spec: { state: 'Completed' } }),
    },
  ])('a volume with a spec that is forbidden now names its changes when it $name', async ({ end }) => {
    const world = await worldWith([{ options }])
    await world.settle()
    const path = await pathOf(world)
    await world.use('trainer', path, 'n1')
    await world.pass(60)
    world.settings = { ...world.settings, allowedRoots: ['/elsewhere'] }
    await end(world)
    await world.unuse('trainer')
    await world.pass(60)

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: expect.stringMatching(
        /^the data is not deleted: vol1: n1: changes are not written back: InvalidSpec: .*; annotate lodestone.dev\/delete-in-use=true/,
      ),
    })
    expect(wholeOn(world)).toEqual(['n1'])
  })

  test.each([
    { name: 'hangs', isBegun: true, reason: 'Stalled' },
    { name: 'never begins', isBegun: false, reason: 'PrepareTimeout' },
  ])('is given up by a mover that $name, and done by another one', async ({ isBegun, reason }) => {
    const world = await worldWith([{ options }])
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.end('trainer')
    world.fate = () => 'goes on'
    if (isBegun) await world.settle()
    else for (let i = 0; i < 4; i++) await world.reconcile()
    expect(world.movers()).toHaveLength(1)

    world.now += 1801_000
    await world.reconcile()
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready', upload: { state: 'Failed', reason } }])
    expect(world.movers()).toEqual([])

    const seen = uploads(world)
    await world.pass(60)
    expect(seen).toHaveLength(1)
    expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('upload')
  })

  test('writes back now and then while pods are at work, if an interval is given', async () => {
    const world = await worldWith([{ options: { ...options, resyncInterval: '5m' } }])
    const seen = uploads(world)
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.settle()
    for (let i = 0; i < 11; i++) await world.pass(60)

    expect(seen).toHaveLength(2)
  })

  test('while pods are at work is as often as asked for, however short the interval', async () => {
    const world = await worldWith([{ options: { ...options, resyncInterval: '20s' } }])
    const seen = uploads(world)
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.settle()

    const waitMs = (await world.reconcile()) ?? Number.POSITIVE_INFINITY
    expect(waitMs).toBeLessThanOrEqual(20_000)
    await world.pass(waitMs / 1000)
    expect(seen).toHaveLength(1)
  })

  test.each([
    { name: 'as ours', nodesAheadMs: 0 },
    { name: 'behind', nodesAheadMs: -30_000 },
    { name: 'ahead', nodesAheadMs: 30_000 },
    { name: 'an hour ahead', nodesAheadMs: 3_600_000 },
  ])('writes back once what a Job did that came and went unseen, by a clock $name', async ({ nodesAheadMs }) => {
    const world = await worldWith([{ options }])
    world.nodesAheadMs = nodesAheadMs
    const seen = uploads(world)
    await world.settle()
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toHaveLength(1)
    for (let i = 0; i < 5; i++) await world.pass(20)
    expect(seen).toHaveLength(1)

    world.restart()
    await world.cameAndWent('again', await pathOf(world), 'n1')
    await world.unuse('trainer')
    for (let i = 0; i < 5; i++) await world.pass(20)

    expect(seen).toHaveLength(2)
    expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('inUse')
  })

  test('writes back before the data goes what a Job did while Lodestone was away', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    await world.pass(60)
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(seen).toHaveLength(1)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('writes back what a Job did on a node that could not say so for a while', async () => {
    const world = await worldWith([{ options }], ['n1'])
    const seen = uploads(world)
    await world.settle()
    await world.setCondition('n1', 'Ready', 'Unknown')
    await world.pass(301)
    expect(await replicaStates(world)).toContain('Unreachable')
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toEqual([])

    await world.setCondition('n1', 'Ready', 'True')
    await world.pass(60)

    expect(seen).toHaveLength(1)
  })

  test('of data without a user since its download writes nothing', async () => {
    const world = await worldWith([{ options }], ['n1'])
    await world.settle()
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.change({ spec: { state: 'Completed' } })
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(world.disks.size).toBe(0)
    const seen = uploads(world)
    await world.change({ spec: { state: 'Running' } })
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(wholeOn(world)).toEqual(['n1'])
    expect(seen).toEqual([])
  })

  test('of data that was never used writes nothing', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(seen).toEqual([])
    expect(await world.manager()).toBeUndefined()
  })
})
