import { describe, expect, test } from 'vitest'
import { resourceBindings } from '../../../api/karmada.ts'
import { settle, until } from '../../../base/time/clock.fake.ts'
import { bindingKind, buildBinding } from '../../objects.fake.ts'
import {
  type Answer,
  errorEvent,
  hang,
  isListRequest,
  isWatchRequest,
  json,
  reset,
  status,
  statusObject,
} from '../api-responses.fake.ts'
import { openStage, pass } from './reflector.fake.ts'

describe('a list that fails', () => {
  test.each([
    { name: '500', answer: status(500, 'InternalError') },
    { name: '401', answer: status(401, 'Unauthorized') },
    { name: '403', answer: status(403, 'Forbidden') },
    { name: '404 of a required kind', answer: status(404, 'NotFound') },
    { name: '410', answer: status(410, 'Expired') },
    { name: 'a broken connection', answer: reset },
    { name: 'a response that is not JSON', answer: json(200, undefined) },
  ])('at the start by $name leaves the kind unknown, and is retried until it succeeds', async ({ answer }) => {
    const { server, store, clock, heard, names } = await openStage()
    server.put(resourceBindings, buildBinding('a'))
    server.misbehave(isListRequest(resourceBindings), ...Array.from({ length: 12 }, () => answer))
    const started = store.start(new AbortController().signal)
    const failures = () => heard.filter((line) => line.startsWith('error list failed')).length
    const waits: number[] = []
    for (let attempt = 1; attempt <= 12; attempt++) {
      await until(() => failures() === attempt && clock.waits.length === 1)
      expect(store.synced()).toBe(false)
      waits.push(clock.waits[0] ?? 0)
      clock.advance(waits.at(-1) ?? 0)
    }
    await started
    expect(names()).toEqual(['a'])
    expect(waits.slice(0, 4)).toEqual([400, 800, 1600, 3200])
    expect(Math.max(...waits)).toBe(15_000)
    expect(failures()).toBe(12)
  })

  test('without a response ends after a timeout and is retried', async () => {
    const { server, store, clock, heard } = await openStage({ pageSilenceMs: 5000 })
    server.misbehave(isListRequest(resourceBindings), hang)
    const started = store.start(new AbortController().signal)
    await pass(clock, () => store.synced())
    await started
    expect(heard.find((line) => line.startsWith('error'))).toContain('no byte for 5000 ms')
  })

  test('by 429 is retried after Retry-After, not before', async () => {
    const { server, store, clock, heard } = await openStage()
    server.misbehave(isListRequest(resourceBindings), status(429, 'TooManyRequests', { 'retry-after': '3' }))
    const started = store.start(new AbortController().signal)
    await until(() => heard.some((line) => line.startsWith('error')))
    expect(clock.waits).toEqual([3400])
    clock.advance(3400)
    await started
  })
})

describe('a position that expired', () => {
  test('with HTTP 410 is replaced by a list, and deleted objects are published', async () => {
    const { server, clock, heard, names, changes, start } = await openStage()
    for (const name of ['a', 'b', 'c']) server.put(resourceBindings, buildBinding(name))
    await start()
    clock.advance(20_000)
    server.watches(resourceBindings)[0]?.end()
    server.objects.remove(resourceBindings, 'shop', 'a')
    server.objects.put(resourceBindings, buildBinding('b', { replicas: 9 }))
    server.objects.put(resourceBindings, buildBinding('d'))
    server.objects.compact()
    await pass(clock, () => changes.length === 3)
    expect(names()).toEqual(['b', 'c', 'd'])
    expect(changes).toEqual(['-a', '~b', '+d'])
    expect(heard.slice(-4)).toEqual(['watch closed', 'watch expired', 'list expired', 'listed 3 items, 3 changes'])
  })

  test.each([
    { name: 'code 410', object: statusObject(410, 'Gone') },
    { name: 'reason Expired', object: { kind: 'Status', reason: 'Expired', message: 'too old' } },
  ])('with $name in the stream is replaced by a list', async ({ object }) => {
    const { server, clock, heard, start } = await openStage()
    await start()
    clock.advance(20_000)
    server.watches(resourceBindings)[0]?.send('ERROR', object)
    await until(() => server.lists(resourceBindings).length === 2)
    expect(heard).toContain('list expired')
    expect(heard.filter((line) => line.startsWith('error'))).toEqual([])
  })

  test('immediately after a list is replaced by a list after growing delays', async () => {
    const { server, store, clock } = await openStage()
    server.misbehave(isWatchRequest(resourceBindings), ...Array.from({ length: 5 }, () => status(410, 'Expired')))
    await store.start(new AbortController().signal)
    await settle(200)
    expect(server.lists(resourceBindings)).toHaveLength(1)
    await pass(clock, () => server.watches(resourceBindings).length === 1)
    expect(server.lists(resourceBindings)).toHaveLength(6)
  })

  test.each([
    { name: 'HTTP 400', answer: status(400, 'BadRequest') },
    {
      name: 'an event that is not JSON',
      answer: (response: { end(text: string): unknown }) => void response.end('<html>\n'),
    },
    {
      name: 'an event without an object',
      answer: (response: { end(text: string): unknown }) => void response.end('{"type":"ADDED"}\n'),
    },
    {
      name: 'an event that is null',
      answer: (response: { end(text: string): unknown }) => void response.end('null\n'),
    },
  ])('or became unusable by $name is replaced by a list after a pause', async ({ answer }) => {
    const { server, store, clock, heard } = await openStage()
    server.misbehave(isWatchRequest(resourceBindings), answer)
    await store.start(new AbortController().signal)
    await pass(clock, () => server.watches(resourceBindings).length === 1)
    expect(server.lists(resourceBindings)).toHaveLength(2)
    expect(heard).toContain('list rejected')
  })

  test.each([
    { name: 'ERROR events of 500', answer: errorEvent(statusObject(500, 'InternalError')) },
    {
      name: 'ERROR events without a code',
      answer: errorEvent({ kind: 'Status', message: 'conversion webhook failed' }),
    },
  ])('from which each watch ends by $name is replaced by a list', async ({ answer }) => {
    const { server, store, clock, heard } = await openStage()
    server.misbehave(isWatchRequest(resourceBindings), answer, answer, answer)
    await store.start(new AbortController().signal)
    await pass(clock, () => server.watches(resourceBindings).length === 1)
    expect(server.lists(resourceBindings)).toHaveLength(2)
    expect(heard).toContain('list rejected')
  })

  test('stays in use when errors of the server pass, or when the watches make progress', async () => {
    const { server, store, clock } = await openStage()
    const error = errorEvent(statusObject(500, 'InternalError'))
    const afterProgress: Answer = (response) => {
      const metadata = { resourceVersion: '9' }
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'ResourceBinding', metadata } })}\n`)
      error(response)
    }
    const unavailable = Array.from({ length: 4 }, () => status(503, 'ServiceUnavailable'))
    server.misbehave(isWatchRequest(resourceBindings), error, error, afterProgress, error, ...unavailable, error, error)
    await store.start(new AbortController().signal)
    await pass(clock, () => server.watches(resourceBindings).length === 1)
    expect(server.lists(resourceBindings)).toHaveLength(1)
  })

  test('causes no change of an unchanged object', async () => {
    const { server, store, clock, changes, start } = await openStage()
    server.put(resourceBindings, buildBinding('a'))
    await start()
    const before = store.get(resourceBindings, 'shop', 'a')
    clock.advance(20_000)
    server.watches(resourceBindings)[0]?.send('ERROR', statusObject(410, 'Expired'))
    await until(() => server.watches(resourceBindings).length === 1 && server.lists(resourceBindings).length === 2)
    expect(changes).toEqual([])
    expect(store.get(resourceBindings, 'shop', 'a')).toBe(before)
  })
})

describe('a reflector', () => {
  test('skips an object that cannot be cached, and serves the others', async () => {
    const keep: typeof bindingKind.keep = (raw) => {
      if (raw.metadata.name === 'odd') throw new Error('odd')
      return bindingKind.keep(raw)
    }
    const { server, start, names, heard } = await openStage({ kinds: [{ ...bindingKind, keep }] })
    for (const name of ['a', 'odd']) server.put(resourceBindings, buildBinding(name))
    await start()
    server.put(resourceBindings, buildBinding('odd', { replicas: 2 }))
    server.put(resourceBindings, buildBinding('b'))
    await until(() => names().length === 2)
    expect(names()).toEqual(['a', 'b'])
    expect(heard.filter((line) => line === 'error shop/odd cannot be cached')).toHaveLength(2)
  })

  test('returns the age of the last contact of each kind', async () => {
    const { server, store, clock, start } = await openStage()
    expect(store.contactAges()).toEqual([{ kind: 'ResourceBinding' }])
    await start()
    clock.advance(45_000)
    expect(store.contactAges()).toEqual([{ kind: 'ResourceBinding', ageMs: 45_000 }])
    server.watches(resourceBindings)[0]?.bookmark()
    await until(() => store.contactAges()[0]?.ageMs === 0)
  })

  test('publishes no object of the initial list', async () => {
    const { server, store } = await openStage()
    for (let i = 0; i < 300; i++) server.put(resourceBindings, buildBinding(`old-${i}`))
    await store.start(new AbortController().signal)
    const told: (string | undefined)[] = []
    store.subscribe(({ after }) => told.push(after?.metadata.name))
    await until(() => server.watches(resourceBindings).length === 1)
    server.put(resourceBindings, buildBinding('new'))
    await until(() => told.includes('new'))
    expect(told).toEqual(['new'])
  })

  test('continues when an observer throws', async () => {
    const fail = (): never => {
      throw new Error('a mistake in the observer')
    }
    const observer = { listed: fail, relisted: fail, watchEnded: fail, event: fail, error: fail, served: fail }
    const { server, start, names, clock } = await openStage({ observer })
    await start()
    clock.advance(20_000)
    server.watches(resourceBindings)[0]?.reset()
    server.put(resourceBindings, buildBinding('a'))
    await pass(clock, () => names().length === 1)
  })
})

describe('stopping', () => {
  test.each([
    { name: 'while a watch is open', answers: [] },
    { name: 'while it waits for a retry', answers: [status(500)] },
    { name: 'while a list hangs', answers: [hang] },
  ])('$name leaves no timer and no request behind', async ({ answers }) => {
    const { server, store, clock } = await openStage()
    server.misbehave(isListRequest(resourceBindings), ...answers)
    const abort = new AbortController()
    const started = store.start(abort.signal).catch((error: unknown) => error)
    await until(() => server.requests.length > 0)
    await settle()
    await Promise.all([store.stop(), store.stop()])
    abort.abort(new Error('over'))
    await started
    expect(clock.waits).toEqual([])
    const requests = server.requests.length
    clock.advance(600_000)
    await settle()
    expect(server.requests).toHaveLength(requests)
    expect(server.watches(resourceBindings)).toEqual([])
  })

  test('is final: a stopped store cannot be started', async () => {
    const { store } = await openStage()
    await store.stop()
    await expect(store.start(new AbortController().signal)).rejects.toThrow('was stopped')
  })

  test('an aborted start rejects with the reason', async () => {
    const { server, store } = await openStage()
    server.misbehave(isListRequest(resourceBindings), hang)
    const abort = new AbortController()
    const started = store.start(abort.signal)
    await until(() => server.requests.length === 1)
    abort.abort(new Error('too slow'))
    await expect(started).rejects.toThrow('too slow')
  })
})
