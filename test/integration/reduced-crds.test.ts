/** The loop of DataSources with CRDs that lack fields: it does not write the same status again and again. */
import { expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { queryOfClaim } from '../../src/core/data-source-claim/keys.ts'
import { nameOfSource } from '../../src/queries/source.ts'
import type { ReconcileContext } from '../../src/reconcile/define.ts'
import { openDataSourceLoop } from '../../src/reconcile/sources/data-source.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { makeClaim, makeSource, NOW } from '../builders.ts'

type Status = NonNullable<DataSource['status']>

test.each<{ crd: string; dropped: (keyof Status)[]; writes: number; reports: number; kept: Partial<Status> }>([
  { crd: 'of this version', dropped: [], writes: 1, reports: 0, kept: { phase: 'Available', clusters: 'member2' } },
  { crd: 'of volcano-global', dropped: ['clusters', 'size', 'phase'], writes: 1, reports: 1, kept: { boundClaims: 0 } },
])('with the CRD $crd, the status of a source that a user wrote is written once', async (given) => {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const { metadata } = await store.create(dataSources, makeSource())
  const observed = { writes: 0, reports: 0 }
  const patch = store.patch.bind(store) as (...args: unknown[]) => Promise<never>
  store.patch = (type, reference, change, options) => {
    observed.writes++
    const status: Record<string, unknown> = { ...(change['status'] as object) }
    for (const field of given.dropped) delete status[field]
    return patch(type, reference, { ...change, status }, options)
  }
  const context = {
    ...{ store, events: { record: () => {} }, systems: new Map(), now: () => NOW, enqueue: () => {} },
    signal: new AbortController().signal,
    observer: { reducedCrd: () => observed.reports++ },
  } as unknown as ReconcileContext
  const loop = openDataSourceLoop()

  for (let i = 0; i < 5; i++) await loop.reconcile(metadata.name ?? '', context)

  const { writes, reports } = given
  expect(observed).toEqual({ writes, reports })
  expect((await store.read(dataSources, undefined, metadata.name ?? ''))?.status).toMatchObject(given.kept)
  await store.stop()
})

test('two sources that the CRD of volcano-global rejects at the same time are both planned again', async () => {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const claims = await Promise.all(
    ['a', 'b'].map((name) => store.create(dataSourceClaims, makeClaim({ dataSourceName: name }, { name }))),
  )
  const names = claims.map((claim) => nameOfSource(queryOfClaim(claim)))
  store.create = async () => {
    throw Object.assign(new Error('spec.locality: Required value'), { status: 422 })
  }
  const system = {
    plugin: { system: 'nowhere', locate: async () => ({ kind: 'nowhere', reason: 'no such table' }) },
    ...{ refreshIntervalMs: 300_000, maxConcurrent: 4, health: { state: 'healthy' } },
    retry: { maxRetries: 0, initialBackoffMs: 1, maxBackoffMs: 1, backoffMultiplier: 2, timeoutMs: 1 },
  }
  const enqueued: string[] = []
  const observed = { reports: 0 }
  const context = {
    ...{ store, events: { record: () => {} }, systems: { get: () => system }, now: () => NOW },
    enqueue: (name: string) => enqueued.push(name),
    signal: new AbortController().signal,
    observer: { reducedCrd: () => observed.reports++, queryEnded: () => {} },
  } as unknown as ReconcileContext
  const loop = openDataSourceLoop()
  const run = () => Promise.all(names.map((name) => loop.reconcile(name, context)))

  await run()
  await expect.poll(() => enqueued.toSorted()).toEqual(names.toSorted())
  enqueued.length = 0
  await run()

  expect({ enqueued: enqueued.toSorted(), ...observed }).toEqual({ enqueued: names.toSorted(), reports: 1 })
  await store.stop()
})
