import { expect, test } from 'vitest'
import { RetryableError } from '../http/backoff.ts'
import { errorOfResponse, needsCustomerKey } from './s3-error.ts'

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

/** `retried` is an error after which the same request is sent again. */
test.each([
  { status: 400, code: 'BadDigest', want: 'ChecksumMismatch' },
  { status: 400, code: 'XAmzContentSHA256Mismatch', want: 'ChecksumMismatch' },
  { status: 400, code: 'IncompleteBody', want: 'retried' },
  { status: 400, code: 'InvalidPart', want: 'Rejected' },
  // The status is older than the error in its body.
  { status: 200, code: 'InternalError', want: 'retried' },
  { status: 200, code: 'AnyOther', want: 'retried' },
  { status: 200, code: 'PreconditionFailed', want: 'SourceChanged' },
  { status: 200, code: 'AccessDenied', want: 'AccessDenied' },
])('status $status with the code $code is $want', ({ status, code, want }) => {
  const text = `<Error><Code>${code}</Code><Message>no</Message></Error>`
  const error = errorOfResponse('s3://lake/a', { status, headers: {}, text })

  expect(error instanceof RetryableError ? 'retried' : error.code).toBe(want)
})
