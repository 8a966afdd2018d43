import { describe, expect, test } from 'vitest'
import { parseRequestHeaders, requestHeaderFault } from './request-headers.ts'

describe('request headers of a volume', () => {
  test('have names in lower case', () => {
    expect(parseRequestHeaders('{"X-Tenant": "sales"}')).toEqual({ headers: { 'x-tenant': 'sales' } })
  })

  test.each([
    { text: 'x-tenant: sales', want: 'it is not a JSON object of texts' },
    { text: '["x"]', want: 'it is not a JSON object of texts' },
    { text: '{"a b": "1"}', want: 'a name is not the name of a header' },
    { text: '{"x-a": 1}', want: 'the value of x-a is not printable ASCII of at most 1024 characters' },
    {
      text: '{"x-a": "1\\r\\nhost: evil"}',
      want: 'the value of x-a is not printable ASCII of at most 1024 characters',
    },
    { text: '{"Host": "evil"}', want: 'Host is set by the mover' },
    { text: '{"Transfer-Encoding": "chunked"}', want: 'Transfer-Encoding is set by the mover' },
    { text: '{"If-None-Match": "*"}', want: 'If-None-Match is set by the mover' },
    { text: '{"X-Amz-Security-Token": "t"}', want: 'X-Amz-Security-Token is set by the mover' },
    {
      text: '{"X-Amz-Server-Side-Encryption-Customer-Key": "a2V5"}',
      want: 'X-Amz-Server-Side-Encryption-Customer-Key belongs to a key of the customer (SSE-C), which movers do not support',
    },
    {
      text: JSON.stringify(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`x-${i}`, '1']))),
      want: 'it has more than 16 headers',
    },
  ])('are rejected: $want', ({ text, want }) => {
    expect(parseRequestHeaders(text)).toEqual({ fault: want })
  })

  test('may not be empty', () => {
    expect(requestHeaderFault('x-a', '')).toBeDefined()
  })
})
