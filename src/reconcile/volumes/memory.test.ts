import { expect, test } from 'vitest'
import { makeObject, makeVolumeManager, NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { makeMover } from '../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../test/volume-world.ts'
import { events } from '../../api/event.ts'
import { keyOfObject } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { pods } from '../../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { ReplicaState } from '../../api/volume-status.ts'
import type { ClockJump } from '../../base/time/clock-jumps.ts'
import { progressEventName } from '../../core/volume-manager/mover/log.ts'
import { unsettledMovers } from '../../core/volume-manager/mover/task.ts'
import { openFolderStore } from '../../store/folder/folder.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import type { StoreChange } from '../../store/store.ts'
import {
  currentRetryMemory,
  emptyMemory,
  forgetCreated,
  observeChange,
  readMovers,
  readProgresses,
  rememberRejection,
  rememberServed,
} from './memory.ts'

const managerWith = (state: ReplicaState, attempt: number): VolumeManager => ({
  ...makeVolumeManager([{}], { name: 'sales' }),
  status: {
    volumes: [{ id: 'vol1', nodeAffinity: {}, replicas: [{ index: 0, state, revision: 'r', attempt }] }],
  },
})

test.each([
  { name: 'that waits for a slot', after: managerWith('Queued', 1), isKept: true },
  { name: 'that runs', after: managerWith('Downloading', 1), isKept: true },
  { name: 'that failed', after: managerWith('Failed', 1), isKept: true },
  { name: 'that has a successor', after: managerWith('Failed', 2), isKept: false },
  { name: 'whose replica is ready', after: managerWith('Ready', 1), isKept: false },
  { name: 'of a removed volume', after: { ...managerWith('Failed', 1), status: {} }, isKept: false },
])('the memory of a mover $name is kept: $isKept', ({ after, isKept }) => {
  const memory = emptyMemory()
  const before = managerWith('Queued', 1)
  const [mover = ''] = unsettledMovers(before)
  const { refusals, retryTriggers } = currentRetryMemory(before, memory)
  refusals.set(mover, 'quota')
  retryTriggers.set(mover, new Set(['secret']))

  const retries = currentRetryMemory(after, memory)

  expect([...retries.refusals.keys(), ...retries.retryTriggers.keys()]).toEqual(isKept ? [mover, mover] : [])
})

const pod = makeMover({}, { phase: 'Running' })
const ended = { ...pod, status: { phase: 'Succeeded' as const } }
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }
const elsewhere = { ...pod, metadata: { ...pod.metadata, namespace: 'shop' } }

test.each<{ name: string; change: StoreChange; retried: number }>([
  { name: 'a pod is deleted', change: { type: pods, before: pod }, retried: 4 },
  { name: 'a mover ends', change: { type: pods, before: pod, after: ended }, retried: 4 },
  { name: 'the Namespace changes', change: { type: namespaces, before: namespace, after: namespace }, retried: 6 },
  { name: 'the Namespace is deleted', change: { type: namespaces, before: namespace }, retried: 6 },
  { name: 'a pod is created', change: { type: pods, after: pod }, retried: 0 },
  { name: 'a pod of another namespace is deleted', change: { type: pods, before: elsewhere }, retried: 0 },
])('when $name, $retried of 6 VolumeManagers with rejected movers retry', async ({ change, retried }) => {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const memory = emptyMemory()
  const keys = Array.from({ length: 6 }, (_, i) => `default/sales-${i}`)
  for (const key of keys) {
    const { status } = managerWith('Failed', 1)
    await store.create(
      volumeManagers,
      makeVolumeManager([{}], { name: key.split('/')[1] ?? '', ...(status && { status }) }),
    )
    rememberRejection(memory, 'default', key)
  }
  // The first one was rejected again, so it is the last one now.
  rememberRejection(memory, 'default', keys[0] ?? '')
  const inOrder = [...keys.slice(1), ...keys.slice(0, 1)]

  observeChange(memory, change, store, VOLUME_SETTINGS.movers)
  expect(memory.triggered).toEqual(inOrder.slice(0, retried))

  const triggered = keys.filter((key) =>
    [...(memory.retries.get(key)?.retryTriggers.values() ?? [])].some((triggers) => triggers.has('namespace')),
  )
  expect(triggered).toHaveLength(retried)
  // Each retries once, until it is rejected again.
  observeChange(memory, change, store, VOLUME_SETTINGS.movers)
  expect(memory.triggered).toEqual(inOrder.slice(retried, 2 * retried))
})

test.each([
  { name: 'its own', over: {}, remembered: 1 },
  { name: 'one of another namespace', over: { namespace: 'shop' }, remembered: 0 },
  { name: 'one without the label of movers', over: { labels: {} }, remembered: 0 },
])('of removed Pods of a VolumeManager, $name is remembered $remembered times', async (given) => {
  const store = await storeOf([managerWith('Downloading', 1)])
  const [name = ''] = [...store.list(volumeManagers)].flatMap(unsettledMovers)
  const mover = makeMover({}, { phase: 'Running' }, 'n1')
  const memory = emptyMemory()
  const before = { ...mover, metadata: { ...mover.metadata, name, ...given.over } }
  observeChange(memory, { type: pods, before }, store, VOLUME_SETTINGS.movers)
  expect(memory.retries.get('default/sales')?.removed.size ?? 0).toBe(given.remembered)
})

test('the rate of a mover is that of the last window of 5 minutes', async () => {
  const memory = emptyMemory()
  const mover = makeMover({}, { phase: 'Running' }, 'n1')
  const name = progressEventName(mover.metadata.name ?? '')
  const store = await storeOf([mover])
  await store.create(events, makeObject('v1', 'Event', name))
  const rateAt = async (seconds: number, doneBytes: number, jumps: readonly ClockJump[] = []) => {
    const message = JSON.stringify({ attempt: 1, doneBytes, doneFiles: 0 })
    await store.patch(events, { namespace: 'default', name }, { message })
    const now = NOW + seconds * 1000
    const read = await readProgresses('default/sales', store, VOLUME_SETTINGS.movers, memory, { now, jumps })
    return [...read.values()][0]?.bytesPerSecond
  }

  expect([await rateAt(0, 5000), await rateAt(299, 9000)]).toEqual([undefined, undefined])
  expect([await rateAt(325, 37_500), await rateAt(600, 99_999), await rateAt(650, 37_500)]).toEqual([100, 100, 0])
  // Of the 900 s since the last window, 600 s are a jump of the clock.
  expect(await rateAt(1550, 67_500, [{ to: NOW + 1_400_000, byMs: 600_000 }])).toBe(100)
  // The clock was set back by about an hour: a new window begins.
  expect([await rateAt(-2000, 70_000), await rateAt(-1700, 130_000)]).toEqual([100, 200])
})

test('the times of the last movers are those of 10,000 namespaces and nodes at most', () => {
  const memory = emptyMemory()
  for (let i = 0; i < 6000; i++) {
    const mover = makeMover({}, {}, `n${i}`)
    rememberServed(memory, mover, i)
  }
  expect(memory.served.size).toBe(6001)
  for (let i = 6000; i < 12_000; i++) rememberServed(memory, makeMover({}, {}, `n${i}`), i)

  expect([memory.served.size, memory.served.get('default'), memory.served.has('default/n0')]).toEqual([
    10_000,
    11_999,
    false,
  ])
})

test('the movers of a deleted VolumeManager are read, also if they are not cached yet', async () => {
  const memory = emptyMemory()
  const [cached, created, deleted] = [makeMover(), makeMover({ index: 1 }), makeMover({ index: 2 })]
  const ofAnother = { ...makeMover(), metadata: { ...makeMover().metadata, name: 'other', annotations: {} } }
  for (const pod of [cached, created, deleted, ofAnother]) memory.created.set(keyOfObject(pod), pod)
  const store = await storeOf([cached])
  const read = store.read.bind(store)
  store.read = async (type, namespace, name) =>
    name === created.metadata.name ? (created as never) : read(type, namespace, name)

  const movers = await readMovers('default/sales', store, VOLUME_SETTINGS.movers, memory)
  forgetCreated('default/sales', memory)

  expect(movers.map(({ metadata }) => metadata.name)).toEqual([cached.metadata.name, created.metadata.name])
  expect([...memory.created.keys()]).toEqual(['default/other'])
})
