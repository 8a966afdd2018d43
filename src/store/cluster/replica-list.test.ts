import { describe, expect, test } from 'vitest'
import type { Replica } from '../../api/registration.ts'
import { TestClock } from '../../base/time/clock.fake.ts'
import { openFolderStore } from '../folder/folder.ts'
import { ConflictError, type ObjectStore } from '../store.ts'
import { type Lease, leases } from './lease.ts'
import { REPLICA_ANNOTATION_PREFIX, ReplicaList } from './replica-list.ts'

const place = { namespace: 'lodestone', name: 'loops' }
const replica = (host: string, version = '1.0.0'): Replica => ({ host, version, registration: 'r' })

async function open(annotations: Record<string, string> = {}) {
  const clock = new TestClock()
  const store = openFolderStore({ kinds: [] })
  const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...place, annotations } }
  await store.create(leases, lease)
  return {
    clock,
    store,
    list: (id: string, given: Pick<ObjectStore, 'read' | 'update'> = store) =>
      new ReplicaList({ ...place, store: given, id, clock, now: () => Date.UTC(2026, 0, 1) + clock.now() }),
    annotations: async () => (await store.read(leases, place.namespace, place.name))?.metadata.annotations ?? {},
  }
}

describe('a replica that announces itself', () => {
  test('gets the others, and not itself', async () => {
    const { list } = await open()
    const [a, b] = [list('a'), list('b')]
    expect(await a.announce(replica('pod-a'))).toEqual([])
    expect(await b.announce(replica('pod-b', '2.0.0'))).toEqual([replica('pod-a')])
    expect(await a.announce(replica('pod-a'))).toEqual([replica('pod-b', '2.0.0')])
  })

  test('has a key that Kubernetes accepts, and a time for users', async () => {
    const { list, annotations } = await open()
    await list('5b0c').announce(replica('pod-a'))
    expect(await annotations()).toEqual({
      'replica.lodestone.dev/5b0c': JSON.stringify({ ...replica('pod-a'), time: '2026-01-01T00:00:00.000Z' }),
    })
  })

  test('keeps the annotations and the holder of the Lease', async () => {
    const { list, annotations, store } = await open({ team: 'platform' })
    const lease = (await store.read(leases, place.namespace, place.name)) as Lease
    await store.update(leases, { ...lease, spec: { holderIdentity: 'a' } })
    await list('a').announce(replica('pod-a'))
    expect(await annotations()).toMatchObject({ team: 'platform' })
    expect(await store.read(leases, place.namespace, place.name)).toMatchObject({ spec: { holderIdentity: 'a' } })
  })

  test('is removed when it leaves', async () => {
    const { list, annotations } = await open()
    const [a, b] = [list('a'), list('b')]
    await a.announce(replica('pod-a'))
    await b.announce(replica('pod-b'))
    await a.leave()
    expect(Object.keys(await annotations())).toEqual([`${REPLICA_ANNOTATION_PREFIX}b`])
    expect(await b.announce(replica('pod-b'))).toEqual([])
  })

  test('announces nothing without a Lease', async () => {
    const store = openFolderStore({ kinds: [] })
    const list = new ReplicaList({ ...place, store, id: 'a', clock: new TestClock(), now: () => 0 })
    expect(await list.announce(replica('pod-a'))).toEqual([])
    expect(await store.read(leases, place.namespace, place.name)).toBeUndefined()
  })
})

describe('a replica that is silent', () => {
  test('is alive for 35 s after its last change, by the clock of the reader', async () => {
    const { clock, list, annotations } = await open()
    const [a, b] = [list('a'), list('b')]
    await a.announce(replica('pod-a'))
    expect(await b.announce(replica('pod-b'))).toHaveLength(1)
    clock.advance(34_000)
    expect(await b.announce(replica('pod-b'))).toHaveLength(1)
    clock.advance(2000)
    expect(await b.announce(replica('pod-b'))).toEqual([])
    expect(Object.keys(await annotations())).toEqual([`${REPLICA_ANNOTATION_PREFIX}b`])
  })

  test('counts as alive for a replica that starts', async () => {
    const { clock, list } = await open()
    await list('a').announce(replica('pod-a'))
    clock.advance(600_000)
    expect(await list('b').announce(replica('pod-b'))).toEqual([replica('pod-a')])
  })

  test('stays alive while it announces itself', async () => {
    const { clock, list } = await open()
    const [a, b] = [list('a'), list('b')]
    for (let round = 0; round < 20; round++) {
      await a.announce(replica('pod-a'))
      expect(await b.announce(replica('pod-b'))).toHaveLength(1)
      clock.advance(10_000)
    }
  })
})

describe('a Lease that others write', () => {
  test('at the same time is read again', async () => {
    const { list, store } = await open()
    let conflicts = 2
    const busy: Pick<ObjectStore, 'read' | 'update'> = {
      read: store.read.bind(store),
      update: async (type, object, options) => {
        if (conflicts-- > 0) throw new ConflictError('changed')
        return store.update(type, object, options)
      },
    }
    await list('a', busy).announce(replica('pod-a'))
    expect(await list('b').announce(replica('pod-b'))).toEqual([replica('pod-a')])
  })

  test('at each attempt is an error', async () => {
    const { list, store } = await open()
    const update = async () => {
      throw new ConflictError('changed')
    }
    await expect(list('a', { read: store.read.bind(store), update }).announce(replica('pod-a'))).rejects.toThrow(
      ConflictError,
    )
  })

  test.each([
    { name: 'no JSON', text: 'x' },
    { name: 'another shape', text: '{"host":1}' },
    { name: 'a long text', text: JSON.stringify(replica('x'.repeat(2000))) },
  ])('with $name in place of a replica has no replica there, and loses it after 35 s', async ({ text }) => {
    const { clock, list, annotations } = await open({ [`${REPLICA_ANNOTATION_PREFIX}odd`]: text })
    const a = list('a')
    expect(await a.announce(replica('pod-a'))).toEqual([])
    clock.advance(36_000)
    await a.announce(replica('pod-a'))
    expect(Object.keys(await annotations())).toEqual([`${REPLICA_ANNOTATION_PREFIX}a`])
  })

  test('with 50 replicas does not grow', async () => {
    const many = Array.from({ length: 50 }, (_, i) => [
      `${REPLICA_ANNOTATION_PREFIX}${i}`,
      JSON.stringify(replica(`${i}`)),
    ])
    const { list, annotations } = await open(Object.fromEntries(many))
    expect(await list('a').announce(replica('pod-a'))).toHaveLength(50)
    expect(Object.keys(await annotations())).toHaveLength(50)
  })
})
