import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { resourceBindings } from '../../api/karmada.ts'
import { DEFAULT_TIMING } from '../../core/resource-binding/timing.ts'
import { moveRows } from './moves.ts'
import { openMemory } from './ui.fake.ts'
import { decidedBindings } from './workloads.ts'

const SINCE = '2026-11-20T12:00:00Z'
const base = { message: 'why', claims: ['default/sales'], required: ['member2'] }

async function rowsOf(locality: object, { clusters = ['member2'], allowed = ['member2'] } = {}, more: object = {}) {
  const store = await openMemory()
  const binding = makeBinding(
    {
      clusters: clusters.map((name) => ({ name })),
      placement: allowed.length > 0 ? { clusterAffinity: { clusterNames: allowed } } : {},
    },
    { annotations: { 'lodestone.dev/locality': JSON.stringify(locality), ...more } },
  )
  await store.create(resourceBindings, { ...binding, status: { lastScheduledTime: '2026-11-20T11:00:00Z' } })
  return moveRows(decidedBindings(store), DEFAULT_TIMING)
}

test.each([
  { name: 'that is with its data is placed', locality: { state: 'Narrowed' }, state: 'Placed' },
  {
    name: 'that runs outside of its narrowing moves',
    locality: { state: 'Narrowed' },
    place: { clusters: ['member1'] },
    state: 'Moving',
  },
  {
    name: 'that any cluster may take is placed',
    locality: { state: 'Narrowed' },
    place: { clusters: ['member1'], allowed: [] },
    state: 'Placed',
  },
  {
    name: 'that is relaxed returns after the failback window',
    locality: { state: 'Relaxed', since: SINCE },
    state: 'Returning',
    due: '2026-11-20T12:05:00.000Z',
  },
  {
    name: 'that runs beside preferred data returns after the failback window',
    locality: { state: 'Narrowed', since: SINCE },
    state: 'Returning',
    due: '2026-11-20T12:05:00.000Z',
  },
  {
    name: 'without its claim is released after the release delay',
    locality: { state: 'Kept', since: SINCE },
    state: 'Releasing',
    due: '2026-11-20T12:00:30.000Z',
  },
  { name: 'that is kept stays', locality: { state: 'Kept' }, state: 'Staying' },
  { name: 'that is relaxed for good stays', locality: { state: 'Relaxed' }, state: 'Staying' },
])('a workload $name', async ({ locality, place = {}, state, due }) => {
  const [row] = await rowsOf({ ...base, ...locality }, place)
  expect({ state: row?.state, due: row?.due }).toEqual({ state, due })
})

test('a row has the clusters, what is allowed, and when Karmada scheduled the workload', async () => {
  expect(await rowsOf({ ...base, state: 'Narrowed' })).toEqual([
    {
      workload: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' },
      state: 'Placed',
      message: 'why',
      clusters: ['member2'],
      allowed: 'member2',
      scheduledTime: '2026-11-20T11:00:00Z',
      decisionId: expect.any(String),
    },
  ])
})

test('a workload on hold runs nowhere, so it does not move', async () => {
  const hold = JSON.stringify({ message: 'm', reason: 'Unresolved', since: SINCE })
  expect(await rowsOf({ ...base, state: 'Narrowed' }, {}, { 'lodestone.dev/hold': hold })).toEqual([])
})
