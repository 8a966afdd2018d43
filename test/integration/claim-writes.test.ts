/** How many writes the loops need for a claim that admission has protected, in both orders of claim and binding. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import type { Systems } from '../../src/locality/locality.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import type { FolderStore } from '../../src/store/folder/folder.ts'
import { makeBinding, makeClaim } from '../builders.ts'
import { storeOf } from '../stores.ts'
import { runLoops } from './controller.ts'
import { makeLake } from './lake.ts'

const lake = makeLake(async () => ({ kind: 'located', location: 's3://lake/sales', clusters: ['member2'] }))
const systems: Systems = { get: () => lake, subscribe: () => () => undefined }

let store: FolderStore
/** The writes of Lodestone: each with its kind, and what it says. */
let writes: string[]

beforeEach(async () => {
  vi.useFakeTimers()
  store = await storeOf()
  writes = []
  store.subscribe(({ type, before, after }) => {
    if (type.kind === dataSourceClaims.kind && before && after) {
      const { phase, conditions = [] } = (after as DataSourceClaim).status ?? {}
      const others = conditions.filter(({ type }) => type === 'Effective' || type === 'WorkloadPlaced')
      writes.push(['claim', phase, ...others.map(({ reason }) => reason)].join(' '))
    } else if (type.kind === resourceBindings.kind && before && after) {
      const { spec } = after as ResourceBinding
      const isScheduling = (before as ResourceBinding).spec.clusters !== spec.clusters
      if (!isScheduling) writes.push(spec.suspension?.scheduling ? 'binding on hold' : 'binding narrowed')
    } else if (type.kind === 'DataSource') writes.push(before ? 'source status' : 'source')
  })
  runLoops({ store, loops: openLoops({ propagate: 'dataBound', distribution: 'builtin' }), systems })
  // The first pass over all objects.
  await vi.advanceTimersByTimeAsync(10)
})

afterEach(() => {
  vi.useRealTimers()
})

const createClaim = () => store.create(dataSourceClaims, makeClaim({}, { finalizers: ['lodestone.dev/claim'] }))
const createBinding = () => store.create(resourceBindings, makeBinding())
const schedule = () =>
  store.patch(
    resourceBindings,
    { namespace: 'default', name: 'app-deployment' },
    { spec: { clusters: [{ name: 'member2', replicas: 1 }] } },
  )

test('binding first: one status says that the claim is Bound and its workload placed', async () => {
  await createBinding()
  await createClaim()
  await vi.advanceTimersByTimeAsync(50)
  const toNarrow = ['binding on hold', 'source', 'binding narrowed', 'source status']
  expect(writes.toSorted()).toEqual(toNarrow.toSorted())

  await schedule()
  await vi.advanceTimersByTimeAsync(60_000)

  expect(writes.slice(toNarrow.length)).toEqual(['claim Bound Placed'])
})

test('claim first: one status without a binding, and one when the workload is placed', async () => {
  await createClaim()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(writes).toEqual(['source', 'source status', 'claim Bound NoBinding'])

  await createBinding()
  await vi.advanceTimersByTimeAsync(50)
  await schedule()
  await vi.advanceTimersByTimeAsync(60_000)

  expect(writes.slice(3)).toEqual(['binding narrowed', 'claim Bound Placed'])
})
