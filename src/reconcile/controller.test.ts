import { expect, onTestFinished, test } from 'vitest'
import { makeClaim, makeVolumeManager } from '../../test/builders.ts'
import { loopSettings } from '../../test/loop-settings.ts'
import { storeOf } from '../../test/stores.ts'
import { makeMover, makeReplica } from '../../test/volume-builders.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { pods } from '../api/pod.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError, type StoreChange } from '../store/store.ts'
import { type ControllerInput, type ControllerObserver, startController } from './controller.ts'
import type { ReconcileLoop } from './define.ts'
import { openLoops } from './index.ts'

const ignored = { done: () => undefined, failed: () => undefined, queryEnded: () => undefined, moved: () => undefined }

/** Starts a controller on a new store, until the end of the test. It makes no drift pass. */
async function start(
  loops: readonly ReconcileLoop[],
  { observer, ...over }: Partial<Omit<ControllerInput, 'observer'> & { observer: Partial<ControllerObserver> }> = {},
) {
  const store = await storeOf()
  const controller = startController({
    ...loopSettings,
    loops,
    store,
    now: () => 0,
    maxMovesPerMinute: 60,
    driftIntervalMs: 600_000,
    events: { record: () => undefined },
    observer: { ...ignored, ...observer },
    ...over,
  })
  onTestFinished(() => controller.stop())
  return { store, controller }
}

/** Runs a loop whose only key fails with `error` three times. Returns the failures that the controller reports. */
async function failuresOf(error: Error): Promise<{ key: string; retryInMs: number }[]> {
  const failures: { key: string; retryInMs: number }[] = []
  const succeeded = Promise.withResolvers<void>()
  let runs = 0
  const loop: ReconcileLoop = {
    name: 'claims',
    concurrency: 1,
    keysForChange: () => [],
    allKeys: () => ['shop/sales'],
    async reconcile() {
      if (++runs <= 3) throw error
      succeeded.resolve()
      return undefined
    },
  }
  await start([loop], {
    observer: { failed: (_loop, key, _error, retryInMs) => failures.push({ key, retryInMs }) },
  })
  await succeeded.promise
  return failures
}

test.each([
  { name: 'another client changed the object', error: new ConflictError('changed') },
  { name: 'another client deleted the object', error: new NotFoundError('not found') },
])('a run is retried without a report if $name', async ({ error }) => {
  expect(await failuresOf(error)).toEqual([])
})

test('a run is reported and retried with back-off if its namespace or kind is missing', async () => {
  const error = new MissingPrerequisiteError('namespace "shop" does not exist; create it')
  expect(await failuresOf(error)).toEqual([5, 10, 20].map((retryInMs) => ({ key: 'shop/sales', retryInMs })))
})

test('a failed mover is reported with the status, an ended one when its Pod is deleted', async () => {
  const reports: string[] = []
  const { store } = await start([], {
    observer: {
      moverFailed: ({ task, reason }) => reports.push(`${task} failed: ${reason}`),
      moverEnded: ({ task, result }) => reports.push(`${task} ended: ${result}`),
    },
  })
  const replica = makeReplica({ state: 'Failed', failures: 1, reason: 'NotFound' })
  const status = { volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [replica] }] }

  await store.create(volumeManagers, { ...makeVolumeManager(), status })
  const running = await store.create(pods, makeMover({}, { phase: 'Running' }))
  const failed = await store.update(pods, { ...running, status: { phase: 'Failed' } })
  await store.delete(pods, failed)

  expect(reports).toEqual(['download failed: NotFound', 'download ended: failed'])
})

test('a loop that makes Karmada write begins with the first call, others at once', async () => {
  const ran: string[] = []
  const loop = (name: string, awaits: object): ReconcileLoop => ({
    name,
    concurrency: 1,
    ...awaits,
    keysForChange: (change) => [`changed ${change.after?.metadata.name}`],
    allKeys: () => ['every'],
    reconcile: async (key) => void ran.push(`${name}: ${key}`),
  })
  const { promise: webhooksSeen, resolve } = Promise.withResolvers<boolean>()
  const loops = [loop('status', {}), loop('bindings', { awaitsWebhooks: true })]
  const { store, controller } = await start(loops, { webhooksSeen })
  await store.create(dataSourceClaims, makeClaim({}, { name: 'early' }))
  controller.enqueueAll()
  await expect.poll(() => ran).toEqual(expect.arrayContaining(['status: every', 'status: changed early']))
  expect(ran.filter((run) => run.startsWith('bindings'))).toEqual([])

  resolve(true)
  await expect.poll(() => ran).toContain('bindings: every')

  await store.create(dataSourceClaims, makeClaim({}, { name: 'late' }))
  await expect.poll(() => ran).toContain('bindings: changed late')
})

test('the keys of a change that concerns ten thousand objects are added in slices', async () => {
  let added = 0
  const loop: ReconcileLoop = {
    name: 'many',
    concurrency: 1,
    allKeys: () => [],
    reconcile: async () => undefined,
    *keysForChange() {
      for (; added < 10_000; added++) yield added % 2 === 0 ? String(added) : undefined
    },
  }
  const { store } = await start([loop])
  let addedAtOnce = Number.NaN
  store.subscribe(() => {
    addedAtOnce = added
  })

  await store.create(dataSourceClaims, makeClaim())

  expect(addedAtOnce).toBeLessThan(1000)
  await expect.poll(() => added).toBe(10_000)
})

test.each(['at once', 'after some keys'])('an error of one loop %s is reported, and the others go on', async (when) => {
  const ran: string[] = []
  const failed: string[] = []
  const loop = (name: string, keys: () => Iterable<string>): ReconcileLoop => ({
    name,
    concurrency: 1,
    keysForChange: keys,
    allKeys: keys,
    reconcile: async () => void ran.push(name),
  })
  function* broken(): Iterable<string> {
    if (when !== 'at once') for (let i = 0; i < 1000; i++) yield 'a'
    throw new Error('unexpected object')
  }
  const { store } = await start([loop('broken', broken), loop('sound', () => ['b'])], {
    observer: { failed: (name, _key, error) => void failed.push(`${name}: ${(error as Error).message}`) },
  })
  await expect.poll(() => ran).toContain('sound')
  await expect.poll(() => failed).toEqual(['broken: unexpected object'])

  await store.create(dataSourceClaims, makeClaim())

  await expect.poll(() => ran.filter((name) => name === 'sound')).toHaveLength(2)
  await expect.poll(() => failed).toHaveLength(2)
})

test('a loop runs one key at a time while the loop that it defers to has due keys', async () => {
  const running = new Map<string, () => void>()
  const loop = (
    name: string,
    keys: readonly number[],
    more: Pick<ReconcileLoop, 'concurrency' | 'defersTo'>,
  ): ReconcileLoop => ({
    name,
    ...more,
    keysForChange: () => [],
    allKeys: () => keys.map((i) => `${name} ${i}`),
    async reconcile(key) {
      await new Promise<void>((end) => running.set(key, end))
      running.delete(key)
      return undefined
    },
  })
  await start([
    loop('binding', [1, 2, 3], { concurrency: 2 }),
    loop('claim', [1, 2, 3, 4, 5], { concurrency: 3, defersTo: 'binding' }),
  ])
  // The controller stops after this: it waits for the runs.
  onTestFinished(() => {
    for (const end of running.values()) end()
  })
  const runs = () => [...running.keys()].sort()
  await expect.poll(runs).toEqual(['binding 1', 'binding 2', 'claim 1'])
  running.get('claim 1')?.()
  await expect.poll(runs).toEqual(['binding 1', 'binding 2', 'claim 2'])

  running.get('binding 1')?.()
  await expect.poll(runs).toEqual(['binding 2', 'binding 3', 'claim 2'])
  running.get('claim 2')?.()
  await expect.poll(runs).toEqual(['binding 2', 'binding 3', 'claim 3', 'claim 4', 'claim 5'])
})

test('a workload moves before the many of another namespace that wait', async () => {
  const keys = [...Array.from({ length: 620 }, (_, i) => `many/${i}`), 'few/1']
  const moved: string[] = []
  const loop: ReconcileLoop = {
    name: 'bindings',
    concurrency: 1,
    keysForChange: () => [],
    allKeys: () => keys,
    async reconcile(key, { moves }) {
      const waitMs = moves.take(key)
      if (waitMs > 0) return waitMs
      moved.push(key)
      return undefined
    },
  }
  await start([loop], { now: Date.now, maxMovesPerMinute: 600 })
  await expect.poll(() => moved).toContain('few/1')
  expect(moved.indexOf('few/1')).toBeLessThan(605)
})

test('a loop observes each change once, before it is asked for the keys', async () => {
  const calls: string[] = []
  const note = (call: string) => (change: StoreChange) => void calls.push(`${call} ${change.after?.metadata.name}`)
  const loop: ReconcileLoop = {
    name: 'claims',
    concurrency: 1,
    allKeys: () => [],
    reconcile: async () => undefined,
    observe: note('observe'),
    keysForChange: (change) => note('keys')(change) ?? [],
  }
  const { store } = await start([loop])

  await store.create(dataSourceClaims, makeClaim({}, { name: 'sales' }))

  expect(calls).toEqual(['observe sales', 'keys sales'])
})

test('the loops whose writes make Karmada write bindings await the webhooks', () => {
  const loops = openLoops({ propagate: 'dataBound', distribution: 'builtin' })
  expect(loops.filter(({ awaitsWebhooks }) => awaitsWebhooks).map(({ name }) => name)).toEqual([
    ...['resource-binding', 'propagation-policy', 'daemon-set', 'dependencies', 'attached-binding'],
  ])
})
