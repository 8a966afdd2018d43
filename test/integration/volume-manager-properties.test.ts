/** What holds of VolumeManagers whatever happens, and whenever the controller dies. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nodes } from '../../src/api/node.ts'
import { pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { Crash, ended, moverSays, PLATFORM, VolumeWorld } from '../volume-world.ts'

const NFS = { id: 'nfs', sourceType: 'NFS', accessMode: 'ReadWriteMany', options: { server: '10.0.0.7', path: '/x' } }
const source = (folder: string) => ({ ...makeVolume().options, sourceURL: `s3://lake/${folder}/` })

/** The controller's turns until it dies at its `writes`-th write from now, or has nothing to do. */
async function untilCrash(world: VolumeWorld, writes: number): Promise<boolean> {
  world.writesLeft = writes
  try {
    for (let i = 0; i < 4; i++) {
      await world.settle('sales')
      world.now += 60_000
    }
    return false
  } catch (error) {
    if (!(error instanceof Crash)) throw error
    // Movers go on without a controller.
    for (let i = 0; i < 3; i++) await world.live()
    return true
  } finally {
    world.restart()
  }
}

describe('a controller that dies at any write', () => {
  test('is followed by one that downloads nothing twice', async () => {
    let crashes = 0
    for (let writes = 0; ; writes++) {
      const world = await new VolumeWorld().start('n1', 'n2', 'n3')
      await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }, NFS]))
      const crashed = await untilCrash(world, writes)
      await world.pass(60)

      const manager = await world.manager()
      expect(manager?.status?.state, `after ${writes} writes`).toBe('Running')
      expect([...world.downloads.values()]).toEqual([1, 1])
      expect(world.movers()).toEqual([])
      expect(world.violations).toEqual([])
      if (!crashed) break
      crashes++
    }
    expect(crashes).toBeGreaterThan(10)
  })

  test('while movers fetch data that is no longer wanted leaves none of it behind', async () => {
    for (let writes = 0, crashed = true; crashed; writes++) {
      const world = await new VolumeWorld().start('n1', 'n2', 'n3')
      await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2, options: source('a') }]))
      world.fate = () => 'goes on'
      await world.settle()
      world.fate = () => 'completes'
      await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 2, options: source('b') })] } })
      crashed = await untilCrash(world, writes)
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect((await world.manager())?.status?.state, `after ${writes} writes`).toBe('Running')
      expect(world.disks.size, `after ${writes} writes`).toBe(2)
      expect(await world.nodesOf()).toHaveLength(2)
    }
  })

  test('while it deletes is followed by one that leaves nothing behind', async () => {
    let crashes = 0
    for (let writes = 0; ; writes++) {
      const world = await new VolumeWorld().start('n1', 'n2', 'n3')
      await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }, NFS]))
      await world.settle()
      await world.deleteManager()
      const crashed = await untilCrash(world, writes)
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect(await world.manager(), `after ${writes} writes`).toBeUndefined()
      expect([world.disks.size, world.movers().length]).toEqual([0, 0])
      const labels = [...world.store.list(nodes)].flatMap(({ metadata }) => Object.keys(metadata.labels ?? {}))
      expect(new Set(labels)).toEqual(new Set([...Object.keys(PLATFORM), 'kubernetes.io/hostname']))
      expect(world.store.objects().filter(({ object }) => object.kind.startsWith('Persistent'))).toEqual([])
      expect(world.violations).toEqual([])
      if (!crashed) break
      crashes++
    }
    expect(crashes).toBeGreaterThan(5)
  })
})

test('when nothing changes, nothing is written', async () => {
  const world = await new VolumeWorld().start('n1', 'n2', 'n3')
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2 }, NFS]))
  await world.settle()

  world.writesLeft = 0
  world.now += 3600_000
  await world.reconcile()
})

type Happening =
  | { what: 'scale'; replicas: number }
  | { what: 'source'; folder: string }
  | { what: 'state'; state: '' | 'Completed' }
  | { what: 'lose' | 'add' | 'use' | 'unuse' | 'unlabel'; node: number }
  | { what: 'fail'; code: string; times: number }
  | { what: 'crash'; writes: number }
  | { what: 'wait'; seconds: number }

const node = fc.integer({ min: 1, max: 4 })
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const happening: fc.Arbitrary<Happening> = fc.oneof(
  often(3, fc.record({ what: fc.constant('scale' as const), replicas: fc.integer({ min: 1, max: 3 }) })),
  often(3, fc.record({ what: fc.constant('source' as const), folder: fc.constantFrom('a', 'b') })),
  often(
    3,
    fc.record({ what: fc.constant('state' as const), state: fc.constantFrom('' as const, 'Completed' as const) }),
  ),
  often(4, fc.record({ what: fc.constantFrom('use'), node: fc.integer({ min: 1, max: 3 }) })),
  often(3, fc.record({ what: fc.constantFrom('lose', 'add', 'unuse', 'unlabel'), node })),
  often(
    2,
    fc.record({
      what: fc.constant('fail' as const),
      code: fc.constantFrom('Unreachable', 'NoSpace', 'NotFound'),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  ),
  often(4, fc.record({ what: fc.constant('crash' as const), writes: fc.integer({ min: 0, max: 8 }) })),
  often(8, fc.record({ what: fc.constant('wait' as const), seconds: fc.constantFrom(1, 30, 400) })),
)

async function happen(world: VolumeWorld, one: Happening): Promise<void> {
  switch (one.what) {
    case 'scale':
    case 'source': {
      const [before = makeVolume()] = (await world.manager())?.spec.volumeConfigs ?? []
      const change = one.what === 'scale' ? { replicas: one.replicas } : { options: source(one.folder) }
      return world.change({ spec: { volumeConfigs: [{ ...before, ...change }] } })
    }
    case 'state':
      return world.change({ spec: { state: one.state } })
    case 'lose':
      return world.removeNode(`n${one.node}`)
    case 'add':
      return world.store.get(nodes, undefined, `n${one.node}`) ? undefined : world.addNode(`n${one.node}`)
    case 'use': {
      // As a scheduler would have it: only on nodes that the volume leads to.
      const path = (await world.volume())?.volumeSource?.hostPath?.path
      const name = `n${one.node}`
      const isLed = (await world.nodesOf()).includes(name)
      return path && isLed ? world.useOnce(`on-${name}`, path, name) : undefined
    }
    case 'unuse':
      return world.unuse(`on-n${one.node}`)
    case 'unlabel':
      return world.unlabel(`n${one.node}`)
    case 'fail': {
      let left = one.times
      const message = moverSays({ code: one.code, retry: one.code !== 'NotFound' })
      world.fate = () => (left-- > 0 ? ended('Failed', { exitCode: 1, message }) : 'completes')
      return undefined
    }
    case 'crash':
      await untilCrash(world, one.writes)
      return undefined
    default:
      world.now += one.seconds * 1000
      for (let i = 0; i < 5; i++) {
        await world.reconcile()
        await world.live()
        world.check()
        world.now += 1000
      }
  }
}

test('whatever happens, data under a pod stays, labels are right, and so is the end', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 25 }), async (happenings) => {
      const world = await new VolumeWorld().start('n1', 'n2', 'n3')
      await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 2, options: source('a') }]))
      await world.settle()
      for (const one of happenings) await happen(world, one)
      for (const n of [1, 2, 3, 4]) await happen(world, { what: 'unuse', node: n })
      await happen(world, { what: 'add', node: 1 })
      await happen(world, { what: 'add', node: 2 })
      await happen(world, { what: 'add', node: 3 })
      await world.change({ spec: { state: '' } })
      world.fate = () => 'completes'
      for (let i = 0; i < 8; i++) await world.pass(700)

      const manager = await world.manager()
      const [config] = manager?.spec.volumeConfigs ?? []
      expect(world.violations).toEqual([])
      expect(manager?.status?.state).toBe('Running')
      expect(await world.nodesOf()).toHaveLength(config?.replicas ?? 0)
      expect(world.disks.size).toBe(config?.replicas)
      expect([...world.disks.values()].every((state) => state === 'whole')).toBe(true)
      expect(world.movers()).toEqual([])
    }),
    { numRuns: Number(process.env['FC_RUNS'] ?? 120) },
  )
})

/** The happenings of a volume whose changes are written back. */
type Change =
  | Happening
  | { what: 'delete' | 'recreate' | 'forge' | 'former' | 'end' }
  | { what: 'late'; kinds: ('Pod' | 'VolumeManager' | 'Node')[]; turns: number }

const TYPES = { Pod: pods, VolumeManager: volumeManagers, Node: nodes }

const change: fc.Arbitrary<Change> = fc.oneof(
  often(8, happening),
  often(4, fc.record({ what: fc.constantFrom('delete', 'recreate', 'recreate', 'forge', 'former', 'end', 'end') })),
  often(
    3,
    fc.record({
      what: fc.constant('late' as const),
      kinds: fc.subarray(['Pod', 'VolumeManager', 'Node'] as const, { minLength: 1 }).map((kinds) => [...kinds]),
      turns: fc.integer({ min: 1, max: 4 }),
    }),
  ),
)

const written = (folder: string) => makeVolumeManager([{ replicas: 1, options: { ...source(folder), resync: 'true' } }])

async function turn(world: VolumeWorld): Promise<void> {
  await world.reconcile()
  await world.live()
  world.check()
  world.now += 1000
}

async function endUses(world: VolumeWorld): Promise<void> {
  for (const n of [1, 2, 3, 4]) if (world.store.get(pods, 'default', `on-n${n}`)) await world.end(`on-n${n}`)
}

async function changeWritten(world: VolumeWorld, one: Change): Promise<void> {
  const manager = await world.manager()
  switch (one.what) {
    case 'delete':
      return world.deleteManager()
    case 'recreate':
      if (!manager) await world.store.create(volumeManagers, written('a'))
      return undefined
    case 'forge':
      return world.forgeMover()
    case 'former':
      return world.reconcileAsFormer()
    case 'late': {
      const reconcile = world.remember(one.kinds.map((kind) => TYPES[kind]))
      for (let i = 0; i < one.turns; i++) await turn(world)
      await reconcile()
      return turn(world)
    }
    case 'use': {
      const path = (await world.volume())?.volumeSource?.hostPath?.path
      const name = `n${one.node}`
      if (!path || !(await world.nodesOf()).includes(name) || manager?.metadata.deletionTimestamp) return undefined
      await world.unuse(`on-${name}`)
      await world.use(`on-${name}`, path, name)
      world.write(path.replace(/\/data$/, ''), name)
      return turn(world)
    }
    case 'unuse':
    case 'end':
      // An ended pod stays, as that of a Job, until the next one.
      return endUses(world)
    case 'scale':
      return undefined
    case 'source':
      return manager ? world.change({ spec: written(one.folder).spec }) : undefined
    case 'state':
      return manager ? world.change({ spec: { state: one.state } }) : undefined
    default:
      return happen(world, one)
  }
}

test('whatever happens, no change of a pod is deleted before it was written back', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 25 }), async (changes) => {
      const world = await new VolumeWorld().start('n1', 'n2', 'n3')
      await world.store.create(volumeManagers, written('a'))
      await world.settle()
      for (const one of changes) await changeWritten(world, one)
      await endUses(world)
      await world.removeForged()
      for (const n of [1, 2, 3]) await happen(world, { what: 'add', node: n })
      world.fate = () => 'completes'
      for (let i = 0; i < 6; i++) await world.pass(700)
      // Changes of a source wait until the spec has this source again; so does a deletion.
      for (const folder of ['b', 'a', 'a']) {
        if (!(await world.manager())) await world.store.create(volumeManagers, written(folder))
        await world.change({ spec: { ...written(folder).spec, state: '' } })
        for (let i = 0; i < 4; i++) await world.pass(700)
      }

      expect(world.violations).toEqual([])
      expect([...world.changed]).toEqual([])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect([...world.disks.values()]).toEqual(['whole'])
      expect(world.movers()).toEqual([])
    }),
    { numRuns: Number(process.env['FC_RUNS'] ?? 60) },
  )
})
