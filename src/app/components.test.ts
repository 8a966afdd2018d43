import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Part, startParts, stopParts } from './components.ts'

let told: string[]
const part = (name: string, stop: () => Promise<void> | void = () => undefined, start = stop): Part => ({
  name,
  stopsAt: 'last',
  async start() {
    told.push(`start ${name}`)
    await start()
  },
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

test('parts start in order, and none starts after a failed one', async () => {
  const fails = () => {
    throw new Error('the port is taken')
  }
  const parts = [part('store'), part('server', undefined, fails), part('loops')]

  await expect(startParts(parts)).rejects.toThrow('the port is taken')
  expect(told).toEqual(['start store', 'start server'])
})

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
