import { expect, test } from 'vitest'
import { type BatchedRequest, LARGE_BODY_BYTES, openRequestBatches } from './request-batch.ts'

let told: string[] = []

function request(name: string, { deciding = () => {}, sending = () => {}, size = 100 } = {}): BatchedRequest {
  return {
    size,
    fail(error) {
      told.push(`fail ${name}: ${(error as Error).message}`)
    },
    decide() {
      told.push(`decide ${name}`)
      deciding()
      return { status: 200, body: name }
    },
    send({ body }) {
      told.push(`send ${body}`)
      sending()
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

/** Opens batches; the batch before had two requests. */
async function openBusyBatches(now = () => 0): Promise<(request: BatchedRequest) => void> {
  const take = openRequestBatches(now)
  take(request('before'))
  take(request('beside'))
  await afterIterations()
  return take
}

test('a single request is answered immediately', async () => {
  const take = openRequestBatches(() => 0)

  take(request('first'))

  expect(told).toEqual(['decide first', 'send first'])
  expect(await afterIterations()).toHaveLength(2)
})

test('of requests together after a single one, only the first is answered separately', async () => {
  const take = openRequestBatches(() => 0)

  for (const name of ['first', 'second', 'third']) take(request(name))

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
  const take = await openBusyBatches()

  take(request('first'))
  expect(told).toEqual([])
  expect(await afterIterations()).toEqual(['decide first', 'send first'])

  take(request('second'))
  expect(told).toEqual(['decide second', 'send second'])
  expect(await afterIterations()).toHaveLength(2)
})

test('requests that arrive together are decided first, and answered in order', async () => {
  const take = await openBusyBatches()

  take(request('first'))
  take(request('second'))

  expect(told).toEqual([])
  expect(await afterIterations()).toEqual(['decide first', 'decide second', 'send first', 'send second'])
})

test('a request that arrives during the sending of responses is in the next batch', async () => {
  const take = await openBusyBatches()

  take(request('first', { sending: () => take(request('second')) }))

  expect(await afterIterations(2)).toEqual(['decide first', 'send first', 'decide second', 'send second'])
})

test('a slow decision delays only the responses of the requests before it', async () => {
  let now = 0
  const take = await openBusyBatches(() => now)
  const long = () => {
    now += 50
  }

  take(request('small'))
  take(request('huge', { deciding: long }))
  take(request('late'))

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
    want: ['decide first', 'decide second', 'fail second: a bug', 'decide third', 'send first', 'send third'],
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
      'fail second: closed',
      'send third',
    ],
  },
])('$name', async ({ given, want }) => {
  const take = await openBusyBatches()

  take(request('first'))
  take(request('second', given))
  take(request('third'))

  expect(await afterIterations()).toEqual(want)
})

test('large requests are decided singly, after all others, and delay no new request', async () => {
  const take = await openBusyBatches()

  take(request('large 1', { size: LARGE_BODY_BYTES + 1, sending: () => take(request('small 2')) }))
  take(request('large 2', { size: LARGE_BODY_BYTES + 1 }))
  take(request('small 1'))

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
