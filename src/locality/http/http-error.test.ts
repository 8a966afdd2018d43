/** Tests the classification of failures: by code, anywhere in the chain of causes, and by status. */
import { expect, test } from 'vitest'
import { LocalityError } from '../locality.ts'
import { errorOfFailure, errorOfStatus } from './http-error.ts'

const coded = (code: string) => Object.assign(new Error('timeout refused ENOTFOUND'), { code })

test.each([
  { name: 'a refused connection', error: coded('ECONNREFUSED'), want: 'unreachable' },
  { name: 'an unknown host', error: coded('ENOTFOUND'), want: 'unreachable' },
  { name: 'a cause', error: new TypeError('failed', { cause: coded('ETIMEDOUT') }), want: 'timeout' },
  {
    name: 'the cause of a cause',
    error: new Error('a', { cause: new Error('b', { cause: coded('UND_ERR_CONNECT_TIMEOUT') }) }),
    want: 'timeout',
  },
  {
    name: 'one of several addresses',
    error: new Error('a', { cause: new AggregateError([coded('EHOSTUNREACH'), coded('ECONNREFUSED')]) }),
    want: 'unreachable',
  },
  { name: 'an unknown authority', error: coded('SELF_SIGNED_CERT_IN_CHAIN'), want: 'rejected' },
  { name: 'another host name', error: coded('ERR_TLS_CERT_ALTNAME_INVALID'), want: 'rejected' },
  { name: 'a protocol other than HTTP', error: coded('HPE_INVALID_CONSTANT'), want: 'invalidResponse' },
  { name: 'a message without a code', error: new Error('connect ETIMEDOUT'), want: 'unreachable' },
])('$name: $want', ({ error, want }) => {
  const made = errorOfFailure('GET http://h/p', error)
  expect(made).toMatchObject({ code: want, cause: error, message: expect.stringMatching(/^GET http:\/\/h\/p: /) })
  expect(made.message).not.toContain('refused')
})

test('a LocalityError is returned unchanged', () => {
  const error = new LocalityError('invalidResponse', 'x')
  expect(errorOfFailure('GET http://h/', error)).toBe(error)
})

test('only errors that may pass have a Retry-After', () => {
  const headers = { 'retry-after': '9' }
  const of = (status: number) => errorOfStatus({ what: 'GET http://h/', status, headers }, 0, 'Detail')
  expect(of(503)).toMatchObject({
    code: 'unavailable',
    retryAfterMs: 9000,
    message: 'GET http://h/: HTTP 503 (Detail)',
  })
  expect(of(404)).toMatchObject({ code: 'rejected', retryAfterMs: undefined })
  expect(of(408)).toMatchObject({ code: 'unavailable' })
  expect(of(500)).toMatchObject({ code: 'serverError', retryAfterMs: 9000 })
  expect(of(200)).toMatchObject({ code: 'invalidResponse' })
})
