/** The loop of DataSources with CRDs that lack fields: it does not write the same status again and again. */
import { expect, test } from 'vitest'
import { type DataSource, dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { statusFor } from '../../src/core/data-source/crd.ts'
import { queryOfClaim } from '../../src/core/data-source-claim/keys.ts'
import { nameOfSource } from '../../src/queries/source.ts'
import type { ReconcileContext } from '../../src/reconcile/define.ts'
import { openDataSourceLoop } from '../../src/reconcile/sources/data-source.ts'
import { ApiError } from '../../src/store/cluster/api-error.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { makeClaim, makeSource, NOW } from '../builders.ts'

type Status = NonNullable<DataSource['status']>

const INVALID = { status: 422, reason: 'Invalid' }

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
    store,
    events: { record: () => {} },
    systems: new Map(),
    now: () => NOW,
    enqueue: () => {},
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

test('a source has its whole status soon after our CRD replaced that of volcano-global', async () => {
  const { names, store, observed, run, advance } = await openLoop(['a', 'b'])
  const patch = store.patch.bind(store) as (...args: unknown[]) => Promise<never>
  store.patch = (type, reference, change, options) =>
    patch(type, reference, { ...change, status: statusFor('upstream', (change['status'] ?? {}) as object) }, options)
  await run()
  await expect.poll(() => observed.enqueued.length).toBe(2)
  await run()
  await run()
  await run()
  const statuses = () => names.map((name) => store.get(dataSources, undefined, name)?.status)
  expect(statuses().map((status) => [status?.boundClaims, status?.phase])).toEqual([
    [1, undefined],
    [1, undefined],
  ])

  store.patch = patch as typeof store.patch
  observed.enqueued.length = 0
  advance(30_000)
  await run()
  await run()

  expect(statuses()).toMatchObject([{ phase: 'Unavailable' }, { phase: 'Unavailable' }])
  expect(observed.reports).toBe(1)
  await store.stop()
})

test.each([
  { by: 'a policy', error: { status: 403, message: 'ValidatingAdmissionPolicy tables denied request: no team' } },
  { by: 'a policy that finds it invalid', error: { status: 422, message: 'denied request: no team' } },
  { by: 'RBAC', error: { status: 403, message: 'datasources is forbidden: User "lodestone" cannot create' } },
  { by: 'its size', error: { status: 413, message: 'Request entity too large' } },
])('a source of absent data, rejected by $by, is created when it is allowed', async ({ error }) => {
  const { names, store, observed, run } = await openLoop(['a'])
  const create = store.create.bind(store)
  store.create = async () => {
    throw new ApiError({ ...INVALID, ...error })
  }
  await run()
  await expect.poll(() => observed.enqueued).toEqual(names)
  await expect(run()).rejects.toThrow(error.message)

  store.create = create
  await run()
  await run()

  expect(store.get(dataSources, undefined, names[0] ?? '')?.status).toMatchObject({ phase: 'Unavailable' })
  expect(observed.reports).toBe(0)
  await store.stop()
})

test('sources that the CRD of volcano-global rejects at once are both planned again', async () => {
  const { names, store, observed, run } = await openLoop(['a', 'b'])
  store.create = async () => {
    throw new ApiError({
      ...INVALID,
      message: 'spec.locality: Required value',
      details: { causes: ['FieldValueRequired'] },
    })
  }

  await run()
  await expect.poll(() => observed.enqueued.toSorted()).toEqual(names.toSorted())
  observed.enqueued.length = 0
  await run()

  expect({ ...observed, enqueued: observed.enqueued.toSorted() }).toEqual({
    enqueued: names.toSorted(),
    reports: 1,
  })
  await store.stop()
})

/** Opens the loop with a claim for each name, and a data system that has none of their data. `run` reconciles each source once. */
async function openLoop(dataSourceNames: string[]) {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(new AbortController().signal)
  const claims = await Promise.all(
    dataSourceNames.map((name) => store.create(dataSourceClaims, makeClaim({ dataSourceName: name }, { name }))),
  )
  const names = claims.map((claim) => nameOfSource(queryOfClaim(claim)))
  const system = {
    plugin: { system: 'nowhere', locate: async () => ({ kind: 'nowhere', reason: 'no such table' }) },
    refreshIntervalMs: 300_000,
    maxConcurrent: 4,
    health: { state: 'healthy' },
    retry: { maxRetries: 0, initialBackoffMs: 1, maxBackoffMs: 1, backoffMultiplier: 2, timeoutMs: 1 },
  }
  const observed = { reports: 0, enqueued: [] as string[] }
  let now = NOW
  const context = {
    store,
    events: { record: () => {} },
    systems: { get: () => system },
    now: () => now,
    enqueue: (name: string) => observed.enqueued.push(name),
    signal: new AbortController().signal,
    observer: { reducedCrd: () => observed.reports++, queryEnded: () => {} },
  } as unknown as ReconcileContext
  const loop = openDataSourceLoop()
  const run = () => Promise.all(names.map((name) => loop.reconcile(name, context)))
  const advance = (ms: number) => {
    now += ms
  }
  return { names, store, observed, run, advance }
}
