/** Absence is not a decision: what the cache keeps when the API server ceases to serve a kind, for every cached kind. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { apiVersionOf, collectionPath, type K8sObject, type ResourceType } from '../../src/api/meta.ts'
import { type AnyCachedKind, kindKey } from '../../src/store/any-kind.ts'
import { connectToFake } from '../../src/store/cluster/api-connection.fake.ts'
import { type ApiRequest, status } from '../../src/store/cluster/api-responses.fake.ts'
import type { FakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { openClusterStore } from '../../src/store/cluster/cluster.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'

const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' }
const SPECS: Record<string, object> = {
  DataSourceClaim: { system: 's', dataSourceType: 't', dataSourceName: 'n', workload: resource },
  DataSource: { system: 's', type: 't', name: 'n' },
  Cluster: {},
  ResourceBinding: { resource },
  ClusterResourceBinding: { resource },
  PropagationPolicy: { resourceSelectors: [] },
  ClusterPropagationPolicy: { resourceSelectors: [] },
  VolumeManager: { volumeConfigs: [] },
}

function makeLeast(type: ResourceType, name: string): K8sObject {
  const metadata = { name, ...(type.namespaced && { namespace: 'default' }) }
  const spec = SPECS[type.kind]
  return { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...(spec && { spec }) } as K8sObject
}

/** Opens a store that has read two objects of each kind, `a` and `b`, and watches them. */
async function open(kinds: readonly AnyCachedKind[]) {
  const types = kinds.map(({ type }) => type)
  const { server, connection } = await connectToFake(types)
  for (const type of types) for (const name of ['a', 'b']) server.put(type, makeLeast(type, name))
  const backoff = { initialMs: 1, maxMs: 2 }
  const store = openClusterStore({ connection, kinds, unservedRetryMs: 5, backoff })
  onTestFinished(() => store.stop())
  await store.start(new AbortController().signal)
  await poll(() => types.every((type) => server.watches(type).length === 1)).toBe(true)
  const deleted: string[] = []
  store.subscribe(
    ({ type, before, after }) => void (after ?? deleted.push(`${kindKey(type)} ${before?.metadata.name}`)),
  )
  /** Returns the present state of each kind, as `given` says it. */
  const each = <T>(of: (type: ResourceType) => T): Record<string, T> =>
    Object.fromEntries(types.map((type) => [kindKey(type), of(type)]))
  return {
    server,
    store,
    deleted,
    each,
    names: () => each((type) => [...store.list(type)].map(({ metadata }) => metadata.name)),
    reasons: () => each((type) => store.unavailable().find((other) => other.type === type)?.reason),
    /** Ends every watch and waits until the store has sent this many more requests for each kind: it had the time to draw a conclusion. */
    async tries(count: number) {
      const ofType = (type: ResourceType) => server.requests.filter(isOf(type)).length
      const before = each(ofType)
      for (const type of types) server.watches(type)[0]?.end()
      await poll(() => types.every((type) => ofType(type) >= (before[kindKey(type)] ?? 0) + count)).toBe(true)
    },
  }
}

const confirmed = cachedKinds.filter(({ absence }) => absence === 'confirm')
const confirmedTypes = confirmed.map(({ type }) => type)
const FOREVER = 2000

function poll<T>(value: () => T) {
  return expect.poll(value, { interval: 10, timeout: 20_000 })
}

/** The expected state of every kind: one value, or one by kind. */
function all<T>(kinds: readonly AnyCachedKind[], of: (kind: AnyCachedKind) => T): Record<string, T> {
  return Object.fromEntries(kinds.map((kind) => [kindKey(kind.type), of(kind)]))
}

test('the kinds that a decision on a placement reads stay while they are absent', () => {
  const retained = cachedKinds.filter(({ absence }) => absence !== undefined)
  expect(retained.map(({ type }) => type.kind).sort()).toEqual([...Object.keys(SPECS), 'Namespace'].sort())
  expect(confirmedTypes.map(({ kind }) => kind).sort()).toEqual([
    'ClusterPropagationPolicy',
    'DataSource',
    'DataSourceClaim',
    'PropagationPolicy',
    'VolumeManager',
  ])
})

describe('every cached kind', () => {
  test.each([
    { code: 403, reason: 'Forbidden', reported: 'Forbidden' },
    // The aggregated API server of Karmada is down: this says nothing about Clusters.
    { code: 503, reason: 'ServiceUnavailable', reported: undefined },
  ])('keeps its objects while the API server answers $code', async ({ code, reason, reported }) => {
    const { server, store, deleted, each, names, reasons, tries } = await open(cachedKinds)

    const isAny = (request: ApiRequest) => cachedKinds.some(({ type }) => isOf(type)(request))
    server.misbehave(isAny, ...Array.from({ length: FOREVER }, () => status(code, reason)))
    await tries(6)

    expect(names()).toEqual(all(cachedKinds, () => ['a', 'b']))
    expect(reasons()).toEqual(all(cachedKinds, ({ absence }) => (absence ? reported : undefined)))
    expect(each((type) => store.serves(type))).toEqual(all(cachedKinds, () => true))
    expect(deleted).toEqual([])
  })

  test('keeps its objects at a 404 of the API server, unless the kind may be absent', async () => {
    const { server, names, reasons, tries } = await open(cachedKinds)

    for (const { type } of cachedKinds) server.serve(type, false)
    await tries(8)

    expect(names()).toEqual(all(cachedKinds, ({ absence, optional }) => (absence || !optional ? ['a', 'b'] : [])))
    expect(reasons()).toEqual(all(cachedKinds, ({ absence }) => (absence ? 'NotServed' : undefined)))
  })

  test('is available again when the right to read it is back', async () => {
    const { server, reasons, tries } = await open(cachedKinds)
    for (const { type } of cachedKinds) {
      server.misbehave(isOf(type), ...Array.from({ length: 3 }, () => status(403, 'Forbidden')))
    }

    await tries(4)

    await poll(reasons).toEqual(all(cachedKinds, () => undefined))
  })
})

describe('a kind whose CRD is deleted', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z'

  test.each<{ how: string; end(server: FakeApiServer, type: ResourceType): void }>([
    { how: 'at once', end: (server, type) => server.remove(type, namespaceOf(type), 'a') },
    {
      how: 'later, since finalizers keep them',
      end(server, type) {
        const { metadata, ...rest } = makeLeast(type, 'a')
        server.put(type, { ...rest, metadata: { ...metadata, deletionTimestamp, finalizers: ['a/b'] } })
      },
    },
    {
      how: 'while the watch is broken',
      end(server, type) {
        server.objects.remove(type, namespaceOf(type), 'a')
        server.objects.compact()
        server.watches(type)[0]?.end()
      },
    },
  ])('keeps the objects that are deleted with it $how, until it is back', async ({ end }) => {
    const { server, store, deleted, each, names, reasons } = await open(confirmed)

    for (const type of confirmedTypes) {
      server.terminate(type)
      end(server, type)
    }
    await poll(reasons).toEqual(all(confirmed, () => 'Terminating'))
    expect(names()).toEqual(all(confirmed, () => ['a', 'b']))
    expect(each((type) => [...store.list(type)].filter(({ metadata }) => metadata.deletionTimestamp))).toEqual(
      all(confirmed, () => []),
    )
    expect(each((type) => store.serves(type))).toEqual(all(confirmed, () => false))

    for (const type of confirmedTypes) {
      server.remove(type, namespaceOf(type), 'b')
      server.serve(type, false)
    }
    await poll(reasons).toEqual(all(confirmed, () => 'NotServed'))
    expect(names()).toEqual(all(confirmed, () => ['a', 'b']))
    expect(deleted).toEqual([])

    // A CRD that is established again is a fact, and so is an object that is missing then.
    for (const type of confirmedTypes) {
      server.put(type, makeLeast(type, 'c'))
      server.serve(type, true)
    }
    await poll(reasons).toEqual(all(confirmed, () => undefined))
    await poll(() => each((type) => store.get(type, namespaceOf(type), 'b'))).toEqual(all(confirmed, () => undefined))
    expect(each((type) => store.get(type, namespaceOf(type), 'c') !== undefined)).toEqual(all(confirmed, () => true))
  })
})

describe('an object that a client deletes', () => {
  const isDefinition = ({ path }: ApiRequest) => path.includes('/customresourcedefinitions/')

  test('is deleted from the cache, for the CRD is established', async () => {
    const { server, names, reasons } = await open(confirmed)
    for (const type of confirmedTypes) server.remove(type, namespaceOf(type), 'a')
    await poll(names).toEqual(all(confirmed, () => ['b']))
    expect(reasons()).toEqual(all(confirmed, () => undefined))
  })

  test('stays in the cache while Lodestone may not read the CRD', async () => {
    const { server, names, reasons } = await open(confirmed)
    server.misbehave(isDefinition, ...Array.from({ length: FOREVER }, () => status(403, 'Forbidden')))

    for (const type of confirmedTypes) server.remove(type, namespaceOf(type), 'a')

    await poll(reasons).toEqual(all(confirmed, () => 'Forbidden'))
    expect(names()).toEqual(all(confirmed, () => ['a', 'b']))
  })

  test('reads the CRD once for many objects that are deleted together', async () => {
    const { server, store } = await open(confirmed)
    const names = Array.from({ length: 500 }, (_, i) => `many-${i}`)
    const [claims] = confirmedTypes.filter(({ kind }) => kind === 'DataSourceClaim') as [ResourceType]
    for (const name of names) server.put(claims, makeLeast(claims, name))
    await expect.poll(() => store.size(claims)).toBe(502)
    const before = server.requests.filter(isDefinition).length

    for (const name of names) server.remove(claims, namespaceOf(claims), name)

    await expect.poll(() => store.size(claims)).toBe(2)
    expect(server.requests.filter(isDefinition).length - before).toBeLessThan(100)
  })

  test('is deleted from the cache after errors of the API server', async () => {
    const { server, names, reasons } = await open(confirmed)
    server.misbehave(isDefinition, status(500, 'InternalError'), status(503, 'ServiceUnavailable'))

    for (const type of confirmedTypes) server.remove(type, namespaceOf(type), 'a')

    await poll(names).toEqual(all(confirmed, () => ['b']))
    expect(reasons()).toEqual(all(confirmed, () => undefined))
  })
})

function namespaceOf({ namespaced }: ResourceType): string | undefined {
  return namespaced ? 'default' : undefined
}

/** Matches every request for the objects of a kind. */
function isOf(type: ResourceType): (request: ApiRequest) => boolean {
  return ({ path }) => path.startsWith(collectionPath(type))
}
