import { expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import { storeOf } from '../../../test/stores.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { keyOfObject } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import type { EventAction } from '../../core/plan.ts'
import type { ReconcileContext } from '../define.ts'
import { openDataSourceClaimLoop } from './data-source-claim.ts'

const managedFields = [{ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:policy': { 'f:rebalance': {} } } } }]
const withPolicy = makeClaim({ policy: { rebalance: 'Never' } }, { managedFields, finalizers: ['lodestone.dev/claim'] })

const dropped = makeClaim({}, { managedFields, finalizers: ['lodestone.dev/claim'] })

/** Runs the loop twice for a cached claim, while the API server has another state of it. */
async function run(cached: DataSourceClaim, served: DataSourceClaim) {
  const store = await storeOf([cached, makeSource({}, { status: { phase: 'Available' } })])
  const recorded: EventAction[] = []
  const resourceVersion = store.get(dataSourceClaims, 'default', 'sales')?.metadata.resourceVersion
  const read = async () => ({ ...served, metadata: { ...served.metadata, ...defined({ resourceVersion }) } })
  const context = {
    store: Object.assign(store, { read }),
    events: { record: (event: EventAction) => recorded.push(event) },
    systems: new Map(),
    now: () => NOW,
  } as unknown as ReconcileContext
  const key = keyOfObject(cached)
  const loop = openDataSourceClaimLoop()
  const waits = [await loop.reconcile(key, context)]
  const { phase, observedGeneration } = store.get(dataSourceClaims, 'default', 'sales')?.status ?? {}
  if (phase === undefined && observedGeneration === undefined) waits.push(await loop.reconcile(key, context))
  return { ...defined({ phase, observedGeneration }), events: recorded.map(({ reason }) => reason), waits }
}

test('a claim with its policy is written', async () => {
  const { phase, events } = await run(withPolicy, withPolicy)
  expect([phase, events]).toEqual(['Bound', ['Located']])
})

test.each([
  { name: 'was cached with its policy', cached: withPolicy },
  { name: 'was cached without it', cached: dropped },
])('a claim whose policy the API server drops is not written if it $name', async ({ cached }) => {
  expect(await run(cached, dropped)).toEqual({ events: ['FieldsDropped'], waits: [30_000, 30_000] })
})

test('a claim whose policy the API server serves again comes to the caches by a write', async () => {
  expect(await run(dropped, withPolicy)).toEqual({ observedGeneration: -1, events: [], waits: [undefined] })
})
