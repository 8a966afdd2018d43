/** Converts error responses of S3 servers: whether a retry may succeed, and the remedy for the user. */
import type { FailureCode } from '../../core/mover/contract.ts'
import { textOf } from '../../core/s3/xml.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { RetryableError } from './backoff.ts'
import { isRedirect } from './redirect.ts'

const ACCESS =
  'the credentials do not allow this request; use other keys in the Secret, or allow it in the policy of the bucket'

const REGION = 'set --region, which is the option region of the volume'

const UNKNOWN_KEY = 'the server does not know the access key'

/** The errors by code in the response. The code is more specific than the status. */
const BY_CODE: Readonly<Record<string, { code: FailureCode; message: string }>> = {
  NoSuchBucket: { code: 'NotFound', message: 'the bucket does not exist; check the source and the endpoint' },
  NoSuchKey: {
    code: 'NotFound',
    message: 'the object does not exist; the source of a prefix must end in a slash',
  },
  InvalidAccessKeyId: { code: 'AccessDenied', message: UNKNOWN_KEY },
  // A code of Versity S3 Gateway, with status 404.
  XAdminUserNotFound: { code: 'AccessDenied', message: UNKNOWN_KEY },
  SignatureDoesNotMatch: { code: 'AccessDenied', message: 'the secret key does not belong to the access key' },
  ExpiredToken: { code: 'AccessDenied', message: 'the session token has expired; renew the Secret' },
  InvalidToken: { code: 'AccessDenied', message: 'the session token is invalid; renew the Secret' },
  RequestTimeTooSkewed: { code: 'AccessDenied', message: 'the clock of the node is wrong; synchronize it' },
  AuthorizationHeaderMalformed: { code: 'Rejected', message: `the bucket is in another region; ${REGION}` },
  PermanentRedirect: {
    code: 'Rejected',
    message: `the bucket is in another region or at another endpoint; ${REGION}, or --endpoint, which is endpointURL of the volume`,
  },
  InvalidObjectState: { code: 'Rejected', message: 'the object is archived; restore it first' },
}

const BY_STATUS: Readonly<Record<number, { code: FailureCode; message: string }>> = {
  401: { code: 'AccessDenied', message: ACCESS },
  403: { code: 'AccessDenied', message: ACCESS },
  404: { code: 'NotFound', message: 'the object or bucket does not exist; check the source and the endpoint' },
  412: { code: 'SourceChanged', message: 'the object has changed since it was listed' },
  416: { code: 'SourceChanged', message: 'the object has become shorter since it was listed' },
}

/** Codes after which a retry may succeed, with any status. */
const RETRYABLE_CODES = new Set(['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException', 'InternalError'])

/** In characters, for a message. */
const MAX_LOCATION = 300

/** Returns the error for a response of status 300 or above; `what` names the object. */
export function errorOfResponse(what: string, { status, headers, text }: HttpResponse): RetryableError | MoverError {
  const code = textOf(text, 'Code')
  const details = [`${status}`, code, textOf(text, 'Message')].filter(Boolean).join(' ').slice(0, 500)
  if (isRetryable(status) || RETRYABLE_CODES.has(code ?? '')) {
    return new RetryableError(`${what}: ${details}`, { retryAfterMs: readRetryAfter(headers['retry-after']) })
  }
  const known = BY_CODE[code ?? ''] ?? BY_STATUS[status]
  if (isRedirect(status)) {
    // The credentials are for this endpoint only.
    const to = headers['location']?.slice(0, MAX_LOCATION) ?? 'nowhere'
    return new MoverError(
      'Rejected',
      `${what}: the server redirects to ${to}; check the endpoint and the region (${details})`,
    )
  }
  if (known === undefined) return new MoverError('Rejected', `${what}: the server answers ${details}`)
  return new MoverError(known.code, `${what}: ${known.message} (${details})`)
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
