import { expect, test } from 'vitest'
import { makeBinding, makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { Action, Plan } from '../plan.ts'
import { HONOR_MS } from './honored.ts'
import { type ClaimPlanInput, planClaim } from './plan.ts'

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

const goes = { kind: 'patch', patch: { metadata: { finalizers: [] } } }

const statusIn = (actions: Action[]) =>
  actions.flatMap((action) =>
    action.kind === 'patch' && action.subresource ? [action.patch['status'] as DataSourceClaim['status']] : [],
  )[0]

test('a new claim gets its finalizer beside those of others, for the version that was read', () => {
  const [first] = plan({ claim: makeClaim({}, { finalizers: ['other.io/x'], resourceVersion: '7' }) })

  expect(first).toMatchObject({
    kind: 'patch',
    patch: { metadata: { resourceVersion: '7', finalizers: ['other.io/x', 'lodestone.dev/claim'] } },
  })
})

test.each([
  { name: 'located: Bound', source: available, phase: 'Bound', reason: 'Located' },
  {
    name: 'not answered yet: Pending',
    source: makeSource({ locality: undefined } as never),
    phase: 'Pending',
    reason: 'Resolving',
  },
  {
    name: 'no such data: Failed',
    source: makeSource({}, { status: { phase: 'Unavailable' } }),
    phase: 'Failed',
    reason: 'NotFound',
  },
  {
    name: 'in none of our clusters: Bound, and said',
    source: makeSource({ locality: { clusterNames: [] } }),
    phase: 'Bound',
    reason: 'Elsewhere',
  },
])('$name', ({ source, phase, reason }) => {
  const actions = plan({ source })

  expect(statusIn(actions)).toMatchObject({ phase })
  expect(statusIn(actions)?.conditions).toContainEqual(expect.objectContaining({ type: 'Bound', reason }))
  expect(actions.filter(({ kind }) => kind === 'event')).toMatchObject([{ reason }])
})

test('a claim whose name is taken says which DataSource has it, and the way out', () => {
  const nameHolder = makeSource({ name: 'lake.shop.users' })
  const { conditions } = statusIn(plan({ source: undefined, nameHolder })) ?? {}

  expect(conditions).toContainEqual(
    expect.objectContaining({
      type: 'Bound',
      reason: 'NameTaken',
      message:
        'DataSource amoro-table-lake.shop.sales exists but describes different data; delete it, and one for this claim is created',
    }),
  )
})

test('a claim that is not permitted is Pending although its data is known, and says why', () => {
  const actions = plan({ refusal: 'namespace default does not allow claims of namespace other; ask' })
  const status = statusIn(actions)

  expect(status).toEqual({
    phase: 'Pending',
    boundDataSource: null,
    conditions: ['Bound', 'Resolved'].map((type) =>
      expect.objectContaining({
        type,
        reason: 'NotPermitted',
        message: 'namespace default does not allow claims of namespace other; ask',
      }),
    ),
  })
  expect(actions.filter(({ kind }) => kind === 'event')).toMatchObject([{ type: 'Warning', reason: 'NotPermitted' }])
})

test('a status that is right is not written again', () => {
  const status = statusIn(plan())

  expect(plan({ claim: { ...makeClaim({}, held), status } as DataSourceClaim })).toEqual([])
})

test('a claim that is being deleted waits for the bindings that are narrowed for it, then goes', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: '2026-01-01T00:00:00Z' })
  const note = { state: 'Narrowed', message: '', claims: ['default/sales'], required: ['member2'] }
  const narrowed = makeBinding({}, { annotations: { 'lodestone.dev/locality': JSON.stringify(note) } })

  expect(plan({ claim, bindings: [narrowed] })).toEqual([])
  expect(plan({ claim, bindings: [makeBinding()] })).toMatchObject([goes])
})

test('it goes at once with its workload, and else when its leave is over', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: new Date(NOW - 2000).toISOString() })

  expect(planWhole({ claim, bindings: [makeBinding()] })).toEqual({ actions: [], requeueAfterMs: HONOR_MS - 2000 })
  expect(plan({ claim, bindings: [makeBinding()], now: NOW + HONOR_MS })).toMatchObject([goes])
  expect(plan({ claim })).toMatchObject([goes])
})
