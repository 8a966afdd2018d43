import { describe, expect, test } from 'vitest'
import { makeSource as draft, makeClaim, NOW } from '../../../test/builders.ts'
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { defined } from '../../base/json.ts'
import type { Action } from '../plan.ts'
import type { Attempt } from './attempt.ts'
import type { SourceInput } from './decide.ts'
import { planSource, removedColumns, sourceColumns } from './plan.ts'
import { NO_HISTORY } from './query-history.ts'

const claims = [makeClaim()]
const located: Attempt = { kind: 'located', location: 's3://lake/a', clusters: ['member2', 'member1'], bytes: 7 }

/** A stored source with the finalizer of a claimed one. */
const makeSource = (...[spec, metadata]: Parameters<typeof draft>) =>
  draft(spec, { resourceVersion: '7', finalizers: ['lodestone.dev/source'], ...metadata })

/** The compared parts of a plan: locality, status and Events. */
function summary(actions: Action[]) {
  const patches = actions.filter((action) => action.kind === 'patch')
  return {
    locality: (patches.find(({ subresource }) => !subresource)?.patch['spec'] as DataSource['spec'] | undefined)
      ?.locality,
    status: patches.find(({ subresource }) => subresource)?.patch['status'] as DataSource['status'],
    events: actions.flatMap((action) => (action.kind === 'event' ? [action.reason] : [])),
  }
}

type Rest = Partial<Omit<SourceInput, 'source' | 'attempt'>>

const planOf = (source: DataSource, attempt?: Attempt, rest: Rest = {}) =>
  planSource({
    source,
    claims,
    attempt,
    history: NO_HISTORY,
    isQuerying: false,
    absentUntil: undefined,
    now: NOW,
    system: { refreshIntervalMs: 300_000, isFailing: false },
    health: undefined,
    ...rest,
  })

const plan = (...args: Parameters<typeof planOf>) => planOf(...args).actions

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

describe('with the CRD of volcano-global', () => {
  const crd = 'upstream' as const
  const fresh = (): DataSource => draft({}, {})

  test('a source is created with its clusters only, with none for data that is absent', () => {
    const { locality: _unknown, ...spec } = fresh().spec
    const created = (attempt: Attempt) => plan({ ...fresh(), spec }, attempt, { crd })
    expect(created(located)).toMatchObject([
      { kind: 'create', object: { spec: { locality: { clusterNames: ['member1', 'member2'] } } } },
    ])
    const nowhere: Attempt = { kind: 'nowhere', reason: 'no table', confirmations: 1 }
    expect(created(nowhere)).toMatchObject([{ kind: 'create', object: { spec: { locality: { clusterNames: [] } } } }])
  })

  test('the second plan with the same answer changes nothing, without a field for phases', () => {
    const source = makeSource({ locality: { clusterNames: ['member1', 'member2'] } })
    const first = plan(source, located, { crd })
    expect(summary(first)).toMatchObject({ locality: undefined, events: ['Available'] })
    const { status } = summary(first)
    expect(Object.keys(status ?? {}).sort()).toEqual(['boundClaims', 'claimRefs', 'conditions'])
    expect(plan({ ...source, ...defined({ status }) }, located, { crd })).toEqual([])
  })
})

test('a size that was not measured completely is marked until the next complete one', () => {
  const partly = { ...located, bytesAreMinimum: true }
  const { locality } = summary(plan(makeSource(), partly))
  expect(locality).toMatchObject({ bytes: 7, bytesAreMinimum: true })
  expect(summary(plan(makeSource({ locality: locality as never }), partly)).locality).toBeUndefined()
  const stored = { ...answer, bytesAreMinimum: true }
  expect(summary(plan(makeSource({ locality: stored }), located)).locality).toMatchObject({ bytesAreMinimum: null })
})

test('a move emits an Event and is written to the resourceVersion that was read', () => {
  const source = makeSource({}, { resourceVersion: '7', status: { phase: 'Available' } })

  const actions = plan(source, located)

  expect(summary(actions).events).toEqual(['Moved'])
  expect(actions[0]).toMatchObject({ kind: 'patch', patch: { metadata: { resourceVersion: '7' } } })
})

test.each([
  { confirmations: 1, want: undefined },
  { confirmations: 2, want: undefined },
  { confirmations: 3, want: 'Unavailable' },
])('after $confirmations "nowhere" answers, a located source is $want', ({ confirmations, want }) => {
  const source = makeSource({}, { status: { phase: 'Available' } })

  const { status, locality } = summary(plan(source, { kind: 'nowhere', reason: 'no such table', confirmations }))

  expect(status?.phase).toBe(want ?? 'Available')
  expect(locality).toBeUndefined()
})

test('the first "nowhere" answer counts if no location is known', () => {
  const { locality: _unknown, ...spec } = makeSource().spec

  const { status } = summary(
    plan({ ...makeSource(), spec }, { kind: 'nowhere', reason: 'no such table', confirmations: 1 }),
  )

  expect(status?.phase).toBe('Unavailable')
})

test('an error keeps location, phase and time, and emits an Event', () => {
  const source = makeSource({}, { status: { phase: 'Available', lastResolvedTime: '2026-01-01T00:00:00Z' } })

  const { status, locality } = summary(plan(source, { kind: 'failed', reason: 'HTTP 503' }))

  expect(locality).toBeUndefined()
  expect(status).toMatchObject({ phase: 'Available', lastResolvedTime: '2026-01-01T00:00:00Z', lastError: 'HTTP 503' })
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Stale', status: 'True', message: 'HTTP 503' }),
  )
})

test('without a query, nothing is written if the claims are recorded already', () => {
  const [write] = plan(makeSource())
  const status = (write as Extract<Action, { kind: 'patch' }>).patch['status'] as DataSource['status']

  expect(plan({ ...makeSource(), status } as DataSource)).toEqual([])
})

test('after the last claim, Delete deletes a source, Retain keeps it without finalizer', () => {
  const source = makeSource({ reclaimPolicy: 'Delete' })

  expect(plan(source, undefined, { claims: [] })).toEqual([expect.objectContaining({ kind: 'delete', object: source })])
  expect(plan(makeSource(), undefined, { claims: [] })[0]).toMatchObject({ patch: { metadata: { finalizers: [] } } })
})

test('a new source is created with its location and its finalizer, in one write', () => {
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
  { name: 'the system did not answer', attempt: { kind: 'failed', reason: 'HTTP 503' } },
  { name: 'the data does not exist', attempt: { kind: 'nowhere', reason: 'HTTP 404', confirmations: 1 } },
])('a new source is also created if $name, so that its status shows it', ({ attempt }) => {
  const { locality: _unknown, ...spec } = draft().spec

  const [create, ...rest] = plan({ ...draft(), spec }, attempt)

  expect(create).toMatchObject({ kind: 'create', object: { spec } })
  expect(rest).toEqual([])
})

test('a claimed source of another client has our finalizer beside other ones', () => {
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
    { name: 'stays until its system is queried again', want: [] },
    { name: 'stays while its system does not answer', attempt: { kind: 'failed', reason: 'HTTP 503' }, want: [] },
    { name: 'is released when its system has answered', attempt: located, want: goes },
    { name: 'is released if its system is not configured', rest: { system: undefined }, want: goes },
    { name: 'is released if it has no claims', rest: { claims: [] }, want: goes },
  ])('$name', ({ attempt, rest, want }) => {
    expect(plan(leaving, attempt, rest)).toEqual(want)
  })

  test('is not changed after our finalizer is removed', () => {
    const rest = { ...leaving, metadata: { ...leaving.metadata, finalizers: ['other.io/x'] } }
    expect(plan(rest, located)).toEqual([])
  })
})

describe('Events are emitted once', () => {
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
    { name: 'when a system stops answering', source: stale('False'), attempt: silent, want: ['Stale'] },
    { name: 'and not again while it does not answer', source: stale('True'), attempt: silent, want: [] },
    { name: 'when it answers again', source: stale('True'), attempt: { kind: 'unchanged' } as const, want: ['Fresh'] },
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

  test('is absent if the system was never unhealthy', () => {
    expect(healthIn(makeSource(), true)).toBeUndefined()
  })

  test('is False for an unhealthy system, and True after its recovery', () => {
    expect(healthIn(makeSource(), false)).toBe('False')
    const lastTransitionTime = '2026-01-01T00:00:00Z'
    const conditions = [
      { type: 'SystemHealthy', status: 'False' as const, reason: 'Unhealthy', message: 'm', lastTransitionTime },
    ]
    expect(healthIn(makeSource({}, { status: { conditions } }), true)).toBe('True')
  })
})

const answer = { location: 's3://lake/a', clusterNames: ['member1', 'member2'], bytes: 7 }
const given = (type: string, status: 'True' | 'False', message = 'as before') => ({
  type,
  status,
  reason: 'R',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const { locality: _unknown, ...unlocated } = makeSource().spec
const ANSWERS = 'Stale=False Answered: the data system answers'

/** The conditions and Events of a plan, with a line for each. */
function lines(actions: Action[]) {
  return {
    conditions: summary(actions).status?.conditions?.map(
      ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
    ),
    events: actions.flatMap((action) =>
      action.kind === 'event' ? [`${action.type} ${action.reason}: ${action.message}`] : [],
    ),
  }
}

test.each<{ name: string; source: DataSource; attempt?: Attempt; rest?: Rest; want: ReturnType<typeof lines> }>([
  {
    name: 'with a first answer',
    source: makeSource({ locality: answer }),
    attempt: located,
    want: {
      conditions: ['Ready=True Available: the data is in member2, member1', ANSWERS],
      events: ['Normal Available: the data is in member2, member1'],
    },
  },
  {
    name: 'whose data does not exist',
    source: { ...makeSource(), spec: unlocated },
    attempt: { kind: 'nowhere', reason: 'no such table', confirmations: 1 },
    want: {
      conditions: ['Ready=False Unavailable: no such table', ANSWERS, 'Stalled=True Unavailable: no such table'],
      events: ['Warning Unavailable: no such table'],
    },
  },
  {
    name: 'whose data system does not answer',
    source: makeSource({}, { status: { phase: 'Available' } }),
    attempt: { kind: 'failed', reason: 'HTTP 503' },
    want: {
      conditions: ['Ready=True Available: the data is in member2', 'Stale=True NotAnswered: HTTP 503'],
      events: ['Warning Stale: HTTP 503'],
    },
  },
  {
    name: 'whose data system answers again',
    source: makeSource(
      {},
      { status: { phase: 'Available', conditions: [given('Stale', 'True'), given('Ready', 'True', 'in member2')] } },
    ),
    attempt: { kind: 'unchanged' },
    want: {
      conditions: ['Ready=True Available: in member2', ANSWERS],
      events: ['Normal Fresh: the data system answers again'],
    },
  },
  {
    name: 'that a user wrote',
    source: makeSource(),
    want: {
      conditions: ['Ready=True Available: the data is in member2'],
      events: ['Normal Available: the data is in member2'],
    },
  },
  {
    name: 'that a user wrote without a cluster',
    source: makeSource({ locality: { clusterNames: [] } }),
    want: {
      conditions: ['Ready=True Available: the data is in no cluster'],
      events: ['Normal Available: the data is in no cluster'],
    },
  },
  {
    name: 'without an answer so far',
    source: { ...makeSource(), spec: unlocated },
    want: { conditions: ['Ready=Unknown Resolving: the location is not known yet'], events: [] },
  },
  {
    name: 'whose data system has never answered',
    source: { ...makeSource(), spec: unlocated },
    attempt: { kind: 'failed', reason: 'HTTP 503' },
    want: {
      conditions: ['Ready=Unknown NotAnswered: HTTP 503', 'Stale=True NotAnswered: HTTP 503'],
      events: ['Warning Stale: HTTP 503'],
    },
  },
  {
    name: 'whose data exists again',
    source: makeSource(
      { locality: answer },
      { status: { phase: 'Unavailable', conditions: [given('Ready', 'False'), given('Stalled', 'True')] } },
    ),
    attempt: located,
    want: {
      conditions: ['Ready=True Available: the data is in member2, member1', ANSWERS],
      events: ['Normal Available: the data is in member2, member1'],
    },
  },
  {
    name: 'that is Unavailable without a message',
    source: makeSource({}, { status: { phase: 'Unavailable' } }),
    want: {
      conditions: ['Ready=False Unavailable: Unavailable', 'Stalled=True Unavailable: Unavailable'],
      events: [],
    },
  },
  {
    name: 'whose data system is unhealthy',
    source: makeSource({}, { status: { phase: 'Available' } }),
    rest: { health: { isHealthy: false, message: 'HTTP 500' } },
    want: {
      conditions: ['Ready=True Available: the data is in member2', 'SystemHealthy=False Unhealthy: HTTP 500'],
      events: [],
    },
  },
  {
    name: 'whose data system is healthy again',
    source: makeSource(
      {},
      { status: { phase: 'Available', conditions: [given('Ready', 'True'), given('SystemHealthy', 'False')] } },
    ),
    rest: { health: { isHealthy: true, message: 'it answers' } },
    want: { conditions: ['Ready=True Available: as before', 'SystemHealthy=True Healthy: it answers'], events: [] },
  },
  {
    name: 'whose data system was always healthy',
    source: makeSource({}, { status: { phase: 'Available', conditions: [given('Ready', 'True')] } }),
    rest: { health: { isHealthy: true, message: 'it answers' } },
    want: { conditions: ['Ready=True Available: as before'], events: [] },
  },
])('the conditions and Events of a source $name', ({ source, attempt, rest, want }) => {
  expect(lines(plan(source, attempt, rest))).toEqual(want)
})

test('a move is one patch of the whole locality, and an Event with both cluster lists', () => {
  const source = makeSource({ locality: { clusterNames: ['member9'], bytes: 5 } })
  const moved = (clusters: string[]): Attempt => ({ kind: 'located', location: 's3://lake/b', clusters })
  const patch = (clusterNames: string[]) => ({
    kind: 'patch',
    of: { type: dataSources, name: source.metadata.name },
    patch: {
      metadata: { resourceVersion: '7' },
      spec: { locality: { bytes: null, clusterNames, location: 's3://lake/b' } },
    },
  })
  const event = (message: string) => ({ kind: 'event', about: source, type: 'Normal', reason: 'Moved', message })

  expect(plan(source, moved(['member2', 'member1']))).toStrictEqual([
    patch(['member1', 'member2']),
    event('member9 → member1, member2'),
  ])
  expect(plan(source, moved([]))).toStrictEqual([patch([]), event('member9 → no cluster')])
  expect(plan(source, moved(['member9']))).toStrictEqual([patch(['member9'])])
})

test('the claims of a source are listed by namespace and name', () => {
  const reference = { apiVersion: 'datadependency.volcano.sh/v1alpha1', kind: 'DataSourceClaim' }
  const given = [
    makeClaim({}, { name: 'b' }),
    makeClaim({}, { name: 'a', uid: '1' }),
    makeClaim({}, { name: 'c', namespace: 'blue' }),
  ]
  const { status } = summary(plan(makeSource(), undefined, { claims: given }))

  expect([status?.boundClaims, status?.claimRefs]).toStrictEqual([
    3,
    [
      { ...reference, namespace: 'blue', name: 'c' },
      { ...reference, namespace: 'default', name: 'a', uid: '1' },
      { ...reference, namespace: 'default', name: 'b' },
    ],
  ])
})

test('the status of a source with 20,000 claims lists the first 1,000 and counts all', () => {
  const name = (index: number) => `claim-${String(index).padStart(5, '0')}`.padEnd(253, 'x')
  const claims = Array.from({ length: 20_000 }, (_, index) => makeClaim({}, { name: name(index) })).reverse()
  const { status } = summary(plan(makeSource(), undefined, { claims }))

  expect(status?.boundClaims).toBe(20_000)
  expect(status?.claimRefs?.map((reference) => reference.name)).toStrictEqual(
    Array.from({ length: 1000 }, (_, index) => name(index)),
  )
  // etcd stores at most 1.5 MiB.
  expect(JSON.stringify(status).length).toBeLessThan(512 * 1024)
})

test('a claimed source is not deleted, whatever its reclaim policy is', () => {
  expect(plan(makeSource({ reclaimPolicy: 'Delete' })).map(({ kind }) => kind)).toEqual(['patch', 'event'])
})

test('an attempt is written with the status, and not with a new location', () => {
  expect(planOf(makeSource(), { kind: 'unchanged' }).writesAttempt).toBe(true)
  expect(Object.keys(planOf(makeSource(), located))).toEqual(['query', 'actions', 'writesAttempt'])
  expect(planOf(makeSource(), located).writesAttempt).toBe(false)
})

test('a run plans the query, and the writes if there is something to write now', () => {
  const history = { ...NO_HISTORY, nextAt: NOW + 100 }

  expect(planOf(draft())).toEqual({ query: 'send', actions: [], writesAttempt: false })
  expect(planOf(makeSource(), located, { history })).toMatchObject({
    query: 'none',
    actions: [{ kind: 'patch' }, { kind: 'event' }],
    requeueAfterMs: 100,
  })
})

describe('the finalizer of a deleted source', () => {
  const deleted = makeSource({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  test('is removed with the new answer; then no source is created for 500 ms', () => {
    expect(planOf(deleted, located)).toMatchObject({ actions: [{ kind: 'patch' }], absentUntil: NOW + 500 })
  })

  test('stays until there is an answer', () => {
    expect(planOf(deleted)).toEqual({ query: 'send', actions: [], writesAttempt: false })
  })
})

describe('the columns of kubectl', () => {
  const locality = { clusterNames: ['member1', 'member2'], bytes: 5368709120 }
  const columns = { clusters: 'member1,member2', size: '5.0Gi' }
  const statusOf = (...args: Parameters<typeof plan>) => summary(plan(...args)).status
  const settled = { phase: 'Available', claimRefs: [], boundClaims: 0 }

  test('are written once', () => {
    const source = makeSource({ locality }, { finalizers: [] })
    const status = statusOf(source, undefined, { claims: [] })

    expect(status).toMatchObject(columns)
    expect(plan({ ...source, status: status as never }, undefined, { claims: [] })).toEqual([])
  })

  test('follow the location', () => {
    const source = makeSource({ locality: { clusterNames: ['member3'] } }, { status: { ...settled, ...columns } })

    expect(statusOf(source)).toMatchObject({ clusters: 'member3', size: null })
  })

  test('are not written to the CRD of volcano-global', () => {
    const crd = 'upstream'
    const source = makeSource({ locality }, { finalizers: [] })

    const status = statusOf(source, undefined, { claims: [], crd })

    expect(status).not.toHaveProperty('clusters')
    expect(status).not.toHaveProperty('size')
    expect(plan({ ...source, status: status as never }, undefined, { claims: [], crd })).toEqual([])
  })
})

test('a user who writes the location after the first status makes the source Available', () => {
  const waiting = summary(plan({ ...makeSource(), spec: unlocated })).status as never
  const { conditions } = lines(plan(makeSource({}, { status: waiting })))

  expect(conditions).toEqual(['Ready=True Available: the data is in member2'])
})

test('after a change of the spec, status and conditions have the new generation', () => {
  const { locality } = summary(plan(makeSource(), located))
  const first = summary(plan(makeSource({ locality: locality as never }, { generation: 1 }), located)).status
  const changed = makeSource(
    { locality: locality as never, reclaimPolicy: 'Delete' },
    { generation: 2, status: first as never },
  )

  const { conditions, observedGeneration } = summary(plan(changed)).status ?? {}

  expect(observedGeneration).toBe(2)
  expect(conditions?.map(({ type, observedGeneration }) => ({ type, observedGeneration }))).toEqual([
    { type: 'Ready', observedGeneration: 2 },
    { type: 'Stale', observedGeneration: 2 },
  ])
})

test('the columns are the clusters and the size of the location', () => {
  const locality = { clusterNames: ['member1', 'member2'], bytes: 5368709120, bytesAreMinimum: true }
  expect(sourceColumns(makeSource({ locality }))).toEqual({ clusters: 'member1,member2', size: '>=5.0Gi' })
  expect(sourceColumns(makeSource({ locality: { clusterNames: [] } }))).toEqual({
    clusters: undefined,
    size: undefined,
  })
})

test('a column without a value is removed, once', () => {
  const none = { clusters: undefined, size: undefined }
  expect(removedColumns({ clusters: 'member1', size: '1' }, none)).toEqual({ clusters: null, size: null })
  expect(removedColumns({ clusters: 'member1' }, { clusters: 'member2', size: '1' })).toEqual({})
  expect(removedColumns({}, none)).toEqual({})
})
