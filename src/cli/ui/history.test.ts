import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { resourceBindings } from '../../api/karmada.ts'
import { TestClock } from '../../base/time/clock.fake.ts'
import { connectToFake } from '../../store/cluster/api-connection.fake.ts'
import { type Answer, json, reset, status } from '../../store/cluster/api-responses.fake.ts'
import { openHistory } from './history.ts'
import { openMemory, schemaErrors } from './ui.fake.ts'

const event = (reason: string, lastTimestamp: string | null, kind = 'ResourceBinding', name = 'app-deployment') => ({
  metadata: { namespace: 'default', name: reason, labels: { 'lodestone.dev/decision-id': 'abc' } },
  involvedObject: { apiVersion: 'work.karmada.io/v1alpha2', kind, namespace: 'default', name },
  type: 'Normal',
  reason,
  message: 'default/sales is in member2',
  lastTimestamp,
  firstTimestamp: '2026-11-20T10:00:00Z',
})

const list = (items: object[], next?: string) => json(200, { items, metadata: { continue: next } })

/** A history whose selectors get these answers. */
async function open(answers: Record<string, Answer[]>) {
  const { server, connection } = await connectToFake([])
  for (const [selector, given] of Object.entries(answers)) {
    server.misbehave(({ query }) => query.get('fieldSelector')?.includes(selector) ?? false, ...given)
  }
  const store = await openMemory()
  await store.create(resourceBindings, makeBinding())
  const clock = new TestClock()
  const { signal } = new AbortController()
  return { server, clock, read: openHistory({ connection, store, maxMovesPerMinute: 60, signal, clock }) }
}

const NONE = { 'kind=ClusterResourceBinding': [list([])], 'reason=Moved': [list([])] }

test('the history has the Events about bindings with their workloads, newest first', async () => {
  const items = [event('LocalityNarrowed', '2026-11-20T11:00:00Z'), event('LocalityKept', '2026-11-20T12:00:00Z')]
  const { read } = await open({ ...NONE, 'kind=ResourceBinding': [list(items)] })
  const history = await read('default')
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
  expect(history.items).toEqual([
    expect.objectContaining({ time: '2026-11-20T12:00:00Z', reason: 'LocalityKept', object, decisionId: 'abc' }),
    expect.objectContaining({ time: '2026-11-20T11:00:00Z', reason: 'LocalityNarrowed', object }),
  ])
  expect(schemaErrors({ apiVersion: 'ui.lodestone.dev/v1alpha1', kind: 'History', ...history })).toEqual([])
})

test('an Event about an unknown binding names the binding, and has its first time', async () => {
  const items = [event('LocalityNarrowed', null, 'ResourceBinding', 'gone')]
  const { read } = await open({ ...NONE, 'kind=ResourceBinding': [list(items)] })
  const [item] = (await read(undefined)).items
  expect(item).toMatchObject({ time: '2026-11-20T10:00:00Z', object: { kind: 'ResourceBinding', name: 'gone' } })
})

test('readers of one namespace cause one read, until some seconds later', async () => {
  const { server, clock, read } = await open({
    'kind=ResourceBinding': [list([]), list([])],
    'kind=ClusterResourceBinding': [list([]), list([])],
    'reason=Moved': [list([]), list([])],
  })
  await Promise.all(Array.from({ length: 32 }, () => read('default')))
  expect(server.requests).toHaveLength(3)
  clock.advance(15_000)
  await read('default')
  expect(server.requests).toHaveLength(6)
})

test('more Events than are read are a sentence with the remedy', async () => {
  const pages = Array.from({ length: 6 }, () => list([event('LocalityKept', '2026-11-20T11:00:00Z')], 'next'))
  const { read } = await open({ ...NONE, 'kind=ResourceBinding': pages })
  const { items, problem } = await read(undefined)
  expect(items).toHaveLength(6)
  expect(problem).toBe('there are more than 3000 Events; choose a namespace to see all of them')
})

test.each([
  { name: 'a missing right', answer: status(403, 'Forbidden'), says: 'grant the user the verb list of events' },
  { name: 'a lost connection', answer: reset, says: 'the Events cannot be read' },
])('$name is a sentence', async ({ answer, says }) => {
  const { read } = await open({ ...NONE, 'kind=ResourceBinding': [answer] })
  expect(await read('default')).toEqual({ maxMovesPerMinute: 60, items: [], problem: expect.stringContaining(says) })
})
