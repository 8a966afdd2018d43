import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../telemetry/logger.fake.ts'
import { openShutdown, type Part, stopParts } from './shutdown.ts'

let told: string[]
const part = (name: string, stop: () => Promise<void> | void = () => undefined): Part => ({
  name,
  stop() {
    told.push(name)
    return stop()
  },
})
const hangs = () => new Promise<void>(() => undefined)

beforeEach(() => {
  told = []
  vi.useFakeTimers()
})

afterEach(() => vi.useRealTimers())

test('parts stop in reverse order, each after the next one has stopped', async () => {
  const gate = Promise.withResolvers<void>()
  const stopped = stopParts([part('store'), part('server', () => gate.promise)], 1000)

  expect(told).toEqual(['server'])
  gate.resolve()
  expect(await stopped).toEqual([])
  expect(told).toEqual(['server', 'store'])
})

test('a part that does not stop in time is returned by name; all others are stopped', async () => {
  const stopped = stopParts([part('store'), part('server', hangs), part('loops')], 1000)
  await vi.advanceTimersByTimeAsync(1000)

  expect(await stopped).toEqual(['server'])
  expect(told).toEqual(['loops', 'server', 'store'])
})

test('a part that fails to stop is returned by name, and the others are stopped', async () => {
  const fails = () => {
    throw new Error('no such socket')
  }
  const rejects = () => Promise.reject(new Error('no such lease'))

  expect(await stopParts([part('store'), part('server', fails), part('loops', rejects)], 1000)).toEqual([
    'server',
    'loops',
  ])
  expect(told).toEqual(['loops', 'server', 'store'])
})

test('writers stop first, servers after the drain, and what they use last', async () => {
  vi.useRealTimers()
  const shutdown = openShutdown(silentLog)
  shutdown.begun.addEventListener('abort', () => told.push('begun'))
  shutdown.drained.addEventListener('abort', () => told.push('drained'))
  for (const name of ['store', 'certificates']) shutdown.add('last', name, () => void told.push(name))
  shutdown.add('drainEnd', 'server', () => void told.push('server'))
  shutdown.add('drainStart', 'loops', () => void told.push('loops'))

  await shutdown.stop(0)

  expect(told).toEqual(['begun', 'loops', 'drained', 'server', 'certificates', 'store'])
})
