import { expect, test } from 'vitest'
import { needsCustomerKey } from './s3-error.ts'

const stored = 'The object was stored using a form of Server Side Encryption. The correct parameters must be provided.'

test.each([
  { status: 400, message: stored, want: true },
  {
    status: 400,
    message: 'Requests specifying Server Side Encryption with Customer provided keys must provide the key.',
    want: true,
  },
  { status: 400, message: 'Missing X-Amz-Server-Side-Encryption-Customer-Key header', want: true },
  {
    status: 400,
    message: 'Requests specifying Server Side Encryption with AWS KMS managed keys require Signature Version 4.',
    want: false,
  },
  { status: 400, message: 'The provided token has expired.', want: false },
  { status: 400, message: undefined, want: false },
  { status: 403, message: stored, want: false },
])('status $status with the message $message needs a key of the customer: $want', ({ status, message, want }) => {
  expect(needsCustomerKey(status, message)).toBe(want)
})
