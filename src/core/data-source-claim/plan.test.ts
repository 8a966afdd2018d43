import { expect, test } from 'vitest'
import { makeBinding, makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { Action } from '../plan.ts'
import { type ClaimPlanInput, planClaim } from './plan.ts'

const held = { finalizers: ['lodestone.dev/claim'], resourceVersion: '7' }
const available = makeSource({}, { status: { phase: 'Available' } })

function plan(overrides: Partial<ClaimPlanInput> = {}): Action[] {
  const input = {
    claim: makeClaim({}, held),
    source: available,
    systemKnown: true,
    nameTaken: false,
    bindings: [],
    now: NOW,
  }
  return planClaim({ ...input, ...overrides }).actions
}

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

test('a status that is right is not written again', () => {
  const status = statusIn(plan())

  expect(plan({ claim: { ...makeClaim({}, held), status } as DataSourceClaim })).toEqual([])
})

test('a claim that is being deleted waits for the bindings that are narrowed for it, then goes', () => {
  const claim = makeClaim({}, { ...held, deletionTimestamp: '2026-01-01T00:00:00Z' })
  const note = { state: 'Narrowed', message: '', claims: ['default/sales'], required: ['member2'] }
  const narrowed = makeBinding({}, { annotations: { 'lodestone.dev/locality': JSON.stringify(note) } })

  expect(plan({ claim, bindings: [narrowed] })).toEqual([])
  expect(plan({ claim, bindings: [makeBinding()] })).toMatchObject([
    { kind: 'patch', patch: { metadata: { finalizers: [] } } },
  ])
})
