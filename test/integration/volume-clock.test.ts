/** A status with times in the future: a leader whose clock was ahead wrote them, or the clock was set back. */
import { expect, test } from 'vitest'
import { type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import type { ReplicaStatus } from '../../src/api/volume-status.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'

const DAY_MS = 86_400_000

/** A world with ready data, and a leader whose clock is a day ahead of the clocks of the nodes. */
async function worldAhead(config: object = {}) {
  const world = await new VolumeWorld().start('n1')
  world.now += DAY_MS
  world.nodesAheadMs = -DAY_MS
  await world.store.create(volumeManagers, makeVolumeManager([config]))
  await world.settle()
  const verbs: (string | undefined)[] = []
  world.fate = (pod) => {
    verbs.push(pod.spec.containers[0]?.args?.[1])
    return 'completes'
  }
  return { world, verbs }
}

/** The next leader has the right time. */
async function setBack(world: VolumeWorld): Promise<void> {
  world.now -= DAY_MS
  world.nodesAheadMs = 0
  world.restart()
  await world.pass(60)
}

async function useFor(world: VolumeWorld, name: string): Promise<void> {
  await world.use(name, (await world.volume())?.volumeSource?.hostPath?.path ?? '', 'n1')
  await world.pass(60)
  await world.end(name)
  await world.pass(60)
}

async function writeReplica(world: VolumeWorld, more: Partial<ReplicaStatus>): Promise<void> {
  const { status } = (await world.manager()) as VolumeManager
  const volumes = (status?.volumes ?? []).map((volume) => ({
    ...volume,
    replicas: volume.replicas?.map((replica) => ({ ...replica, ...more })),
  }))
  const of = { namespace: 'default', name: 'sales' }
  await world.store.patch(volumeManagers, of, { status: { volumes } }, { subresource: 'status' })
}

test('changes after an upload in the future are written back', async () => {
  const { world, verbs } = await worldAhead({ options: { ...makeVolume().options, resync: 'true' } })
  await useFor(world, 'first')
  expect(verbs).toEqual(['upload'])
  await setBack(world)
  // The order of a use and an upload in the future is not known any more.
  const before = verbs.length
  await useFor(world, 'second')

  expect(verbs).toHaveLength(before + 1)
  await world.pass(600)
  expect(verbs).toHaveLength(before + 1)
})

test('a deletion that began in the future does not wait for that time', async () => {
  const { world } = await worldAhead()
  await world.deleteManager()
  await world.reconcile()
  await world.reconcile()
  expect((await world.volume())?.deletions).toMatchObject([{ state: 'Waiting' }])
  await setBack(world)
  await world.pass(60)

  expect(await world.manager()).toBeUndefined()
})

test('a mover that makes no progress since a time in the future fails in time', async () => {
  const { world } = await worldAhead()
  world.fate = () => 'goes on'
  await world.change({ spec: { volumeConfigs: [makeVolume({ options: { ...makeVolume().options, exclude: 'a' } })] } })
  await world.settle()
  await setBack(world)
  await world.pass(world.settings.movers.progressTimeoutSeconds + 60)

  expect((await world.volume())?.replicas?.at(-1)).toMatchObject({ failures: 1, reason: 'Stalled' })
})

test('a preempted download does not wait for a time in the future', async () => {
  const { world } = await worldAhead()
  const at = new Date(world.now).toISOString()
  await writeReplica(world, { state: 'Queued', reason: 'Preempted', attempt: 2, retryTime: at })
  await setBack(world)

  expect((await world.volume())?.message).toBe('success')
  expect((await world.volume())?.replicas?.[0]?.state).toBe('Ready')
})

test('a refresh does not wait for a time in the future', async () => {
  const { world, verbs } = await worldAhead({ readOnly: true, refreshIntervalSeconds: 600 })
  await world.pass(660)
  expect(verbs).toEqual(['download'])
  await setBack(world)
  await world.pass(660)

  expect(verbs).toEqual(['download', 'download'])
})

test('a check that failed does not wait for a time in the future', async () => {
  const { world, verbs } = await worldAhead()
  world.settings = { ...world.settings, checks: { intervalSeconds: 3600, timeoutSeconds: 60 } }
  const retryTime = new Date(world.now).toISOString()
  await writeReplica(world, { maintenance: { kind: 'Check', state: 'Failed', attempt: 1, retryTime } })
  await setBack(world)
  await world.pass(3600)

  expect(verbs).toContain('check')
})

test('no deadline of a volume passes by a jump of the clock', async () => {
  const world = await new VolumeWorld().start('n1', 'n2')
  await world.store.create(volumeManagers, makeVolumeManager([{}]))
  await world.settle()
  world.fate = () => 'goes on'
  await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 2 })] } })
  await world.settle()
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.settle()
  const states = async () => (await world.volume())?.replicas?.map(({ node, state }) => [node, state])
  const before = await states()
  expect(before).toEqual([
    ['n1', 'Ready'],
    ['n2', 'Downloading'],
  ])
  world.jump(7200)
  await world.settle()

  expect(await states()).toEqual(before)
})
