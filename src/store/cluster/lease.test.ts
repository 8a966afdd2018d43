import { describe, expect, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
import { type FolderStore, openFolderStore } from '../folder/folder.ts'
import { MissingPrerequisiteError } from '../store.ts'
import { type Lease, LeaseLock, leases, UNINSTALLING_ANNOTATION } from './lease.ts'

const signal = new AbortController().signal

interface Opened {
  clock: TestClock
  store: FolderStore
  lock(identity: string, durationSeconds?: number): LeaseLock
  spec(): Promise<Lease['spec']>
}

function open(): Opened {
  const clock = new TestClock()
  const store = openFolderStore({ kinds: [] })
  const now = (): number => Date.UTC(2026, 0, 1) + clock.now()
  const place = { store, namespace: 'lodestone', name: 'loops' }
  return {
    clock,
    store,
    lock: (identity, durationSeconds = 15) => new LeaseLock({ ...place, identity, durationSeconds, clock, now }),
    spec: async () => (await store.read(leases, 'lodestone', 'loops'))?.spec,
  }
}

describe('a Lease', () => {
  test('is acquired, renewed and released as in client-go', async () => {
    const { clock, lock, spec } = open()
    const a = lock('a')
    expect(await a.take(signal)).toBe('held')
    const taken = {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    }
    expect(await spec()).toEqual(taken)
    clock.advance(2001)
    expect(await a.take(signal)).toBe('held')
    expect(await spec()).toEqual({ ...taken, renewTime: '2026-01-01T00:00:02.001000Z' })
    await a.release()
    expect(await spec()).toEqual({ ...taken, holderIdentity: '', renewTime: '2026-01-01T00:00:02.001000Z' })
    clock.advance(999)
    expect(await lock('b').take(signal)).toBe('held')
    const time = '2026-01-01T00:00:03.000000Z'
    expect(await spec()).toEqual({
      ...taken,
      holderIdentity: 'b',
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 1,
    })
  })

  test('is free when it did not change during the lease duration of its holder', async () => {
    const { clock, lock } = open()
    const [a, b] = [lock('a', 60), lock('b', 15)]
    await a.take(signal)
    expect(await b.take(signal)).toBe('taken')
    clock.advance(59_000)
    await a.take(signal)
    expect(await b.take(signal)).toBe('taken')
    expect(b.msUntilFree()).toBe(60_000)
    clock.advance(59_999)
    expect(await b.take(signal)).toBe('taken')
    clock.advance(1)
    expect(await b.take(signal)).toBe('held')
    expect(await a.take(signal)).toBe('taken')
  })

  test('with an old renewTime is not free: the wait begins at the first read', async () => {
    const { clock, lock } = open()
    await lock('a').take(signal)
    clock.advance(3_600_000)
    expect(await lock('b').take(signal)).toBe('taken')
  })

  test('that another client created is acquired, and its other fields stay', async () => {
    const { store, lock, spec } = open()
    const empty = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'lodestone', name: 'loops' },
    }
    await store.create<Lease>(leases, { ...empty, spec: { strategy: 'x' } as Lease['spec'] & object })
    expect(await lock('a').take(signal)).toBe('held')
    expect(await spec()).toMatchObject({ holderIdentity: 'a', strategy: 'x', leaseTransitions: 0 })
  })

  test('is acquired by one of several replicas that try at the same time', async () => {
    const { clock, lock } = open()
    const locks = ['a', 'b', 'c'].map((identity) => lock(identity))
    const outcomes = await Promise.all(locks.map((one) => one.take(signal)))
    expect(outcomes.sort()).toEqual(['held', 'raced', 'raced'])
    await Promise.all(locks.map((one) => one.take(signal)))
    clock.advance(15_000)
    const again = await Promise.all(locks.map((one) => one.take(signal)))
    expect(again.filter((outcome) => outcome === 'held')).toHaveLength(1)
  })

  test('is not released by a replica that lost it', async () => {
    const { clock, lock, spec } = open()
    const [a, b] = [lock('a'), lock('b')]
    await a.release()
    await a.take(signal)
    await b.take(signal)
    clock.advance(15_000)
    await b.take(signal)
    await a.release()
    expect((await spec())?.holderIdentity).toBe('b')
  })

  test('is released although another replica announces itself at the same time', async () => {
    const { store, lock, spec } = open()
    const a = lock('a')
    await a.take(signal)
    const place = { namespace: 'lodestone', name: 'loops' }
    const announce = () =>
      store.patch(leases, place, { metadata: { annotations: { [`replica.lodestone.dev/b`]: '{}' } } })
    const read = store.read.bind(store)
    let isFirst = true
    store.read = (async (...words: Parameters<typeof read>) => {
      const lease = await read(...words)
      if (isFirst) await announce()
      isFirst = false
      return lease
    }) as typeof store.read
    await a.release()
    expect((await spec())?.holderIdentity).toBe('')
  })

  test.each([
    { name: 'of now', mark: '2026-01-01T00:00:00.000Z', outcome: 'withdrawn' },
    { name: 'of a clock that is ahead', mark: '2026-01-02T00:00:00.000Z', outcome: 'withdrawn' },
    { name: 'without a valid time', mark: 'true', outcome: 'withdrawn' },
    { name: 'of an hour ago', mark: '2025-12-31T23:00:00.000Z', outcome: 'held' },
  ])('with the mark of an uninstallation $name, which was there first: $outcome', async ({ mark, outcome }) => {
    const { store, lock, spec } = open()
    const a = lock('a')
    await a.take(signal)
    await a.release()
    const patch = { metadata: { annotations: { [UNINSTALLING_ANNOTATION]: mark } } }
    await store.patch(leases, { namespace: 'lodestone', name: 'loops' }, patch)
    expect(await lock('b').take(signal)).toBe(outcome)
    expect((await spec())?.holderIdentity).toBe(outcome === 'held' ? 'b' : '')
  })

  test.each(['2026-01-01T00:00:00.000Z', '2025-12-31T14:00:00.000Z', '2026-01-01T10:00:00.000Z'])(
    'an uninstallation with the clock %s has it for an hour after its mark appears',
    async (mark) => {
      const { clock, store, lock, spec } = open()
      const [a, b] = [lock('a'), lock('b')]
      await a.take(signal)
      expect(await b.take(signal)).toBe('taken')
      const patch = { metadata: { annotations: { [UNINSTALLING_ANNOTATION]: mark } } }
      await store.patch(leases, { namespace: 'lodestone', name: 'loops' }, patch)
      expect(await a.take(signal)).toBe('withdrawn')
      await a.release()
      expect((await spec())?.holderIdentity).toBe('')
      expect(await b.take(signal)).toBe('withdrawn')

      clock.advance(3_599_000)
      expect(await b.take(signal)).toBe('withdrawn')
      clock.advance(1000)
      expect(await b.take(signal)).toBe('held')
    },
  )

  test('is not written by an aborted call', async () => {
    const { lock, spec } = open()
    await expect(lock('a').take(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
    expect(await spec()).toBeUndefined()
  })

  test('in a missing namespace is an error, not a race', async () => {
    const { clock, store } = open()
    const create = (): Promise<never> => Promise.reject(new MissingPrerequisiteError('namespace "none" does not exist'))
    const input = { namespace: 'none', name: 'loops', identity: 'a', durationSeconds: 15, clock, now: () => 0 }
    const lock = new LeaseLock({
      ...input,
      store: { read: store.read.bind(store), update: store.update.bind(store), create },
    })
    await expect(lock.take(signal)).rejects.toThrow('namespace "none" does not exist')
  })
})
