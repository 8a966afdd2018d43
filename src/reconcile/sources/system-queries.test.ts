/** Tests how many queries run at the same time for each system, and how many for a failing system. */
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LocalityAnswer, LocalityError, type LocalityErrorCode, type System } from '../../locality/locality.ts'
import { openSystemQueries, type QueryEnd } from './system-queries.ts'

const located: LocalityAnswer = { kind: 'located', location: 's3://a', clusters: ['m1'] }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A system whose queries end when the test ends them. */
function makeSystem(maxConcurrent = 2) {
  const started: string[] = []
  const open: PromiseWithResolvers<LocalityAnswer>[] = []
  const system: System = {
    health: { state: 'unknown' },
    refreshIntervalMs: 300_000,
    maxConcurrent,
    retry: { maxRetries: 0, initialBackoffMs: 0, maxBackoffMs: 0, backoffMultiplier: 1, timeoutMs: 1_000 },
    clustersOf: ({ clusters = [] }) => [...clusters],
    whyNoCluster: ({ location }) => `no cluster for ${location}`,
    plugin: {
      system: 'lake',
      locate: ({ name }) => {
        started.push(name)
        const query = Promise.withResolvers<LocalityAnswer>()
        open.push(query)
        return query.promise
      },
      health: async () => undefined,
      close: async () => undefined,
    },
  }
  const next = async (end: LocalityAnswer | Error) => {
    const query = open.shift()
    if (end instanceof Error) query?.reject(end)
    else query?.resolve(end)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { system, started, next }
}

function open() {
  const aborter = new AbortController()
  const observed: string[] = []
  const ends: Record<string, QueryEnd> = {}
  const queries = openSystemQueries({
    now: () => Date.now(),
    signal: aborter.signal,
    observe: (system, _seconds, result) => observed.push(`${system} ${result}`),
  })
  const send = (system: System, name: string, ...namespaces: string[]) =>
    queries.send({
      system,
      key: name,
      namespaces,
      query: () => ({ type: 'table', name, attributes: {} }),
      done: (end) => {
        ends[name] = end
      },
    })
  return { queries, send, ends, observed, aborter }
}

const error = (code: LocalityErrorCode) => new LocalityError(code, 'no')

test('each system has its configured number of slots, and further queries wait', async () => {
  const [a, b] = [makeSystem(2), makeSystem(20)]
  const { send, ends, observed } = open()
  for (let i = 0; i < 30; i++) {
    send(a.system, `a${i}`)
    send(b.system, `b${i}`)
  }
  expect([a.started, b.started.length]).toEqual([['a0', 'a1'], 20])
  await a.next(located)
  expect(a.started).toEqual(['a0', 'a1', 'a2'])
  expect(ends).toEqual({ a0: located })
  expect(observed).toEqual(['lake located'])
})

test('the query of a namespace with one claim is second, behind one of 10,000 others', async () => {
  const { system, started, next } = makeSystem(1)
  const { send } = open()
  for (let i = 0; i < 10_000; i++) send(system, `a${i}`, 'a')
  send(system, 'b', 'b')
  for (let i = 0; i < 3; i++) await next(located)

  expect(started).toEqual(['a0', 'a1', 'b', 'a2'])
})

test('a failing system has turns of namespaces too', async () => {
  const { system, started, next } = makeSystem(1)
  const { send } = open()
  for (let i = 0; i < 100; i++) send(system, `a${i}`, 'a')
  for (let i = 0; i < 3; i++) await next(error('timeout'))
  send(system, 'b', 'b')
  await vi.advanceTimersByTimeAsync(1_000)
  await next(error('timeout'))
  await vi.advanceTimersByTimeAsync(60_000)

  expect(started).toEqual(['a0', 'a1', 'a2', 'a3', 'b'])
})

test('a query that a claim of another namespace shares has the turn of that namespace', async () => {
  const { system, started, next } = makeSystem(1)
  const { send } = open()
  for (let i = 0; i < 100; i++) send(system, `a${i}`, 'a')
  const last = send(system, 'shared', 'a')
  last.share(['a', 'b'])
  for (let i = 0; i < 3; i++) await next(located)
  last.share(['c'])

  expect(started).toEqual(['a0', 'a1', 'shared', 'a2'])
})

test('an answer in no cluster has the reason', async () => {
  const { system, next } = makeSystem()
  const { send, ends } = open()
  send(system, 't')
  const unmapped: LocalityAnswer = { kind: 'located', location: 's3://a', clusters: [] }
  await next(unmapped)
  expect(ends).toEqual({ t: { ...unmapped, whyNoCluster: 'no cluster for s3://a' } })
})

test('a system with failing queries gets one a second, and all slots after an answer', async () => {
  const { system, started, next } = makeSystem(4)
  const { send, queries, ends } = open()
  for (let i = 0; i < 12; i++) send(system, `t${i}`)
  for (let i = 0; i < 4; i++) await next(error('timeout'))
  expect(ends['t0']).toEqual({ kind: 'failed', code: 'timeout', reason: 'lake: no' })
  // Two more started before the third failure.
  expect([started.length, queries.isFailing(system)]).toEqual([6, true])
  for (let i = 0; i < 2; i++) await next(error('unreachable'))
  await vi.advanceTimersByTimeAsync(999)
  expect(started).toHaveLength(6)
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toHaveLength(7)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(started).toHaveLength(7)

  await next(located)

  expect([started.length, queries.isFailing(system)]).toEqual([11, false])
})

test('one query that fails repeatedly does not slow down other queries of the system', async () => {
  const { system, started, next } = makeSystem(4)
  const { send, queries } = open()
  for (let i = 0; i < 5; i++) {
    send(system, 'wrong')
    await next(error('timeout'))
  }

  for (let i = 0; i < 4; i++) send(system, `t${i}`)

  expect([queries.isFailing(system), started.slice(5)]).toEqual([false, ['t0', 't1', 't2', 't3']])
})

test('a system whose health check fails gets one query at a time', async () => {
  const { system, started } = makeSystem(4)
  const { send, queries } = open()
  const health = { state: 'unhealthy', checkedAt: Date.now() } as const
  const unhealthy = { ...system, health }
  for (let i = 0; i < 4; i++) send(unhealthy, `t${i}`)
  expect([started.length, queries.isFailing(unhealthy)]).toEqual([1, true])
})

test('waiting queries start when the system is healthy again', async () => {
  const { system, started } = makeSystem(4)
  const { send, queries } = open()
  let health: System['health'] = { state: 'unhealthy', checkedAt: Date.now() }
  const watched = {
    ...system,
    get health() {
      return health
    },
  }
  for (let i = 0; i < 4; i++) send(watched, `t${i}`)
  health = { state: 'healthy', checkedAt: Date.now() }
  queries.resume(watched)
  expect(started).toHaveLength(4)
})

test('a canceled query is not sent, and the answer to a sent one is ignored', async () => {
  const { system, started, next } = makeSystem(1)
  const { send, ends } = open()
  const running = send(system, 'running')
  const waiting = send(system, 'waiting')
  send(system, 'last')
  running.cancel()
  waiting.cancel()
  await next(located)
  expect([started, ends]).toEqual([['running', 'last'], {}])
})

test('an unexpected error of a plugin is a fault, and does not count for the system', async () => {
  const { system, next } = makeSystem(1)
  const { send, ends, queries, observed } = open()
  const fault = new TypeError('oops')
  for (let i = 0; i < 5; i++) {
    send(system, `t${i}`)
    await next(fault)
  }
  expect(ends['t4']).toEqual({ kind: 'fault', error: fault })
  expect([queries.isFailing(system), observed]).toEqual([false, []])
})

test('a system that is replaced leaves no listener on the signal', () => {
  const { send, aborter } = open()
  for (let i = 0; i < 3; i++) send(makeSystem(1).system, `t${i}`)
  expect(getEventListeners(aborter.signal, 'abort')).toHaveLength(1)
})

test('after an abort no query starts and no timer is left', async () => {
  const { system, started, next } = makeSystem(1)
  const { send, aborter } = open()
  for (let i = 0; i < 5; i++) send(system, `t${i}`)
  for (let i = 0; i < 3; i++) await next(error('timeout'))
  const timers = vi.getTimerCount()
  aborter.abort()
  // Compared within one step: connections of other test files may have timers too.
  expect(vi.getTimerCount()).toBe(timers - 1)
  send(system, 'late')
  expect(started).toHaveLength(3)
})
