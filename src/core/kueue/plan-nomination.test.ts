/** Tests the writes of a nomination. */
import { expect, test } from 'vitest'
import { makeKueueWorkload, NOW } from '../../../test/builders.ts'
import type { KueueWorkload } from '../../api/kueue.ts'
import type { Condition } from '../../api/meta.ts'
import { isOverruled, type NominationMemory, planNomination, planOverruled, rememberChange } from './plan-nomination.ts'

const REASON = 'default/sales is in w2'
const held = { clusters: [], message: 'default/sales: no DataSource yet' }
const OTHERS = makeKueueWorkload().status?.conditions ?? []

/** A Workload as the API server has it, with this nomination and condition of ours. */
function makeStored(nominated?: string[], condition?: Partial<Condition>): KueueWorkload {
  const fieldsV1 = {
    'f:status': {
      'f:conditions': { 'k:{"type":"QuotaReserved"}': { '.': {}, 'f:status': {}, 'f:type': {} } },
      ...(nominated && { 'f:nominatedClusterNames': {} }),
    },
  }
  const managedFields = [{ manager: 'kueue-admission', operation: 'Apply', subresource: 'status', fieldsV1 }]
  const workload = makeKueueWorkload({}, { resourceVersion: '7', uid: 'u7', managedFields })
  const ours = { type: 'lodestone.dev/Nominated', status: 'False', reason: 'OnHold', message: held.message } as const
  const conditions = condition
    ? [...OTHERS, { ...ours, lastTransitionTime: '2026-01-02T03:00:00Z', ...condition }]
    : OTHERS
  return {
    ...workload,
    status: { ...workload.status, conditions, ...(nominated && { nominatedClusterNames: nominated }) },
  }
}

test('a nomination is applied as Kueue would, with all that Kueue applied before', () => {
  const { actions } = planNomination(makeStored(['w1']), { clusters: ['w2', 'w3'], message: REASON }, NOW)
  expect(actions).toMatchObject([
    {
      kind: 'patch',
      of: { namespace: 'default', name: 'job-train' },
      subresource: 'status',
      fieldManager: 'kueue-admission',
    },
    { kind: 'event', type: 'Normal', reason: 'ClustersNominated', message: `nominated w2, w3: ${REASON}` },
  ])
  expect(actions[0]).toHaveProperty('patch', {
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'Workload',
    metadata: { name: 'job-train', namespace: 'default', uid: 'u7', resourceVersion: '7' },
    status: { conditions: [{ type: 'QuotaReserved', status: 'True' }], nominatedClusterNames: ['w2', 'w3'] },
  })
})

test('a withdrawn nomination is an empty list, and then a condition has the reason', () => {
  const { actions } = planNomination(makeStored(['w1']), held, NOW)
  expect(actions).toMatchObject([{ fieldManager: 'kueue-admission', patch: { status: { nominatedClusterNames: [] } } }])
})

test('a hold is a condition beside those of Kueue, and an Event', () => {
  const { actions } = planNomination(makeStored([]), held, NOW)
  expect(actions).toMatchObject([
    { kind: 'patch', subresource: 'status', patch: { metadata: { resourceVersion: '7' } } },
    { kind: 'event', type: 'Warning', reason: 'NominationOnHold', message: held.message },
  ])
  expect(actions[0]).not.toHaveProperty('fieldManager')
  const { status } = actions[0]?.kind === 'patch' ? (actions[0].patch as Pick<KueueWorkload, 'status'>) : {}
  expect(status?.conditions).toEqual([
    ...OTHERS,
    {
      type: 'lodestone.dev/Nominated',
      status: 'False',
      reason: 'OnHold',
      message: held.message,
      lastTransitionTime: new Date(NOW).toISOString(),
    },
  ])
})

test('the end of a hold is a condition without an Event', () => {
  const { actions } = planNomination(makeStored(['w2'], {}), { clusters: ['w2'], message: REASON }, NOW)
  expect(actions).toMatchObject([{ kind: 'patch', patch: { status: {} } }])
  expect(JSON.stringify(actions)).toContain(`"status":"True","reason":"Nominated","message":"${REASON}"`)
})

test.each<{ name: string; workload: KueueWorkload; decision: { clusters: string[]; message: string } }>([
  {
    name: 'the same nomination of a Workload that was never on hold',
    workload: makeStored(['w2']),
    decision: { clusters: ['w2'], message: REASON },
  },
  {
    name: 'the same clusters in another order',
    workload: makeStored(['w1', 'w2']),
    decision: { clusters: ['w2', 'w1'], message: REASON },
  },
  { name: 'the same hold', workload: makeStored(undefined, {}), decision: held },
  { name: 'the same hold after a nomination that was taken back', workload: makeStored([], {}), decision: held },
])('nothing is written for $name', ({ workload, decision }) => {
  expect(planNomination(workload, decision, NOW + 1000).actions).toEqual([])
})

test('the nomination of another dispatcher stays, and the condition says so once', () => {
  const message =
    'another dispatcher changes the nomination; set multiKueue.dispatcherName of Kueue to lodestone.dev/dispatcher'
  expect(planOverruled(makeStored(['w1']), NOW).actions).toMatchObject([
    { kind: 'patch', subresource: 'status' },
    { kind: 'event', reason: 'NominationOnHold', message },
  ])
  expect(planOverruled(makeStored(['w1'], { reason: 'OtherDispatcher', message }), NOW).actions).toEqual([])
})

test('a Workload without a status gets its first condition, and an Event about it', () => {
  const { status: _, ...workload } = makeStored()
  const { actions } = planNomination(workload, held, NOW)
  expect(actions).toMatchObject([
    { kind: 'patch', patch: { status: { conditions: [{ type: 'lodestone.dev/Nominated', status: 'False' }] } } },
    {
      kind: 'event',
      about: { apiVersion: 'kueue.x-k8s.io/v1beta2', kind: 'Workload', metadata: { name: 'job-train', uid: 'u7' } },
    },
  ])
})

test('a nomination of a Workload that has no conditions is not written twice', () => {
  const workload = { ...makeStored(), status: { nominatedClusterNames: ['w2'] } }
  expect(planNomination(workload, { clusters: ['w2'], message: REASON }, NOW).actions).toEqual([])
})

const SINCE = '2026-01-02T03:00:00Z'

/** The memory of a loop that writes `w2` each time, and finds these nominations before its writes. */
function after(found: readonly (readonly string[])[], since = SINCE): NominationMemory | undefined {
  let memory: NominationMemory | undefined
  for (const nominated of found) memory = { ...rememberChange(memory, since, nominated), written: ['w2'] }
  return memory
}

test.each([
  { name: 'nothing was nominated before', found: [[]], overruled: false },
  { name: 'its own nomination stays', found: [[], ['w2'], ['w2'], ['w2'], ['w2']], overruled: false },
  { name: 'Kueue removes it again and again', found: [[], [], [], [], []], overruled: false },
  { name: 'it was changed twice', found: [[], ['w1'], ['w1', 'w2']], overruled: false },
  { name: 'it was changed three times', found: [[], ['w1'], ['w1', 'w2'], ['w1']], overruled: true },
])('$name: overruled is $overruled', ({ found, overruled }) => {
  const memory = after(found)
  expect(memory && isOverruled(memory)).toBe(overruled)
})

test('a new reservation of quota begins anew', () => {
  const memory = after([[], ['w1'], ['w1'], ['w1']])
  expect(memory && isOverruled(memory)).toBe(true)
  const next = rememberChange(memory, '2026-01-02T04:00:00Z', ['w1'])
  expect(next).toEqual({ since: '2026-01-02T04:00:00Z', written: ['w1'], changes: 0 })
})
