import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type LoopOptions, startLoop } from './loop.ts'

const INTERVAL_MS = 10_000

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A reconcile function whose runs end when the test ends them. */
function makeWork() {
  const runs: PromiseWithResolvers<void>[] = []
  return {
    runs,
    reconcile: () => {
      const run = Promise.withResolvers<void>()
      runs.push(run)
      return run.promise
    },
    /** Ends the current run. */
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

describe('a loop runs', () => {
  test('immediately, and then at the interval', async () => {
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

  test('at the interval after the end of a run, so that runs never overlap', async () => {
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

  test('after a trigger without waiting for the interval, which then restarts', async () => {
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

  test('once more after many triggers during a run', async () => {
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
  test('it is reported and retried, later each time, at most half a minute later', async () => {
    const failure = new Error('no answer')
    const { loop, errors } = start(() => Promise.reject(failure))

    await vi.advanceTimersByTimeAsync(100_000)

    expect(errors.map(({ retryInMs }) => retryInMs)).toEqual([
      200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ])
    expect(errors.every(({ error }) => error === failure)).toBe(true)
    await loop.stop()
  })

  test('a success resets the back-off', async () => {
    const answers = ['no', 'no', 'yes', 'no']
    const { loop, errors } = start(async () => {
      if (answers.shift() === 'no') throw new Error('no answer')
    })

    await vi.advanceTimersByTimeAsync(600 + INTERVAL_MS)

    expect(errors.map(({ retryInMs }) => retryInMs)).toEqual([200, 400, 200])
    await loop.stop()
  })

  test('a trigger during the failing run does not skip the delay', async () => {
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

  test('a trigger during the delay ends it, since a change occurred', async () => {
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
  test('it waits for the current run and starts no other', async () => {
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

  test('it waits for a failing run too, and does not retry it', async () => {
    const work = makeWork()
    const { loop, errors } = start(work.reconcile)

    const stopping = loop.stop()
    await work.end(new Error('no answer'))
    await stopping
    await vi.advanceTimersByTimeAsync(INTERVAL_MS)

    expect(errors).toHaveLength(1)
    expect(work.runs).toHaveLength(1)
  })

  test('its timer ends too, so that the process can end', async () => {
    const { loop } = start(async () => undefined)
    await vi.advanceTimersByTimeAsync(0)
    const timers = vi.getTimerCount()
    const stopping = loop.stop()
    // Compared within one step: connections of other test files may have timers too.
    expect(vi.getTimerCount()).toBe(timers - 1)
    await stopping
  })

  test('triggers have no effect, and a second stop is allowed', async () => {
    const reconcile = vi.fn(async () => undefined)
    const { loop } = start(reconcile)

    await loop.stop()
    await loop.stop()
    loop.trigger()
    await vi.advanceTimersByTimeAsync(INTERVAL_MS)

    expect(reconcile).toHaveBeenCalledTimes(1)
  })
})
