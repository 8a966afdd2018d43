import { expect, test } from 'vitest'
import { makeBinding, makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import type { Condition } from '../../api/meta.ts'
import { defined, withoutNulls } from '../../base/json.ts'
import { type Action, NOTHING, type Plan } from '../plan.ts'
import { HONOR_MS } from './honored.ts'
import { type ClaimPlanInput, planClaim, planReadAgain } from './plan.ts'

const held = { finalizers: ['lodestone.dev/claim'], resourceVersion: '7' }
const available = makeSource({}, { status: { phase: 'Available' } })

const plan = (overrides: Partial<ClaimPlanInput> = {}): Action[] => planWhole(overrides).actions

function planWhole(overrides: Partial<ClaimPlanInput> = {}): Plan {
  const input = {
    claim: makeClaim({}, held),
    refusal: undefined,
    source: available,
    systemKnown: true,
    nameHolder: undefined,
    bindings: [],
    now: NOW,
  }
  return planClaim({ ...input, ...overrides })
}

const of = { type: dataSourceClaims, namespace: 'default', name: 'sales' }
const withFinalizers = (...finalizers: string[]): Action => ({
  kind: 'patch',
  of,
  patch: { metadata: { resourceVersion: '7', finalizers } },
})
const goes = withFinalizers()

const statusIn = (actions: Action[]) =>
  actions.flatMap((action) =>
    action.kind === 'patch' && action.subresource ? [action.patch['status'] as DataSourceClaim['status']] : [],
  )[0]

const lineOf = ({ type, status, reason, message }: Condition) => `${type}=${status} ${reason}: ${message}`
const isReadiness = ({ type }: Condition) => type === 'Ready' || type === 'Stalled'

/** The written status and the Events, with a line for each condition and Event. Ready and Stalled have a test of their own. */
function summary(actions: Action[]) {
  const { phase, boundDataSource, conditions = [] } = statusIn(actions) ?? {}
  return {
    phase,
    bound: boundDataSource as string | null | undefined,
    conditions: conditions.filter((one) => !isReadiness(one)).map(lineOf),
    events: actions.flatMap((action) =>
      action.kind === 'event' ? [`${action.type} ${action.reason}: ${action.message}`] : [],
    ),
  }
}

test('a new claim gets our finalizer after others, for the resourceVersion as read', () => {
  const claim = makeClaim({}, { finalizers: ['other.io/x'], resourceVersion: '7' })
  expect(plan({ claim })).toEqual([withFinalizers('other.io/x', 'lodestone.dev/claim')])
  expect(plan({ claim: makeClaim({}, { resourceVersion: '7' }) })).toEqual([withFinalizers('lodestone.dev/claim')])
})

test('the status of a claim is one patch for the read resourceVersion, with an Event', () => {
  const claim = makeClaim({}, { ...held, generation: 3 })
  const condition = { status: 'True', lastTransitionTime: '2026-01-02T03:04:05.000Z', observedGeneration: 3 }
  expect(plan({ claim })).toEqual([
    {
      kind: 'patch',
      of,
      patch: {
        metadata: { resourceVersion: '7' },
        status: {
          phase: 'Bound',
          boundDataSource: 'amoro-table-lake.shop.sales',
          observedGeneration: 3,
          conditions: [
            {
              type: 'Bound',
              reason: 'BindingSuccessful',
              message: 'Successfully bound to DataSource: amoro-table-lake.shop.sales',
              ...condition,
            },
            { type: 'Ready', reason: 'Located', message: 'the data is in member2', ...condition },
            { type: 'Resolved', reason: 'Located', message: 'the data is in member2', ...condition },
          ],
        },
      },
      subresource: 'status',
    },
    { kind: 'event', about: claim, type: 'Normal', reason: 'Located', message: 'the data is in member2' },
  ])
})

const BOUND = 'Bound=True BindingSuccessful: Successfully bound to DataSource: amoro-table-lake.shop.sales'
const UNRESOLVED = 'Resolving: DataSource amoro-table-lake.shop.sales has no locality yet'
const NO_SOURCE = 'no DataSource for amoro table lake.shop.sales yet'
const TAKEN =
  'DataSource amoro-table-lake.shop.sales exists but describes different data; delete it, and one for this claim is created'
const REFUSAL = 'namespace default does not allow claims of namespace other; ask'
const stale = {
  type: 'Stale',
  status: 'True' as const,
  reason: 'NotAnswered',
  message: 'HTTP 503',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

test.each<{ name: string; given: Partial<ClaimPlanInput>; want: ReturnType<typeof summary> }>([
  {
    name: 'whose data is in several clusters is Bound, and lists them',
    given: { source: makeSource({ locality: { clusterNames: ['member2', 'member1'] } }) },
    want: {
      phase: 'Bound',
      bound: 'amoro-table-lake.shop.sales',
      conditions: [BOUND, 'Resolved=True Located: the data is in member1, member2'],
      events: ['Normal Located: the data is in member1, member2'],
    },
  },
  {
    name: 'whose source has no answer yet is Pending',
    given: { source: makeSource({ locality: undefined } as never) },
    want: {
      phase: 'Pending',
      bound: null,
      conditions: [`Bound=False ${UNRESOLVED}`, `Resolved=Unknown ${UNRESOLVED}`],
      events: [`Normal ${UNRESOLVED}`],
    },
  },
  {
    name: 'whose data does not exist is Failed',
    given: { source: makeSource({}, { status: { phase: 'Unavailable' } }) },
    want: {
      phase: 'Failed',
      bound: null,
      conditions: [
        'Bound=False NotFound: DataSource amoro-table-lake.shop.sales is Unavailable',
        'Resolved=True NotFound: DataSource amoro-table-lake.shop.sales is Unavailable',
      ],
      events: ['Warning NotFound: DataSource amoro-table-lake.shop.sales is Unavailable'],
    },
  },
  {
    name: 'whose data is in none of our clusters is Bound, with that message',
    given: { source: makeSource({ locality: { clusterNames: [] } }) },
    want: {
      phase: 'Bound',
      bound: 'amoro-table-lake.shop.sales',
      conditions: [BOUND, 'Resolved=True Elsewhere: DataSource amoro-table-lake.shop.sales is in none of the clusters'],
      events: ['Normal Elsewhere: DataSource amoro-table-lake.shop.sales is in none of the clusters'],
    },
  },
  {
    name: 'whose data system stopped answering stays Bound, and is not resolved',
    given: { source: makeSource({}, { status: { phase: 'Available', conditions: [stale] } }) },
    want: {
      phase: 'Bound',
      bound: 'amoro-table-lake.shop.sales',
      conditions: [BOUND, 'Resolved=False Stale: HTTP 503'],
      events: ['Normal Located: the data is in member2'],
    },
  },
  {
    name: 'whose data system answers again is resolved',
    given: { source: makeSource({}, { status: { conditions: [{ ...stale, status: 'False' }] } }) },
    want: {
      phase: 'Bound',
      bound: 'amoro-table-lake.shop.sales',
      conditions: [BOUND, 'Resolved=True Located: the data is in member2'],
      events: ['Normal Located: the data is in member2'],
    },
  },
  {
    name: 'without a source is Pending',
    given: { source: undefined },
    want: {
      phase: 'Pending',
      bound: null,
      conditions: [`Bound=False Resolving: ${NO_SOURCE}`, `Resolved=Unknown Resolving: ${NO_SOURCE}`],
      events: [`Normal Resolving: ${NO_SOURCE}`],
    },
  },
  {
    name: 'for a data system that is not configured is Pending, with a warning',
    given: { source: undefined, systemKnown: false },
    want: {
      phase: 'Pending',
      bound: null,
      conditions: [
        'Bound=False SystemUnknown: data system amoro is not configured; add it, or create a DataSource',
        'Resolved=Unknown SystemUnknown: data system amoro is not configured; add it, or create a DataSource',
      ],
      events: ['Warning SystemUnknown: data system amoro is not configured; add it, or create a DataSource'],
    },
  },
  {
    name: 'for which another DataSource has the name shows that DataSource and the remedy',
    given: { source: undefined, nameHolder: makeSource({ name: 'lake.shop.users' }) },
    want: {
      phase: 'Pending',
      bound: null,
      conditions: [`Bound=False NameTaken: ${TAKEN}`, `Resolved=Unknown NameTaken: ${TAKEN}`],
      events: [`Warning NameTaken: ${TAKEN}`],
    },
  },
  {
    name: 'without permission is Pending although its data is located, and shows the reason',
    given: { refusal: REFUSAL },
    want: {
      phase: 'Pending',
      bound: null,
      conditions: [`Bound=False NotPermitted: ${REFUSAL}`, `Resolved=Unknown NotPermitted: ${REFUSAL}`],
      events: [`Warning NotPermitted: ${REFUSAL}`],
    },
  },
])('a claim $name', ({ given, want }) => {
  expect(summary(plan(given))).toEqual(want)
})

const hold = { message: 'no cluster with the data is allowed', reason: 'Unsatisfiable', since: '2026-01-01T00:00:00Z' }
const onHold = makeBinding(
  { suspension: { scheduling: true } },
  { annotations: { 'lodestone.dev/hold': JSON.stringify(hold) } },
)
const placed = makeBinding({ clusters: [{ name: 'member2' }] })

test.each<{ name: string; given: Partial<ClaimPlanInput>; want: string[] }>([
  { name: 'located data', given: {}, want: ['Ready=True Located: the data is in member2'] },
  { name: 'a placed workload', given: { bindings: [placed] }, want: ['Ready=True Located: the data is in member2'] },
  {
    name: 'a workload on hold',
    given: { bindings: [onHold] },
    want: ['Ready=False OnHold: no cluster with the data is allowed'],
  },
  {
    name: 'an unknown location',
    given: { source: undefined, bindings: [onHold] },
    want: [`Ready=False Resolving: ${NO_SOURCE}`],
  },
  { name: 'no permission', given: { refusal: REFUSAL }, want: [`Ready=False NotPermitted: ${REFUSAL}`] },
  {
    name: 'data in none of the clusters',
    given: { source: makeSource({ locality: { clusterNames: [] } }) },
    want: ['Ready=False Elsewhere: DataSource amoro-table-lake.shop.sales is in none of the clusters'],
  },
  {
    name: 'data that does not exist',
    given: { source: makeSource({}, { status: { phase: 'Unavailable' } }) },
    want: [
      'Ready=False NotFound: DataSource amoro-table-lake.shop.sales is Unavailable',
      'Stalled=True NotFound: DataSource amoro-table-lake.shop.sales is Unavailable',
    ],
  },
])('a claim is ready when its data is located and its workload is not on hold: $name', ({ given, want }) => {
  expect(statusIn(plan(given))?.conditions?.filter(isReadiness).map(lineOf)).toEqual(want)
})

test('a claim is not stalled any more when its data exists', () => {
  const failed = plan({ source: makeSource({}, { status: { phase: 'Unavailable' } }) })
  const claim = { ...makeClaim({}, held), status: withoutNulls(statusIn(failed)) } as DataSourceClaim

  expect(statusIn(plan({ claim }))?.conditions?.filter(isReadiness).map(lineOf)).toEqual([
    'Ready=True Located: the data is in member2',
  ])
})

test('a new claim has an Event although the CRD makes it Pending', () => {
  const status = { observedGeneration: -1, phase: 'Pending' }
  const claim = { ...makeClaim({}, { ...held, generation: 1 }), status } as DataSourceClaim
  const written = plan({ claim, source: undefined })

  expect(summary(written).events).toEqual([`Normal Resolving: ${NO_SOURCE}`])
  expect(statusIn(written)?.observedGeneration).toBe(1)
})

test('a CRD without observedGeneration in the status gets no second write', () => {
  const claim = makeClaim({}, { ...held, generation: 3 })
  const { observedGeneration: _dropped, ...status } = statusIn(plan({ claim })) ?? {}

  expect(plan({ claim: { ...claim, status: withoutNulls(status) } as DataSourceClaim })).toEqual([])
})

test('an unchanged status is not written again', () => {
  const status = statusIn(plan())

  expect(plan({ claim: { ...makeClaim({}, held), status } as DataSourceClaim })).toEqual([])
})

test('a claim without DataSource has the reason of volcano-global until it is bound', () => {
  const withStatus = (status: unknown) => ({ ...makeClaim({}, held), status }) as DataSourceClaim
  const gone = plan({ claim: withStatus(statusIn(plan())), source: undefined })
  const invalid = 'Bound=False BindingInvalid: Binding became invalid, resetting to pending state'

  expect(summary(gone)).toMatchObject({
    phase: 'Pending',
    conditions: [invalid, `Resolved=Unknown Resolving: ${NO_SOURCE}`],
  })
  expect(plan({ claim: withStatus(withoutNulls(statusIn(gone))), source: undefined })).toEqual([])
  expect(summary(plan({ claim: withStatus(statusIn(gone)) })).conditions[0]).toBe(BOUND)
})

test('a status with the same phase is written without an Event', () => {
  const claim = { ...makeClaim({}, held), status: { phase: 'Bound' } } as DataSourceClaim

  expect(summary(plan({ claim }))).toMatchObject({ phase: 'Bound', events: [] })
})

test.each([
  { name: 'when its location becomes too old', secondsAgo: 10, want: 50_001 },
  { name: 'immediately, if the location is as old as the limit', secondsAgo: 60, want: 1 },
  { name: 'never, if the location is too old already', secondsAgo: 61, want: undefined },
  { name: 'never, without permission', secondsAgo: 10, refusal: REFUSAL, want: undefined },
])('the next plan of a claim with a limit of 60 s: $name', ({ secondsAgo, refusal, want }) => {
  const claim = makeClaim({ policy: { maxStalenessSeconds: 60 } }, held)
  const lastResolvedTime = new Date(NOW - secondsAgo * 1000).toISOString()
  const source = makeSource({}, { status: { phase: 'Available', lastResolvedTime } })

  expect(planWhole({ claim, source, refusal }).requeueAfterMs).toBe(want)
})

test('a claim without a limit is planned again only after a change', () => {
  expect(Object.keys(planWhole())).toEqual(['actions'])
})

test('a deleted claim is released after the bindings that are narrowed for it', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: '2026-01-01T00:00:00Z' })
  const note = { state: 'Narrowed', message: '', claims: ['default/sales'], required: ['member2'] }
  const narrowed = makeBinding({}, { annotations: { 'lodestone.dev/locality': JSON.stringify(note) } })

  expect(plan({ claim, bindings: [narrowed] })).toEqual([])
  expect(plan({ claim, bindings: [makeBinding()] })).toEqual([goes])
})

test('a deleted claim does not wait for bindings that are narrowed for another claim', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: '2026-01-01T00:00:00Z' })
  const note = { state: 'Narrowed', message: '', claims: ['default/users'], required: ['member2'] }
  const narrowed = makeBinding({}, { annotations: { 'lodestone.dev/locality': JSON.stringify(note) } })

  expect(plan({ claim, bindings: [narrowed] })).toEqual([goes])
})

test('a claim that is being deleted keeps the finalizers of other controllers', () => {
  const deleted = { resourceVersion: '7', deletionTimestamp: '2026-01-01T00:00:00Z' }
  const ours = makeClaim({}, { ...deleted, finalizers: ['other.io/x', 'lodestone.dev/claim'] })

  expect(plan({ claim: ours })).toEqual([withFinalizers('other.io/x')])
  expect(planWhole({ claim: makeClaim({}, { ...deleted, finalizers: ['other.io/x'] }) })).toEqual(NOTHING)
  expect(planWhole({ claim: makeClaim({}, deleted) })).toEqual(NOTHING)
})

test('a deleted claim is released without bindings, or when it is not honored any more', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: new Date(NOW - 2000).toISOString() })

  expect(planWhole({ claim, bindings: [makeBinding()] })).toEqual({ actions: [], requeueAfterMs: HONOR_MS - 2000 })
  expect(plan({ claim, bindings: [makeBinding()], now: NOW + HONOR_MS })).toEqual([goes])
  expect(plan({ claim })).toEqual([goes])
})

test('a claim that affects no placement says so, until its workload has a placement', () => {
  const { placement: _absent, ...spec } = makeBinding().spec
  const attached = { ...makeBinding(), spec }
  const conditionsOf = (actions: Action[]) => summary(actions).conditions
  const ineffective = plan({ readsBindings: true, bindings: [attached] })
  expect(conditionsOf(ineffective)).toEqual([
    BOUND,
    expect.stringMatching(/^Effective=False AttachedDependency: Deployment app is a dependency, /),
    expect.stringMatching(/^Resolved=True Located: the data is in member2; the claim has no effect: /),
  ])
  const claim = { ...makeClaim({}, held), status: withoutNulls(statusIn(ineffective)) as never }
  expect(plan({ claim, readsBindings: true, bindings: [attached] })).toEqual([])
  expect(conditionsOf(plan({ claim, readsBindings: true, bindings: [makeBinding()] }))).toEqual([
    BOUND,
    'Resolved=True Located: the data is in member2',
  ])
  expect(conditionsOf(plan({ readsBindings: true }))[1]).toMatch(/^Effective=False NoBinding: /)
  expect(conditionsOf(plan())).toHaveLength(2)
  expect(conditionsOf(plan({ readsBindings: true, refusal: 'no' }))).toHaveLength(2)
})

test('the status of a claim with a placed workload is written once and keeps its times', () => {
  const binding = makeBinding({ clusters: [{ name: 'member2' }] })
  const written = statusIn(plan({ bindings: [binding] }))
  const claim = { ...makeClaim({}, held), status: withoutNulls(written) } as DataSourceClaim
  expect(written?.conditions?.map(({ type }) => type)).toEqual(['Bound', 'Ready', 'Resolved', 'WorkloadPlaced'])
  expect(plan({ claim, bindings: [binding], now: NOW + 60_000 })).toEqual([])
  const moved = makeBinding({ clusters: [{ name: 'member3' }] })
  const again = statusIn(plan({ claim, bindings: [moved], now: NOW + 60_000 }))
  expect(again?.conditions?.find(({ type }) => type === 'WorkloadPlaced')).toMatchObject({
    message: 'the workload is scheduled to member3',
    lastTransitionTime: new Date(NOW).toISOString(),
  })
})

test('a claim whose fields the API server drops is not written, until it is deleted', () => {
  const dropped = ['spec.policy']
  const message =
    'Warning FieldsDropped: the CRD of claims has no spec.policy, which this claim has set; apply the CRDs of Lodestone, then the claim'
  const actions = plan({ claim: { ...makeClaim({}, { resourceVersion: '7' }), dropped } })
  expect([actions.length, summary(actions).events]).toEqual([1, [message]])
  const again = [undefined, -1, 3].map((observedGeneration) =>
    planReadAgain({ ...makeClaim(), status: defined({ observedGeneration }) }).actions.map((one) => statusIn([one])),
  )
  expect(again).toEqual([-1, 0, -1].map((observedGeneration) => [{ observedGeneration }]))
  const deletionTimestamp = new Date(NOW - HONOR_MS).toISOString()
  expect(plan({ claim: { ...makeClaim({}, { ...held, deletionTimestamp }), dropped } })).toEqual([goes])
})
