/** Converts error responses of S3 servers: whether a retry may succeed, and the remedy for the user. */
import type { FailureCode } from '../../core/mover/contract.ts'
import { textOf } from '../../core/s3/xml.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { RetryableError } from './backoff.ts'

const ACCESS = 'the credentials may not do this: give the Secret keys that may, or allow it in the policy of the bucket'

const REGION = 'set --region, which is the option region of the volume'

const UNKNOWN_KEY = 'the server does not know the access key'

/** The errors by code in the response. The code is more specific than the status. */
const BY_CODE: Readonly<Record<string, { code: FailureCode; wayOut: string }>> = {
  NoSuchBucket: { code: 'NotFound', wayOut: 'there is no such bucket: look at the source and at the endpoint' },
  NoSuchKey: {
    code: 'NotFound',
    wayOut: 'there is no such object; for everything below a prefix the source ends in a slash',
  },
  InvalidAccessKeyId: { code: 'AccessDenied', wayOut: UNKNOWN_KEY },
  // A code of Versity S3 Gateway, with status 404.
  XAdminUserNotFound: { code: 'AccessDenied', wayOut: UNKNOWN_KEY },
  SignatureDoesNotMatch: { code: 'AccessDenied', wayOut: 'the secret key does not belong to the access key' },
  ExpiredToken: { code: 'AccessDenied', wayOut: 'the session token has expired: renew the Secret' },
  InvalidToken: { code: 'AccessDenied', wayOut: 'the session token is wrong: renew the Secret' },
  RequestTimeTooSkewed: { code: 'AccessDenied', wayOut: 'the clock of the node is wrong: synchronize it' },
  AuthorizationHeaderMalformed: { code: 'Rejected', wayOut: `the bucket is in another region: ${REGION}` },
  PermanentRedirect: {
    code: 'Rejected',
    wayOut: `the bucket is in another region or at another endpoint: ${REGION}; or --endpoint, endpointURL of the volume`,
  },
  InvalidObjectState: { code: 'Rejected', wayOut: 'the object is in an archive: restore it first' },
}

const BY_STATUS: Readonly<Record<number, { code: FailureCode; wayOut: string }>> = {
  401: { code: 'AccessDenied', wayOut: ACCESS },
  403: { code: 'AccessDenied', wayOut: ACCESS },
  404: { code: 'NotFound', wayOut: 'there is no such object or bucket: look at the source and at the endpoint' },
  412: { code: 'SourceChanged', wayOut: 'the object has changed since it was listed' },
  416: { code: 'SourceChanged', wayOut: 'the object has become shorter since it was listed' },
}

/** Codes after which a retry may succeed, with any status. */
const RETRYABLE_CODES = new Set(['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException', 'InternalError'])

/** Returns the error for a response of status 300 or above; `what` names the object. */
export function errorOfResponse(what: string, { status, headers, text }: HttpResponse): RetryableError | MoverError {
  const code = textOf(text, 'Code')
  const said = [`${status}`, code, textOf(text, 'Message')].filter(Boolean).join(' ').slice(0, 500)
  if (isRetryable(status) || RETRYABLE_CODES.has(code ?? '')) {
    return new RetryableError(`${what}: ${said}`, { retryAfterMs: readRetryAfter(headers['retry-after']) })
  }
  const known = BY_CODE[code ?? ''] ?? BY_STATUS[status]
  if (known === undefined) return new MoverError('Rejected', `${what}: the server answers ${said}`)
  return new MoverError(known.code, `${what}: ${known.wayOut} (${said})`)
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505)
}

/** Parses Retry-After, in seconds or as a date, to milliseconds. */
function readRetryAfter(header: string | undefined): number {
  if (header === undefined) return 0
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
