/** The logs of movers that have ended: copied before the pod is deleted, without a delay for other work. */
import { expect, test } from 'vitest'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { observeMoverLogs } from '../../src/app/monitoring/observe.ts'
import { type MoverLogsInput, openMoverLogs } from '../../src/reconcile/volumes/mover-logs.ts'
import type { PodLogReader } from '../../src/store/store.ts'
import { recordLog } from '../../src/telemetry/logger.fake.ts'
import { makeVolumeManager } from '../builders.ts'
import { ended, moverSays, VolumeWorld } from '../volume-world.ts'

/** A volume on one node, whose mover's log is read in this way; and what is logged of it. */
async function worldWith(read: PodLogReader | undefined, options: Partial<MoverLogsInput> = {}) {
  const { log, lines } = recordLog('debug')
  const world = await new VolumeWorld().start('n1', 'n2')
  world.logs = openMoverLogs({ read, observer: observeMoverLogs(log), ...options })
  await world.store.create(volumeManagers, makeVolumeManager())
  return { world, lines }
}

const replicaOf = async (world: VolumeWorld) => (await world.volume())?.replicas?.[0]
/** Until the mover is gone; each look of the controller may come before the log does. */
const untilClean = (world: VolumeWorld) =>
  expect
    .poll(async () => {
      await world.reconcile()
      return world.movers().length
    })
    .toBe(0)

test('the log of a mover is between two lines that say whose it is and how it ended', async () => {
  const { world, lines } = await worldWith(async () => '{"msg":"listing"}\nno such bucket\u001b[0m\n')
  const message = moverSays({ code: 'NotFound', retry: false, message: 'no such bucket' })
  world.fate = () => ended('Failed', { exitCode: 3, message })
  await world.settle()
  await untilClean(world)

  const pod = expect.stringMatching(/^default\/vck-resource-/)
  expect(lines).toMatchObject([
    {
      level: 'info',
      msg: 'mover log begins',
      pod,
      manager: 'default/sales',
      id: 'vol1',
      role: 'replica',
      attempt: 1,
      node: 'n1',
      phase: 'Failed',
      exitCode: 3,
      lines: 2,
    },
    { msg: 'mover log', pod, line: '{"msg":"listing"}' },
    { msg: 'mover log', pod, line: 'no such bucket [0m' },
    { msg: 'mover log ends', pod },
  ])
})

test('it is requested when the outcome is in the status, and the pod stays until then', async () => {
  const asked: unknown[] = []
  let answer: (text: string) => void = () => undefined
  const { world, lines } = await worldWith(async ({ lines: count, container, name }) => {
    asked.push([count, container, name, (await replicaOf(world))?.state])
    return new Promise((resolve) => {
      answer = resolve
    })
  })
  await world.settle()
  expect(await world.reconcile()).toBeLessThan(1000)
  await world.reconcile()
  await expect.poll(() => asked).toEqual([[100, 'mover', world.movers()[0]?.metadata.name, 'Ready']])
  expect((await world.manager())?.status?.state).toBe('Running')

  answer('done')
  await untilClean(world)
  expect(asked).toHaveLength(1)
  expect(lines.map(({ msg }) => msg)).toEqual(['mover log begins', 'mover log', 'mover log ends'])
})

test.each([
  {
    name: 'that is refused',
    read: async () => {
      throw new Error('pods "m" is forbidden')
    },
    reason: 'pods "m" is forbidden',
  },
  {
    name: 'that does not come',
    read: ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    reason: 'The operation was aborted due to timeout',
  },
])('a log $name is one line, and delays nothing', async ({ read, reason }) => {
  const { world, lines } = await worldWith(read, { timeoutMs: 20 })
  await world.settle()
  await untilClean(world)

  expect((await world.manager())?.status?.state).toBe('Running')
  expect(lines).toMatchObject([{ level: 'debug', msg: 'mover log not collected', reason, phase: 'Succeeded' }])
})

test.each([
  { name: 'the configuration wants none', read: async () => 'text', logLines: 0 },
  { name: 'pods have none, as in a folder', read: undefined, logLines: 100 },
])('no log is asked for where $name', async ({ read, logLines }) => {
  const { world, lines } = await worldWith(read)
  world.settings = { ...world.settings, movers: { ...world.settings.movers, logLines } }
  await world.settle()

  expect(world.movers()).toEqual([])
  expect(lines).toEqual([])
})

test('a mover that is stopped on the way is not asked what it did', async () => {
  const { world, lines } = await worldWith(async () => 'text')
  world.fate = () => 'goes on'
  await world.settle()
  await world.deleteManager()
  await world.reconcile()

  expect(world.movers()).toEqual([])
  expect(lines).toEqual([])
})

test('the stop of the controller waits for no log', async () => {
  let aborted = false
  const { world, lines } = await worldWith(
    ({ signal }) =>
      new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => {
          aborted = true
          reject(signal.reason)
        }),
      ),
  )
  await world.settle()
  await world.logs?.stop()

  expect(aborted).toBe(true)
  expect(lines).toEqual([])
})
