import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { SkippingClock } from '../base/time/clock.fake.ts'
import { newestRules, strictestRules } from '../core/karmada-rules.ts'
import type { ServerInfo } from '../core/server-features.ts'
import { ApiError, RequestError } from '../store/cluster/api-error.ts'
import { openKarmadaVersion } from './karmada.ts'

const log = pino({ level: 'silent' })
const overflow = { items: { properties: { overflowAffinities: {} } } }
const placement = { properties: { clusterAffinities: overflow } }
const schemas = { ResourceBinding: { properties: { spec: { properties: { placement } } } } }

type State = () => Promise<ServerInfo>
const recent: State = async () => ({ version: 'v1.35.0', bindingSchemas: schemas })
const old: State = async () => ({ version: 'v1.35.0', bindingSchemas: {} })
const withoutSchemas: State = async () => ({ version: 'v1.35.0' })
const refused: State = () => Promise.reject(new RequestError('GET /version: connection refused'))
const answering = (status: number): State => {
  return () => Promise.reject(new ApiError({ status, reason: '', message: `HTTP ${status}` }))
}

/** Opens the rules of a server that is in one state after the other, and stays in the last one. */
function openWith(states: readonly State[], { version, isHub = true }: { version?: string; isHub?: boolean } = {}) {
  const left = [...states]
  const clock = new SkippingClock()
  let reads = 0
  const readServerInfo = () => {
    reads++
    const state = left.length > 1 ? left.shift() : left[0]
    return (state as State)()
  }
  const karmada = openKarmadaVersion({ version, readServerInfo, serves: () => isHub, log, clock })
  let changes = 0
  const unsubscribe = karmada.subscribe(() => changes++)
  const { signal } = new AbortController()
  return { karmada, clock, unsubscribe, start: () => karmada.start(signal), reads: () => reads, changes: () => changes }
}

describe('at the start', () => {
  test.each<{ name: string; states: State[]; isHub?: boolean; want: unknown; reads: number }>([
    { name: 'the rules are those of the API server', states: [recent], want: newestRules, reads: 1 },
    {
      name: 'an API server that starts later is waited for',
      states: [refused, answering(503), recent],
      want: newestRules,
      reads: 3,
    },
    {
      name: 'a hub that publishes its schemas later is waited for',
      states: [withoutSchemas, recent],
      want: newestRules,
      reads: 2,
    },
    {
      name: 'a member has no rules, and nothing waits',
      states: [refused],
      isHub: false,
      want: undefined,
      reads: 0,
    },
    { name: 'a missing right leaves the rules unknown at once', states: [answering(403)], want: undefined, reads: 1 },
  ])('$name', async ({ states, isHub = true, want, reads }) => {
    const opened = openWith(states, { isHub })
    expect(opened.karmada.isRead()).toBe(false)
    expect(() => opened.karmada.rules()).toThrow('the rules of Karmada have not been read yet')

    await opened.start()

    expect(opened.karmada.isRead()).toBe(true)
    expect(opened.karmada.rules()).toEqual(want)
    expect(opened.reads()).toBe(reads)
  })

  test('the cache of bindings is waited for: it shows whether this is a hub', async () => {
    const known = [undefined, undefined, true]
    const clock = new SkippingClock()
    const readServerInfo = () => (known.length === 1 ? recent() : refused())
    const serves = () => (known.length > 1 ? known.shift() : known[0])
    const karmada = openKarmadaVersion({ version: undefined, readServerInfo, serves, log, clock })

    await karmada.start(new AbortController().signal)

    expect([karmada.rules(), clock.skipped.length]).toEqual([newestRules, 2])
  })

  test('decisions wait a minute at most', async () => {
    const { karmada, clock, start } = openWith([refused])
    await start()
    expect(karmada.rules()).toBeUndefined()
    expect(clock.now()).toBeGreaterThan(50_000)
    expect(clock.now()).toBeLessThan(60_000)
  })

  test('a stop ends the wait', async () => {
    const { karmada } = openWith([refused])
    await expect(karmada.start(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped')
    expect(karmada.isRead()).toBe(false)
  })
})

test('the rules follow an upgrade of the API server, and each change is published once', async () => {
  const { karmada, start, changes } = openWith([old, recent])
  await start()
  expect(karmada.rules()).toEqual(strictestRules)
  for (let i = 0; i < 2; i++) await karmada.refresh()
  expect([karmada.rules(), changes()]).toEqual([newestRules, 2])
})

test.each([
  { name: 'a failed read', state: refused },
  { name: 'a read without schemas', state: withoutSchemas },
])('$name keeps the last rules', async ({ state }) => {
  const { karmada, start } = openWith([recent, state])
  await start()
  await karmada.refresh()
  expect(karmada.rules()).toEqual(newestRules)
})

test('rules that could not be read at the start are read later', async () => {
  const { karmada, start } = openWith([answering(403), recent])
  await start()
  await karmada.refresh()
  expect(karmada.rules()).toEqual(newestRules)
})

test('a configured version precedes the API server', async () => {
  const { karmada, start, reads } = openWith([recent], { version: '1.17' })
  expect(karmada.rules()).toEqual(strictestRules)
  await start()
  await karmada.refresh()
  expect([karmada.rules(), reads()]).toEqual([strictestRules, 0])
})

test('without an API server, as in a folder, the newest rules apply', async () => {
  const karmada = openKarmadaVersion({ version: undefined, readServerInfo: undefined, serves: () => true, log })
  await karmada.refresh()
  expect(karmada.rules()).toBe(newestRules)
})

test('an ended subscription hears of no change', async () => {
  const { start, unsubscribe, changes } = openWith([recent])
  unsubscribe()
  await start()
  expect(changes()).toBe(0)
})
