import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openQueue, type QueueOptions } from './queue.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function open(run: QueueOptions['run'], options: Partial<QueueOptions> = {}) {
  const errors: string[] = []
  const queue = openQueue({
    run,
    concurrency: () => 2,
    onError: (key, _error, ms) => errors.push(`${key} ${ms}`),
    ...options,
  })
  return { queue, errors }
}

/** A run that ends when the test ends it. */
function gate() {
  const runs: string[] = []
  const open: (() => void)[] = []
  const run = (key: string) => {
    runs.push(key)
    return new Promise<undefined>((resolve) => open.push(() => resolve(undefined)))
  }
  const next = async () => {
    open.shift()?.()
    await vi.advanceTimersByTimeAsync(0)
  }
  return { runs, run, next }
}

test('a key that is added many times while it waits runs once', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run, { concurrency: () => 1 })
  queue.add('a')
  for (let i = 0; i < 5; i++) queue.add('b')
  expect([runs, queue.state().depth]).toEqual([['a'], 1])
  await next()
  await next()
  expect(runs).toEqual(['a', 'b'])
})

test('keys run by turns of their namespaces, so that many of one do not delay another', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run, { concurrency: () => 1 })
  const keys = ['many/1', 'many/2', 'many/3', 'v1/Secret/many/a', 'few/1', 'node', 'many/4', 'few/2', 'cluster']
  for (const key of keys) queue.add(key)
  while (queue.depth() > 0) await next()
  expect(runs).toEqual([
    ...['many/1', 'many/2', 'v1/Secret/many/a', 'few/1', 'node', 'many/3', 'few/2', 'cluster', 'many/4'],
  ])
})

test('keys run by the turns that the loop gives them', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run, { concurrency: () => 1, turnOf: (key) => key.slice(0, 1) })
  for (const key of ['a1', 'a2', 'a3', 'b1', 'b2']) queue.add(key)
  while (queue.depth() > 0) await next()
  expect(runs).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
})

test('the oldest key is that of any turn', async () => {
  const { run } = gate()
  const { queue } = open(run, { concurrency: () => 1 })
  for (const key of ['a/1', 'a/2', 'b/1']) queue.add(key)
  await vi.advanceTimersByTimeAsync(20)
  queue.add('a/3')
  queue.add('c/1')
  expect(queue.state()).toEqual({ depth: 4, oldestMs: 20, longestRunMs: 20 })
})

test('each due key is counted once, and the oldest key and run have their times', async () => {
  const { run, next } = gate()
  let added = 0
  const { queue } = open(run, { concurrency: () => 1, onAdd: () => added++ })
  expect(queue.state()).toEqual({ depth: 0, oldestMs: 0, longestRunMs: 0 })

  for (const key of ['a', 'a', 'a', 'b', 'b']) queue.add(key)
  await vi.advanceTimersByTimeAsync(30)

  // The first key runs, and runs once more.
  expect(added).toBe(3)
  expect(queue.state()).toEqual({ depth: 1, oldestMs: 30, longestRunMs: 30 })
  await next()
  expect(queue.state()).toMatchObject({ depth: 1, oldestMs: 0, longestRunMs: 0 })
})

test('a key that is added while it runs runs once more, and never at the same time', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run)
  queue.add('a')
  queue.add('a')
  queue.add('a')
  expect(runs).toEqual(['a'])
  await next()
  expect(runs).toEqual(['a', 'a'])
  await next()
  expect(runs).toEqual(['a', 'a'])
})

test('a key that its own run adds runs again afterwards, and not inside the run', async () => {
  const steps: string[] = []
  const { queue } = open(async (key) => {
    steps.push('begin')
    if (steps.length === 1) queue.add(key)
    steps.push('end')
    return undefined
  })
  queue.add('a')
  await vi.advanceTimersByTimeAsync(0)
  expect(steps).toEqual(['begin', 'end', 'begin', 'end'])
})

test('no more keys run at the same time than allowed', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run)
  for (const key of ['a', 'b', 'c']) queue.add(key)
  expect(runs).toEqual(['a', 'b'])
  await next()
  expect(runs).toEqual(['a', 'b', 'c'])
})

test('a failure is retried, later each time, and a success resets the back-off', async () => {
  let fails = 3
  const runs: number[] = []
  const { queue, errors } = open(async () => {
    runs.push(Date.now())
    if (fails-- > 0) throw new Error('no')
    return undefined
  })
  queue.add('a')
  await vi.advanceTimersByTimeAsync(100)
  expect([runs.length, errors]).toEqual([4, ['a 5', 'a 10', 'a 20']])
  fails = 1
  queue.add('a')
  await vi.advanceTimersByTimeAsync(100)
  expect(errors.at(-1)).toBe('a 5')
})

test('a key runs again at the time that its run returned, or earlier if it is added', async () => {
  const runs: string[] = []
  const { queue } = open(async (key) => {
    runs.push(key)
    return 1_000
  })
  queue.add('a')
  await vi.advanceTimersByTimeAsync(999)
  expect(runs).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(runs).toHaveLength(2)
  queue.add('a')
  await vi.advanceTimersByTimeAsync(0)
  expect(runs).toHaveLength(3)
  await queue.stop()
})

test('after the stop no run starts, and the current ones are awaited', async () => {
  const { runs, run, next } = gate()
  const { queue } = open(run, { concurrency: () => 1 })
  queue.add('a')
  queue.add('b')
  queue.add('c', 50)
  let stopped = false
  const stopping = queue.stop().then(() => {
    stopped = true
  })
  await vi.advanceTimersByTimeAsync(100)
  expect(stopped).toBe(false)
  await next()
  await stopping
  expect(runs).toEqual(['a'])
})

test('a backlog of short runs yields to the event loop', async () => {
  vi.useRealTimers()
  let done = 0
  const { queue } = open(async () => {
    done++
    return undefined
  })
  const doneAtTurn: number[] = []
  const look = () => {
    doneAtTurn.push(done)
    if (done < 10_000) setImmediate(look)
  }
  setImmediate(look)
  for (let i = 0; i < 10_000; i++) queue.add(`${i}`)
  await expect.poll(() => done).toBe(10_000)
  const steps = doneAtTurn.map((count, i) => count - (doneAtTurn[i - 1] ?? 0))
  expect(Math.max(...steps)).toBeLessThanOrEqual(25)
})

test('a delay that is longer than any timer does not run the key again and again', async () => {
  const runs: string[] = []
  const { queue } = open(async (key) => {
    runs.push(key)
    // For instance until a location is older than maxStalenessSeconds: 2592000, a month.
    return 2_592_000_000
  })
  queue.add('a')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(runs).toEqual(['a'])
  await vi.advanceTimersByTimeAsync(2 ** 31)
  expect(runs).toEqual(['a', 'a'])
})
