import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { secrets } from '../../api/dependencies.ts'
import { clusters, resourceBindings } from '../../api/karmada.ts'
import { collectionPath } from '../../api/meta.ts'
import { TestClock } from '../../base/time/clock.fake.ts'
import { guardWrites } from '../guarded-store.ts'
import { bindingKind, buildBinding, clusterKind, secretKind } from '../objects.fake.ts'
import { describeObjectStore } from '../store.suite.ts'
import { ConflictError } from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { FakeApiServer } from './api-server.fake.ts'
import { openClusterStore } from './cluster.ts'
import { openConnection } from './connection.ts'

interface Opened {
  server: FakeApiServer
  connection: ApiConnection
  close(): Promise<void>
}

async function open(): Promise<Opened> {
  const server = await new FakeApiServer([resourceBindings, clusters, secrets]).listen()
  const directory = await mkdtemp(join(tmpdir(), 'lodestone-'))
  const kubeconfig = join(directory, 'config')
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test' } }],
      clusters: [{ name: 'test', cluster: { server: server.url } }],
    }),
  )
  const connection = await openConnection({ kubeconfig })
  return {
    server,
    connection,
    close: async () => {
      await connection.close()
      await server.close()
      await rm(directory, { recursive: true })
    },
  }
}

describeObjectStore('the cluster store', async (observer) => {
  const { server, connection, close } = await open()
  return {
    store: openClusterStore({ connection, kinds: [bindingKind, clusterKind, secretKind], observer }),
    put: async (type, object) => void server.put(type, object),
    remove: async (type, namespace, name) => server.remove(type, namespace, name),
    close,
  }
})

describe('a write', () => {
  test('is one request, whether it succeeds or fails', async () => {
    const { server, connection, close } = await open()
    onTestFinished(close)
    const store = openClusterStore({ connection, kinds: [] })
    const created = await store.create(resourceBindings, buildBinding('web'))
    const reference = { namespace: 'shop', name: 'web' }
    const patched = await store.patch(resourceBindings, reference, { status: {} }, { subresource: 'status' })
    await expect(store.delete(resourceBindings, created)).rejects.toThrow(ConflictError)
    await store.delete(resourceBindings, patched)
    await store.delete(resourceBindings, patched)
    const path = collectionPath(resourceBindings, 'shop')
    expect(server.requests.map((request) => `${request.method} ${request.path}`)).toEqual([
      `POST ${path}`,
      `PATCH ${path}/web/status`,
      `DELETE ${path}/web`,
      `DELETE ${path}/web`,
      `DELETE ${path}/web`,
    ])
  })

  test('throws for a name that would address more than one object', async () => {
    const { server, connection, close } = await open()
    onTestFinished(close)
    const store = openClusterStore({ connection, kinds: [] })
    const metadata = { resourceVersion: '1' }
    const binding = buildBinding('web')
    const refused = [
      { ...metadata, namespace: 'shop' },
      { ...metadata, namespace: 'shop', name: '' },
      { ...metadata, namespace: 'shop', name: '..' },
      { ...metadata, name: 'web' },
    ]
    for (const metadata of refused) {
      await expect(store.delete(resourceBindings, { ...binding, metadata })).rejects.toThrow('is missing')
    }
    await expect(store.patch(clusters, { name: '' }, {})).rejects.toThrow('is missing')
    expect(server.requests).toEqual([])
  })

  test('waits for the write limit, unlike reads, and rejects when the store stops', async () => {
    const { server, connection, close } = await open()
    onTestFinished(close)
    const clock = new TestClock()
    const store = openClusterStore({ connection, kinds: [], clock, writesPerSecond: 10, burst: 1 })
    await store.create(resourceBindings, buildBinding('a'))
    const second = store.create(resourceBindings, buildBinding('b'))
    const third = store.patch(resourceBindings, { namespace: 'shop', name: 'a' }, { spec: { replicas: 2 } })
    const turnedAway = expect(third).rejects.toThrow('the store was stopped')
    expect(await store.read(resourceBindings, 'shop', 'a')).toBeDefined()
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'GET'])
    clock.advance(100)
    await second
    await store.stop()
    await turnedAway
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST'])
  })

  test('asks its caller again after the wait for the write limit', async () => {
    const { server, connection, close } = await open()
    onTestFinished(close)
    const clock = new TestClock()
    const store = openClusterStore({ connection, kinds: [], clock, writesPerSecond: 10, burst: 1 })
    let isLeader = true
    const guarded = guardWrites(store, () => {
      if (!isLeader) throw new Error('no longer the leader')
    })
    await guarded.create(resourceBindings, buildBinding('a'))
    const waiting = expect(guarded.create(resourceBindings, buildBinding('b'))).rejects.toThrow('no longer the leader')
    isLeader = false
    clock.advance(100)
    await waiting
    expect(server.requests.map(({ method }) => method)).toEqual(['POST'])
    await store.stop()
  })
})
