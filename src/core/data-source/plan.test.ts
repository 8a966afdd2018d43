import { describe, expect, test } from 'vitest'
import { makeSource as draft, makeClaim, NOW } from '../../../test/builders.ts'
import { type DataSource, dataSources } from '../../api/data-source.ts'
import type { Action } from '../plan.ts'
import { type Attempt, planSource, type SourcePlanInput } from './plan.ts'

const claims = [makeClaim()]
const located: Attempt = { kind: 'located', location: 's3://lake/a', clusters: ['member2', 'member1'], bytes: 7 }

/** One that is stored, and claimed already. */
const makeSource = (...[spec, metadata]: Parameters<typeof draft>) =>
  draft(spec, { resourceVersion: '7', finalizers: ['lodestone.dev/source'], ...metadata })

/** The parts of a plan that matter here: locality, status and events. */
function summary(actions: Action[]) {
  const patches = actions.filter((action) => action.kind === 'patch')
  return {
    locality: (patches.find(({ subresource }) => !subresource)?.patch['spec'] as DataSource['spec'] | undefined)
      ?.locality,
    status: patches.find(({ subresource }) => subresource)?.patch['status'] as DataSource['status'],
    events: actions.flatMap((action) => (action.kind === 'event' ? [action.reason] : [])),
  }
}

type Rest = Partial<Omit<SourcePlanInput, 'source' | 'attempt'>>

const plan = (source: DataSource, attempt?: Attempt, rest: Rest = {}) =>
  planSource({ source, claims, attempt, systemKnown: true, health: undefined, now: NOW, ...rest }).actions

test('a first answer is recorded with its time, its clusters sorted', () => {
  const { locality: _unknown, ...spec } = makeSource().spec
  const { locality } = summary(plan({ ...makeSource(), spec }, located))
  expect(locality).toEqual({ location: 's3://lake/a', clusterNames: ['member1', 'member2'], bytes: 7 })

  const { status, events } = summary(plan(makeSource({ locality: locality as never }), located))
  expect(status).toMatchObject({
    phase: 'Available',
    lastResolvedTime: new Date(NOW).toISOString(),
    boundClaims: 1,
    lastError: null,
  })
  expect(events).toEqual(['Available'])
})

test('a move is told as an Event and written to the version that was read', () => {
  const source = makeSource({}, { resourceVersion: '7', status: { phase: 'Available' } })

  const actions = plan(source, located)

  expect(summary(actions).events).toEqual(['Moved'])
  expect(actions[0]).toMatchObject({ kind: 'patch', patch: { metadata: { resourceVersion: '7' } } })
})

test.each([
  { confirmations: 1, want: undefined },
  { confirmations: 2, want: undefined },
  { confirmations: 3, want: 'Unavailable' },
])('"nowhere", said $confirmations times, makes a located source $want', ({ confirmations, want }) => {
  const source = makeSource({}, { status: { phase: 'Available' } })

  const { status, locality } = summary(plan(source, { kind: 'nowhere', reason: 'no such table', confirmations }))

  expect(status?.phase).toBe(want ?? 'Available')
  expect(locality).toBeUndefined()
})

test('"nowhere" counts at once where nothing was known', () => {
  const { locality: _unknown, ...spec } = makeSource().spec

  const { status } = summary(
    plan({ ...makeSource(), spec }, { kind: 'nowhere', reason: 'no such table', confirmations: 1 }),
  )

  expect(status?.phase).toBe('Unavailable')
})

test('an error leaves location, phase and time as they are and is told', () => {
  const source = makeSource({}, { status: { phase: 'Available', lastResolvedTime: '2026-01-01T00:00:00Z' } })

  const { status, locality } = summary(plan(source, { kind: 'failed', reason: 'HTTP 503' }))

  expect(locality).toBeUndefined()
  expect(status).toMatchObject({ phase: 'Available', lastResolvedTime: '2026-01-01T00:00:00Z', lastError: 'HTTP 503' })
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Stale', status: 'True', message: 'HTTP 503' }),
  )
})

test('without a query, nothing is written when the claims are recorded', () => {
  const [write] = plan(makeSource())
  const status = (write as Extract<Action, { kind: 'patch' }>).patch['status'] as DataSource['status']

  expect(plan({ ...makeSource(), status } as DataSource)).toEqual([])
})

test('a source that is to be deleted with its last claim goes; one that is to stay stays, unprotected', () => {
  const source = makeSource({ reclaimPolicy: 'Delete' })

  expect(plan(source, undefined, { claims: [] })).toEqual([expect.objectContaining({ kind: 'delete', object: source })])
  expect(plan(makeSource(), undefined, { claims: [] })[0]).toMatchObject({ patch: { metadata: { finalizers: [] } } })
})

test('a new source is made with its location and its protection, in one write', () => {
  const { locality: _unknown, ...spec } = draft().spec

  expect(plan({ ...draft(), spec }, located)).toEqual([
    {
      kind: 'create',
      type: dataSources,
      object: {
        ...draft(),
        metadata: { name: draft().metadata.name, finalizers: ['lodestone.dev/source'] },
        spec: { ...spec, locality: { location: 's3://lake/a', clusterNames: ['member1', 'member2'], bytes: 7 } },
      },
    },
  ])
})

test.each<{ name: string; attempt?: Attempt }>([
  { name: 'no system could be asked', attempt: { kind: 'failed', reason: 'HTTP 503' } },
  { name: 'there is no such data', attempt: { kind: 'nowhere', reason: 'HTTP 404', confirmations: 1 } },
])('a new source is made also when $name, so that its status can say so', ({ attempt }) => {
  const { locality: _unknown, ...spec } = draft().spec

  const [create, ...rest] = plan({ ...draft(), spec }, attempt)

  expect(create).toMatchObject({ kind: 'create', object: { spec } })
  expect(rest).toEqual([])
})

test('a source that Lodestone did not create is protected while it is claimed, beside other finalizers', () => {
  const [first] = plan(makeSource({}, { finalizers: ['other.io/x'] }))

  expect(first).toMatchObject({
    patch: { metadata: { resourceVersion: '7', finalizers: ['other.io/x', 'lodestone.dev/source'] } },
  })
})

describe('a source that is being deleted', () => {
  const leaving = makeSource(
    {},
    { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['other.io/x', 'lodestone.dev/source'] },
  )
  const goes = [expect.objectContaining({ patch: { metadata: { resourceVersion: '7', finalizers: ['other.io/x'] } } })]

  test.each<{ name: string; attempt?: Attempt; rest?: Rest; want: unknown[] }>([
    { name: 'stays while its system was not asked anew', want: [] },
    { name: 'stays while its system does not answer', attempt: { kind: 'failed', reason: 'HTTP 503' }, want: [] },
    { name: 'goes when its system has answered', attempt: located, want: goes },
    { name: 'goes when its system is not known', rest: { systemKnown: false }, want: goes },
    { name: 'goes when it has no claims', rest: { claims: [] }, want: goes },
  ])('$name', ({ attempt, rest, want }) => {
    expect(plan(leaving, attempt, rest)).toEqual(want)
  })

  test('is left to other controllers once it is not protected any more', () => {
    const rest = { ...leaving, metadata: { ...leaving.metadata, finalizers: ['other.io/x'] } }
    expect(plan(rest, located)).toEqual([])
  })
})

describe('Events tell once', () => {
  const silent: Attempt = { kind: 'failed', reason: 'HTTP 503' }
  const stale = (status: 'True' | 'False') =>
    makeSource(
      {},
      {
        status: {
          phase: 'Available',
          conditions: [
            { type: 'Stale', status, reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
          ],
        },
      },
    )

  test.each([
    { name: 'that a system fell silent', source: stale('False'), attempt: silent, want: ['Stale'] },
    { name: 'and not again while it is silent', source: stale('True'), attempt: silent, want: [] },
    { name: 'that it answers again', source: stale('True'), attempt: { kind: 'unchanged' } as const, want: ['Fresh'] },
    {
      name: 'and not again while it answers',
      source: stale('False'),
      attempt: { kind: 'unchanged' } as const,
      want: [],
    },
  ])('$name', ({ source, attempt, want }) => {
    expect(summary(plan(source, attempt)).events).toEqual(want)
  })
})

describe('the condition SystemHealthy', () => {
  const healthIn = (source: DataSource, isHealthy: boolean) =>
    summary(plan(source, undefined, { health: { isHealthy, message: 'm' } })).status?.conditions?.find(
      ({ type }) => type === 'SystemHealthy',
    )?.status

  test('is not there while the system was never unwell', () => {
    expect(healthIn(makeSource(), true)).toBeUndefined()
  })

  test('says that it is, and that it was', () => {
    expect(healthIn(makeSource(), false)).toBe('False')
    const lastTransitionTime = '2026-01-01T00:00:00Z'
    const conditions = [
      { type: 'SystemHealthy', status: 'False' as const, reason: 'Unhealthy', message: 'm', lastTransitionTime },
    ]
    expect(healthIn(makeSource({}, { status: { conditions } }), true)).toBe('True')
  })
})

describe('the finalizer of a deleted source', () => {
  const deleted = makeSource({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  const planOf = (attempt?: Attempt) =>
    planSource({ source: deleted, claims, attempt, systemKnown: true, health: undefined, now: NOW })

  test('goes with the new answer, and then no source of that name is created for 500 ms', () => {
    expect(planOf(located)).toMatchObject({ actions: [{ kind: 'patch' }], absentUntil: NOW + 500 })
  })

  test('stays until there is an answer', () => {
    expect(planOf()).toEqual({ actions: [], writesAttempt: false })
  })
})
