import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type LoopOptions, startLoop } from './loop.ts'

const INTERVAL_MS = 10_000

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  expect(vi.getTimerCount(), 'no timer is left').toBe(0)
  vi.useRealTimers()
})

/** A reconcile function whose runs end when the test says so. */
function makeWork() {
  const runs: PromiseWithResolvers<void>[] = []
  return {
    runs,
    reconcile: () => {
      const run = Promise.withResolvers<void>()
      runs.push(run)
      return run.promise
    },
    /** Ends the run under way. */
    async end(error?: Error) {
      const run = runs.at(-1)
      if (error) run?.reject(error)
      else run?.resolve()
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

function start(reconcile: LoopOptions['reconcile']) {
  const errors: { error: unknown; retryInMs: number }[] = []
  const loop = startLoop({
    reconcile,
    intervalMs: INTERVAL_MS,
    onError: (error, retryInMs) => errors.push({ error, retryInMs }),
  })
  return { loop, errors }
}

describe('when it runs', () => {
  test('at once, and then again and again', async () => {
    const reconcile = vi.fn(async () => undefined)
    const { loop } = start(reconcile)
    expect(reconcile).toHaveBeenCalledTimes(1)

    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1)
    expect(reconcile).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(reconcile).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(2 * INTERVAL_MS)
    expect(reconcile).toHaveBeenCalledTimes(4)
    await loop.stop()
  })

  test('the interval counts from the end of a run, so that runs never overlap', async () => {
    const work = makeWork()
    const { loop } = start(work.reconcile)

    await vi.advanceTimersByTimeAsync(5 * INTERVAL_MS)
    expect(work.runs).toHaveLength(1)
    await work.end()
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1)
    expect(work.runs).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(work.runs).toHaveLength(2)

    await work.end()
    await loop.stop()
  })

  test('a trigger does not wait for the interval, which then begins anew', async () => {
    const reconcile = vi.fn(async () => undefined)
    const { loop } = start(reconcile)
    await vi.advanceTimersByTimeAsync(INTERVAL_MS / 2)

    loop.trigger()
    loop.trigger()
    await vi.advanceTimersByTimeAsync(0)
    expect(reconcile).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(INTERVAL_MS - 1)
    expect(reconcile).toHaveBeenCalledTimes(2)

    await loop.stop()
  })

  test('many triggers during a run give one more run, after it', async () => {
    const work = makeWork()
    const { loop } = start(work.reconcile)

    for (let i = 0; i < 5; i++) loop.trigger()
    await vi.advanceTimersByTimeAsync(0)
    expect(work.runs).toHaveLength(1)
    await work.end()
    expect(work.runs).toHaveLength(2)
    await work.end()
    expect(work.runs).toHaveLength(2)

    await loop.stop()
  })
})

describe('when a run fails', () => {
  test('it is reported and tried again, later each time, up to half a minute', async () => {
    const failure = new Error('no answer')
    const { loop, errors } = start(() => Promise.reject(failure))

    await vi.advanceTimersByTimeAsync(100_000)

    expect(errors.map(({ retryInMs }) => retryInMs)).toEqual([
      200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ])
    expect(errors.every(({ error }) => error === failure)).toBe(true)
    await loop.stop()
  })

  test('one success begins the waiting anew', async () => {
    const answers = ['no', 'no', 'yes', 'no']
    const { loop, errors } = start(async () => {
      if (answers.shift() === 'no') throw new Error('no answer')
    })

    await vi.advanceTimersByTimeAsync(600 + INTERVAL_MS)

    expect(errors.map(({ retryInMs }) => retryInMs)).toEqual([200, 400, 200])
    await loop.stop()
  })

  test('a trigger during the failing run does not skip the wait', async () => {
    const work = makeWork()
    const { loop } = start(work.reconcile)

    loop.trigger()
    await work.end(new Error('no answer'))
    expect(work.runs).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(work.runs).toHaveLength(2)

    await work.end()
    await loop.stop()
  })

  test('a trigger during the wait ends it: something changed', async () => {
    const work = makeWork()
    const { loop } = start(work.reconcile)
    await work.end(new Error('no answer'))

    loop.trigger()
    await vi.advanceTimersByTimeAsync(0)

    expect(work.runs).toHaveLength(2)
    await work.end()
    await loop.stop()
  })
})

describe('when it is stopped', () => {
  test('it waits for the run under way, and starts no other', async () => {
    const work = makeWork()
    const { loop } = start(work.reconcile)
    loop.trigger()
    let stopped = false

    const stopping = loop.stop().then(() => {
      stopped = true
    })
    await vi.advanceTimersByTimeAsync(INTERVAL_MS)
    expect(stopped).toBe(false)
    await work.end()
    await stopping

    await vi.advanceTimersByTimeAsync(INTERVAL_MS)
    expect(work.runs).toHaveLength(1)
  })

  test('a failing run is waited for too, and not tried again', async () => {
    const work = makeWork()
    const { loop, errors } = start(work.reconcile)

    const stopping = loop.stop()
    await work.end(new Error('no answer'))
    await stopping
    await vi.advanceTimersByTimeAsync(INTERVAL_MS)

    expect(errors).toHaveLength(1)
    expect(work.runs).toHaveLength(1)
  })

  test('triggers have no effect any more, and a second stop is fine', async () => {
    const reconcile = vi.fn(async () => undefined)
    const { loop } = start(reconcile)

    await loop.stop()
    await loop.stop()
    loop.trigger()
    await vi.advanceTimersByTimeAsync(INTERVAL_MS)

    expect(reconcile).toHaveBeenCalledTimes(1)
  })
})
