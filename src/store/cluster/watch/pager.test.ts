import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { resourceBindings } from '../../../api/karmada.ts'
import { settle, TestClock } from '../../../base/time/clock.fake.ts'
import { buildBinding } from '../../objects.fake.ts'
import { isListRequest, json, status } from '../api-responses.fake.ts'
import { listAll } from './pager.ts'
import { openStage, pass } from './reflector.fake.ts'

const bindings = ['a', 'b', 'c', 'd', 'e'].map((name) => buildBinding(name))
const isContinued = (request: { query: URLSearchParams }): boolean => request.query.has('continue')

describe('a list', () => {
  test('has pages, and sends no resourceVersion, which would disable the page size', async () => {
    const { server, start, names } = await openStage({ pageSize: 2 })
    for (const binding of bindings) server.put(resourceBindings, binding)
    await start()
    expect(names()).toEqual(['a', 'b', 'c', 'd', 'e'])
    const queries = server.lists(resourceBindings).map((request) => request.query)
    expect(queries.map((query) => query.get('limit'))).toEqual(['2', '2', '2'])
    expect(queries.map((query) => query.has('continue'))).toEqual([false, true, true])
    expect(queries.some((query) => query.has('resourceVersion'))).toBe(false)
    expect(server.lists(resourceBindings)[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('whose continue token expired starts over without objects of the first attempt', async () => {
    const { server, start, names } = await openStage({ pageSize: 2 })
    for (const binding of bindings) server.put(resourceBindings, binding)
    server.misbehave(isContinued, (response) => {
      server.remove(resourceBindings, 'shop', 'a')
      status(410, 'Expired')(response)
    })
    await start()
    expect(names()).toEqual(['b', 'c', 'd', 'e'])
    expect(server.lists(resourceBindings)).toHaveLength(4)
  })

  test('that expires again and again is retried after a pause', async () => {
    const { server, clock, store, names } = await openStage({ pageSize: 2 })
    for (const binding of bindings) server.put(resourceBindings, binding)
    server.misbehave(isContinued, ...Array.from({ length: 4 }, () => status(410, 'Expired')))
    const started = store.start(new AbortController().signal)
    await settle(300)
    expect(server.lists(resourceBindings)).toHaveLength(8)
    expect(store.synced()).toBe(false)
    await pass(clock, () => store.synced())
    await started
    expect(names()).toHaveLength(5)
  })

  test('that repeats a continue token fails and is reported', async () => {
    const { server, heard, clock, store } = await openStage()
    const endless = json(200, { metadata: { resourceVersion: '1', continue: 'again' }, items: [] })
    server.misbehave(isListRequest(resourceBindings), endless, endless)
    const started = store.start(new AbortController().signal)
    await pass(clock, () => store.synced())
    await started
    expect(heard).toContain('error list failed: the list of resourcebindings repeats its continue token')
  })

  test('yields to other work between its pages, and passes on objects as they arrive', async () => {
    const order: string[] = []
    const pages = [
      { items: [buildBinding('a')], metadata: { resourceVersion: '7', continue: '1' } },
      { metadata: { resourceVersion: '7', continue: '2' }, items: [buildBinding('b')] },
      { metadata: { resourceVersion: '7' }, items: null },
    ]
    const connection = {
      server: '',
      request: () => Promise.reject(new Error('not used')),
      stream: async () => Readable.from([Buffer.from(JSON.stringify(pages.shift()))]),
      credentialsLifetime: async () => undefined,
      sourceProblem: () => undefined,
      close: async () => {},
    }
    const add = (raw: { metadata: { name?: string } }): void => {
      order.push(raw.metadata.name ?? '')
      void nextTurn().then(() => order.push('other work'))
    }
    const { signal } = new AbortController()
    const input = {
      connection,
      kind: { type: resourceBindings, metadataOnly: false },
      clock: new TestClock(),
      options: { pageSize: 1 },
      signal,
      add,
    }
    const version = await listAll({ ...input, begin: () => {}, contact: () => {} })
    expect(version).toBe('7')
    expect(order.slice(0, 3)).toEqual(['a', 'other work', 'b'])
  })

  test.each([
    { name: 'is not an object', body: 'hello', want: 'the list is not an object' },
    { name: 'has no version to watch from', body: { items: [] }, want: 'has no resourceVersion' },
    { name: 'has items that are not objects', body: { items: ['a'] }, want: 'cannot be cached' },
  ])('that $name fails and is retried', async ({ body, want }) => {
    const { server, clock, store, heard } = await openStage()
    server.misbehave(isListRequest(resourceBindings), json(200, body))
    const started = store.start(new AbortController().signal)
    await pass(clock, () => store.synced())
    await started
    expect(heard.some((line) => line.includes(want))).toBe(true)
  })
})
