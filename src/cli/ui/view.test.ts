import { expect, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { EMPTY_LISTS } from './lists.fake.ts'
import { openView, type Snapshot } from './view.ts'

const CHANGE = { type: { kind: 'Deployment' } } as StoreChange

/** A view whose computation takes `durationMs`, and a function that changes an object. */
function open(durationMs = 0, failures: Error[] = []) {
  const clock = new TestClock()
  const listeners = new Set<(change: StoreChange) => void>()
  const subscribe: ObjectStore['subscribe'] = (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  let computations = 0
  const compute = async () => {
    computations += 1
    clock.advance(durationMs)
    const failure = failures.pop()
    if (failure) throw failure
    return EMPTY_LISTS
  }
  const view = openView({ subscribe } as ObjectStore, compute, clock)
  const change = () => {
    for (const listener of listeners) listener(CHANGE)
  }
  return { clock, view, change, count: () => computations, listeners }
}

test('the lists are computed again after a change, but not for each request', async () => {
  const { clock, view, change, count } = open()
  clock.advance(1000)
  const { revision } = await view.current()
  await view.current()
  expect(count()).toBe(1)
  change()
  await view.current()
  expect(count()).toBe(1)
  clock.advance(500)
  expect((await view.current()).revision).toBe(revision + 1)
})

test('a long computation is repeated seldom', async () => {
  const { clock, view, change, count } = open(400)
  clock.advance(1000)
  await view.current()
  change()
  clock.advance(3999)
  await view.current()
  expect(count()).toBe(1)
  clock.advance(1)
  await view.current()
  expect(count()).toBe(2)
})

test('the first state after a restart has a later revision than those before', async () => {
  const { clock, view } = open()
  clock.advance(1000)
  const before = await view.current()
  clock.advance(1000)
  const restarted = openView(
    { subscribe: () => () => undefined } as unknown as ObjectStore,
    async () => EMPTY_LISTS,
    clock,
  )
  expect((await restarted.current()).revision).toBeGreaterThan(before.revision)
})

test('requests at the same time share one computation', async () => {
  const { clock, view, count } = open()
  clock.advance(1000)
  await Promise.all([view.current(), view.current()])
  expect(count()).toBe(1)
})

test('a change is not lost if the computation after it fails', async () => {
  const failures: Error[] = []
  const { clock, view, change } = open(0, failures)
  clock.advance(1000)
  const { revision } = await view.current()
  change()
  clock.advance(500)
  failures.push(new Error('the API server is away'))
  await expect(view.current()).rejects.toThrow('the API server is away')
  expect((await view.current()).revision).toBe(revision + 1)
})

test('ages are current without a change of objects', async () => {
  const { clock, view, count } = open()
  clock.advance(1000)
  await view.current()
  clock.advance(15_000)
  await view.current()
  expect(count()).toBe(2)
})

test('a reader gets each state, and nothing is computed after the last reader left', async () => {
  const { clock, view, change, listeners } = open()
  clock.advance(1000)
  const seen: Snapshot[] = []
  const unsubscribe = view.subscribe((snapshot) => seen.push(snapshot))
  change()
  clock.advance(500)
  await expect.poll(() => seen.length).toBe(1)
  await expect.poll(() => clock.waits.length).toBe(1)
  unsubscribe()
  view.subscribe(() => undefined)()
  expect(clock.waits).toHaveLength(1)
  clock.advance(500)
  await Promise.resolve()
  expect(clock.waits).toEqual([])
  view.close()
  expect(listeners.size).toBe(0)
})
