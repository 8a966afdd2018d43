import { expect, test } from 'vitest'
import { makeClaim, makeSource, NOW } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import type { Action } from '../plan.ts'
import { type Attempt, planSource } from './plan.ts'

const claims = [makeClaim()]
const located: Attempt = { kind: 'located', location: 's3://lake/a', clusters: ['member2', 'member1'], bytes: 7 }

/** What of a plan matters here: locality, status and events. */
function summary(actions: Action[]) {
  const patches = actions.filter((action) => action.kind === 'patch')
  return {
    locality: (patches.find(({ subresource }) => !subresource)?.patch['spec'] as DataSource['spec'] | undefined)
      ?.locality,
    status: patches.find(({ subresource }) => subresource)?.patch['status'] as DataSource['status'],
    events: actions.flatMap((action) => (action.kind === 'event' ? [action.reason] : [])),
  }
}

const plan = (source: DataSource, attempt?: Attempt, of = claims) =>
  planSource({ source, claims: of, attempt, now: NOW }).actions

test('a first answer is noted with its time, its clusters sorted', () => {
  const { locality: _unknown, ...spec } = makeSource().spec
  const { locality, status, events } = summary(plan({ ...makeSource(), spec }, located))

  expect(locality).toEqual({ location: 's3://lake/a', clusterNames: ['member1', 'member2'], bytes: 7 })
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

test('nobody was asked and the claims are noted: nothing is written', () => {
  const [write] = plan(makeSource())
  const status = (write as Extract<Action, { kind: 'patch' }>).patch['status'] as DataSource['status']

  expect(plan({ ...makeSource(), status } as DataSource)).toEqual([])
})

test('a source that is to be deleted with its last claim goes; one that is to stay stays', () => {
  const source = makeSource({ reclaimPolicy: 'Delete' }, { resourceVersion: '7' })

  expect(plan(source, undefined, [])).toEqual([expect.objectContaining({ kind: 'delete', object: source })])
  expect(plan(makeSource(), undefined, []).map(({ kind }) => kind)).not.toContain('delete')
})
