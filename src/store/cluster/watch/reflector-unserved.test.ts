import { describe, expect, test } from 'vitest'
import { clusters } from '../../../api/karmada.ts'
import { settle, until } from '../../../base/time/clock.fake.ts'
import { bindingKind, buildCluster, clusterKind } from '../../objects.fake.ts'
import { isListRequest, isWatchRequest, status } from '../api-responses.fake.ts'
import { openStage, pass } from './reflector.fake.ts'

const optionalClusters = { ...clusterKind, optional: true }

describe('an optional kind that the server does not serve', () => {
  test('is synced and empty, and appears when it is served', async () => {
    const { server, store, clock, heard, changes } = await openStage({ kinds: [bindingKind, optionalClusters] })
    server.serve(clusters, false)
    await store.start(new AbortController().signal)
    expect([store.serves(clusters), store.size(clusters)]).toEqual([false, 0])
    expect(heard.filter((line) => line.startsWith('error'))).toEqual([])
    await until(() => clock.waits.includes(2000))
    server.serve(clusters, true)
    server.put(clusters, buildCluster('north-1'))
    clock.advance(1000)
    await settle()
    expect(server.lists(clusters)).toHaveLength(1)
    clock.advance(1000)
    await until(() => store.size(clusters) === 1)
    expect(store.serves(clusters)).toBe(true)
    expect(changes).toEqual(['+north-1'])
    expect(heard.filter((line) => /^(not )?served$/.test(line))).toEqual(['not served', 'served'])
  })

  test('is checked soon at first, and then less and less often', async () => {
    const { server, store, clock } = await openStage({ kinds: [optionalClusters] })
    server.serve(clusters, false)
    await store.start(new AbortController().signal)
    const waits = [2000, 4000, 8000, 16_000, 30_000, 30_000]
    for (const [looks, waitMs] of waits.entries()) {
      await until(() => clock.waits.includes(waitMs))
      clock.advance(waitMs - 1)
      await settle()
      expect(server.lists(clusters)).toHaveLength(looks + 1)
      clock.advance(1)
      await until(() => server.lists(clusters).length === looks + 2)
    }
  })

  test('any more becomes empty after two lists, and its objects are published as deleted', async () => {
    const { server, store, clock, changes } = await openStage({ kinds: [optionalClusters] })
    server.put(clusters, buildCluster('north-1'))
    await store.start(new AbortController().signal)
    await until(() => server.watches(clusters).length === 1)
    server.serve(clusters, false)
    clock.advance(20_000)
    server.watches(clusters)[0]?.end()
    await until(() => server.watchRequests(clusters).length === 2)
    expect(store.size(clusters)).toBe(1)
    await pass(clock, () => store.size(clusters) === 0)
    expect(store.serves(clusters)).toBe(false)
    expect(changes).toEqual(['-north-1'])
  })

  test('for a moment, as during a restart of the server, keeps its objects', async () => {
    const { server, store, clock, changes } = await openStage({ kinds: [optionalClusters] })
    server.put(clusters, buildCluster('north-1'))
    await store.start(new AbortController().signal)
    await until(() => server.watches(clusters).length === 1)
    const missing = status(404, 'NotFound')
    server.misbehave(isWatchRequest(clusters), missing)
    server.misbehave(isListRequest(clusters), missing)
    clock.advance(20_000)
    server.watches(clusters)[0]?.end()
    await pass(clock, () => server.lists(clusters).length === 3 && server.watches(clusters).length === 1)
    expect(store.serves(clusters)).toBe(true)
    expect(changes).toEqual([])
  })
})

describe('a kind with several versions', () => {
  const older = { ...clusters, version: 'v1alpha0' }
  const kind = { ...optionalClusters, type: { ...clusters, otherVersions: ['v1alpha0'] } }

  test('is read in the first one that the server serves', async () => {
    const { server, store, changes } = await openStage({ kinds: [kind] })
    server.serve(clusters, false)
    server.put(older, { ...buildCluster('north-1'), apiVersion: 'cluster.karmada.io/v1alpha0' })
    await store.start(new AbortController().signal)
    expect([...store.list(clusters)].map(({ apiVersion }) => apiVersion)).toEqual(['cluster.karmada.io/v1alpha0'])
    expect(store.serves(clusters)).toBe(true)
    await until(() => server.watches(older).length === 1)
    server.put(older, { ...buildCluster('north-2'), apiVersion: 'cluster.karmada.io/v1alpha0' })
    await until(() => changes.length > 0)
    expect(changes).toEqual(['+north-2'])
    expect((await store.read(kind.type, undefined, 'north-1'))?.metadata.name).toBe('north-1')
  })

  test('is not served if the server has none of them', async () => {
    const { server, store } = await openStage({ kinds: [kind] })
    server.serve(clusters, false)
    server.serve(older, false)
    await store.start(new AbortController().signal)
    expect(store.serves(clusters)).toBe(false)
  })
})
