import { describe, expect, test } from 'vitest'
import { settle, TestClock } from '../../base/time/clock.fake.ts'
import { CredentialsError, RequestError, readApiError } from './api-error.ts'
import { repeated } from './repeated.ts'

const status = (code: number, retryAfter?: string) => readApiError('GET /', code, '', retryAfter)

/** Runs a request that fails with these errors, and then succeeds. Returns its result, and the waits. */
async function run(errors: readonly Error[], patienceMs?: number) {
  const clock = new TestClock()
  const waits: number[] = []
  const left = [...errors]
  const request = async () => {
    const error = left.shift()
    if (error) throw error
    return 'done'
  }
  const result = repeated(request, {
    clock,
    signal: new AbortController().signal,
    onRetry: (_error, retryInMs) => waits.push(retryInMs),
    ...(patienceMs !== undefined && { patienceMs }),
  }).catch((error: unknown) => error)
  for (let i = 0; i < errors.length; i++) {
    await settle()
    clock.advance(clock.waits[0] ?? 0)
  }
  return { result: await result, waits }
}

describe('a request is repeated', () => {
  test.each([
    { name: 'without a response', error: new RequestError('GET /: connect ECONNREFUSED') },
    { name: 'after overload', error: status(429) },
    { name: 'behind a proxy without a server', error: status(502) },
    { name: 'while the server starts', error: status(503) },
    { name: 'after a timeout of a proxy', error: status(504) },
  ])('$name, after growing waits', async ({ error }) => {
    const errors = Array.from({ length: 8 }, () => error)
    expect(await run(errors)).toEqual({
      result: 'done',
      waits: [187.5, 375, 750, 1500, 3000, 3750, 3750, 3750],
    })
  })

  test('after the time that the server names', async () => {
    expect(await run([status(429, '7')])).toEqual({ result: 'done', waits: [7000] })
  })

  test.each(['86400', '2592000'])(
    'after five minutes at the latest, when the server names %i seconds',
    async (seconds) => {
      expect(await run([status(503, seconds)])).toEqual({ result: 'done', waits: [300_000] })
    },
  )
})

describe('a request is not repeated', () => {
  test.each([400, 401, 403, 404, 409, 422, 500])('after HTTP %i', async (code) => {
    const error = status(code)
    expect(await run([error])).toEqual({ result: error, waits: [] })
  })

  test('without credentials', async () => {
    const error = new RequestError('GET /: no token', { cause: new CredentialsError('no token') })
    expect(await run([error])).toEqual({ result: error, waits: [] })
  })

  test('longer than the patience', async () => {
    const error = status(503)
    expect(await run([error, error, error, error], 1000)).toEqual({ result: error, waits: [187.5, 375] })
  })
})

test('an abort ends the wait', async () => {
  const abort = new AbortController()
  const clock = new TestClock()
  const running = repeated(() => Promise.reject(status(503)), { clock, signal: abort.signal })
  await settle()
  abort.abort(new Error('stopped'))
  await expect(running).rejects.toThrow('stopped')
  expect(clock.waits).toEqual([])
})
