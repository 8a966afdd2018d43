import { expect, test } from 'vitest'
import { LARGE_BODY_BYTES, openRequestQueue, type QueuedRequest, type RequestQueue } from './request-queue.ts'

let told: string[] = []

function request(name: string, { deciding = () => {}, sending = () => {}, size = 100 } = {}): QueuedRequest {
  return {
    size,
    reject({ message }) {
      told.push(`reject ${name}: ${message}`)
    },
    decide() {
      told.push(`decide ${name}`)
      deciding()
      return { status: 200, body: name }
    },
    respond({ body }) {
      told.push(`send ${body}`)
      sending()
    },
    abort(error) {
      told.push(`abort ${name}: ${(error as Error).message}`)
    },
  }
}

/** Returns the actions in the next iterations of the event loop. */
async function afterIterations(iterations = 1): Promise<string[]> {
  for (let i = 0; i < iterations; i++) await new Promise((resolve) => setImmediate(resolve))
  const done = told
  told = []
  return done
}

/** Opens a queue; the batch before had two requests. */
async function openBusyQueue({ limit = 256, now = (): number => 0 } = {}): Promise<RequestQueue> {
  const queue = openRequestQueue(limit, now)
  queue.add(request('before'))
  queue.add(request('beside'))
  await afterIterations()
  return queue
}

test('a single request is answered immediately', async () => {
  const queue = openRequestQueue(256, () => 0)

  queue.add(request('first'))

  expect(told).toEqual(['decide first', 'send first'])
  expect(await afterIterations()).toHaveLength(2)
})

test('of requests together after a single one, only the first is answered separately', async () => {
  const queue = openRequestQueue(256, () => 0)

  for (const name of ['first', 'second', 'third']) queue.add(request(name))

  expect(await afterIterations()).toEqual([
    'decide first',
    'send first',
    'decide second',
    'decide third',
    'send second',
    'send third',
  ])
})

test('a single request after a batch waits once, and the next one does not wait', async () => {
  const queue = await openBusyQueue()

  queue.add(request('first'))
  expect(told).toEqual([])
  expect(await afterIterations()).toEqual(['decide first', 'send first'])

  queue.add(request('second'))
  expect(told).toEqual(['decide second', 'send second'])
  expect(await afterIterations()).toHaveLength(2)
})

test('requests that arrive together are decided first, and answered in order', async () => {
  const queue = await openBusyQueue()

  queue.add(request('first'))
  queue.add(request('second'))

  expect(told).toEqual([])
  expect(await afterIterations()).toEqual(['decide first', 'decide second', 'send first', 'send second'])
})

test('a request that arrives during the sending of responses is in the next batch', async () => {
  const queue = await openBusyQueue()

  queue.add(request('first', { sending: () => queue.add(request('second')) }))

  expect(await afterIterations(2)).toEqual(['decide first', 'send first', 'decide second', 'send second'])
})

test('a slow decision delays only the responses of the requests before it', async () => {
  let now = 0
  const queue = await openBusyQueue({ now: () => now })
  const long = () => {
    now += 50
  }

  queue.add(request('small'))
  queue.add(request('huge', { deciding: long }))
  queue.add(request('late'))

  expect(await afterIterations()).toEqual([
    'decide small',
    'decide huge',
    'send small',
    'send huge',
    'decide late',
    'send late',
  ])
})

test.each<{ name: string; given: Parameters<typeof request>[1]; want: string[] }>([
  {
    name: 'a failing decision fails only its own request',
    given: {
      deciding: () => {
        throw new Error('a bug')
      },
    },
    want: ['decide first', 'decide second', 'abort second: a bug', 'decide third', 'send first', 'send third'],
  },
  {
    name: 'an answer that cannot be sent fails only its own request',
    given: {
      sending: () => {
        throw new Error('closed')
      },
    },
    want: [
      'decide first',
      'decide second',
      'decide third',
      'send first',
      'send second',
      'abort second: closed',
      'send third',
    ],
  },
])('$name', async ({ given, want }) => {
  const queue = await openBusyQueue()

  queue.add(request('first'))
  queue.add(request('second', given))
  queue.add(request('third'))

  expect(await afterIterations()).toEqual(want)
})

test('large requests are decided singly, after all others, and delay no new request', async () => {
  const queue = await openBusyQueue()

  queue.add(request('large 1', { size: LARGE_BODY_BYTES + 1, sending: () => queue.add(request('small 2')) }))
  queue.add(request('large 2', { size: LARGE_BODY_BYTES + 1 }))
  queue.add(request('small 1'))

  expect(await afterIterations(2)).toEqual([
    'decide small 1',
    'send small 1',
    'decide large 1',
    'send large 1',
    'decide small 2',
    'send small 2',
    'decide large 2',
    'send large 2',
  ])
})

test.each([
  { name: 'usual requests', size: 100, other: LARGE_BODY_BYTES + 1 },
  { name: 'large requests', size: LARGE_BODY_BYTES + 1, other: 100 },
])('at the limit, further $name are rejected at once, and no other ones', async ({ size, other }) => {
  const queue = await openBusyQueue({ limit: 2 })

  for (const name of ['first', 'second', 'third']) queue.add(request(name, { size }))
  queue.add(request('other', { size: other }))

  expect(told).toEqual(['reject third: more than 2 requests in flight; retry'])
  expect(queue.length()).toBe(3)
  expect(await afterIterations(3)).toEqual(expect.arrayContaining(['send first', 'send second', 'send other']))
  expect(queue.length()).toBe(0)
})

test('a request that was rejected while it waited gets no answer', async () => {
  const queue = await openBusyQueue()

  queue.add({ ...request('dropped'), decide: () => undefined })
  queue.add(request('first'))

  expect(await afterIterations()).toEqual(['decide first', 'send first'])
})
