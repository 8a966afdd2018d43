import { describe, expect, test } from 'vitest'
import { isExpired, isRefused, readApiError, readErrorEvent } from './api-error.ts'

const now = Date.parse('2026-01-01T00:00:00Z')

describe('an error response', () => {
  test('of Kubernetes keeps its reason and names the request', () => {
    const body = JSON.stringify({ kind: 'Status', code: 409, reason: 'AlreadyExists', message: 'it exists' })
    const error = readApiError('POST /apis/x', 409, body)
    expect([error.status, error.reason, error.message]).toEqual([
      409,
      'AlreadyExists',
      'POST /apis/x: HTTP 409: it exists',
    ])
  })

  test.each([
    { name: 'HTML of a proxy', body: '<html>Bad Gateway</html>', want: 'GET /: HTTP 502: <html>Bad Gateway</html>' },
    { name: 'an empty body', body: '', want: 'GET /: HTTP 502: no further explanation' },
    { name: 'JSON that is not an object', body: '7', want: 'GET /: HTTP 502: 7' },
    { name: 'a long text', body: 'x'.repeat(9999), want: `GET /: HTTP 502: ${'x'.repeat(300)}` },
  ])('with $name has a message', ({ body, want }) => {
    expect(readApiError('GET /', 502, body).message).toBe(want)
  })

  test.each([
    { name: 'a date', header: 'Thu, 01 Jan 2026 00:00:30 GMT', body: '', want: 30_000 },
    { name: 'no header', header: undefined, body: '', want: undefined },
    { name: 'the Status', header: undefined, body: '{"details":{"retryAfterSeconds":4}}', want: 4000 },
    { name: 'both, of which the header counts', header: '1', body: '{"details":{"retryAfterSeconds":4}}', want: 1000 },
  ])('has the delay of $name', ({ header, body, want }) => {
    expect(readApiError('GET /', 429, body, header, now).retryAfterMs).toBe(want)
  })
})

test('an ERROR event has the code of its Status, even without other fields', () => {
  expect(isExpired(readErrorEvent('watch', { code: 410 }))).toBe(true)
  expect(isExpired(readErrorEvent('watch', { reason: 'Gone' }))).toBe(true)
  expect(isExpired(readErrorEvent('watch', { code: 500, reason: 'InternalError' }))).toBe(false)
  expect(readErrorEvent('watch', undefined).message).toBe('watch: an ERROR event without a message')
})

test.each([
  { status: 400, want: true },
  { status: 404, want: true },
  { status: 401, want: false },
  { status: 403, want: false },
  { status: 408, want: false },
  { status: 429, want: false },
  { status: 500, want: false },
])('$status is a rejection of the request: $want', ({ status, want }) => {
  expect(isRefused(readApiError('GET /', status, ''))).toBe(want)
})
