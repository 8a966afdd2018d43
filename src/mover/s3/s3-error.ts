/** What an S3 server's refusals mean, each with the way out. */
import type { FailureCode } from '../../core/mover/contract.ts'
import { textOf } from '../../core/s3/xml.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { PassingError } from './backoff.ts'

const ACCESS = 'the credentials may not do this: give the Secret keys that may, or allow it in the policy of the bucket'

const REGION = 'set --region, which is the option region of the volume'

const UNKNOWN_KEY = 'the server does not know the access key'

/** By the code in the answer, which says more than the status. */
const BY_CODE: Readonly<Record<string, { code: FailureCode; wayOut: string }>> = {
  NoSuchBucket: { code: 'NotFound', wayOut: 'there is no such bucket: look at the source and at the endpoint' },
  NoSuchKey: {
    code: 'NotFound',
    wayOut: 'there is no such object; for everything below a prefix the source ends in a slash',
  },
  InvalidAccessKeyId: { code: 'AccessDenied', wayOut: UNKNOWN_KEY },
  // Versity's, with a 404.
  XAdminUserNotFound: { code: 'AccessDenied', wayOut: UNKNOWN_KEY },
  SignatureDoesNotMatch: { code: 'AccessDenied', wayOut: 'the secret key does not belong to the access key' },
  ExpiredToken: { code: 'AccessDenied', wayOut: 'the session token has expired: renew the Secret' },
  InvalidToken: { code: 'AccessDenied', wayOut: 'the session token is wrong: renew the Secret' },
  RequestTimeTooSkewed: { code: 'AccessDenied', wayOut: 'the clock of the node is wrong' },
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

/** Codes of a 400 that another attempt does not get. */
const PASSING_CODES = new Set(['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException', 'InternalError'])

/** The error that an answer means; `what` names the object. */
export function errorOfAnswer(what: string, { status, headers, text }: HttpResponse): PassingError | MoverError {
  const code = textOf(text, 'Code')
  const said = [`${status}`, code, textOf(text, 'Message')].filter(Boolean).join(' ').slice(0, 500)
  if (isPassing(status) || PASSING_CODES.has(code ?? '')) {
    return new PassingError(`${what}: ${said}`, { retryAfterMs: readRetryAfter(headers['retry-after']) })
  }
  const known = BY_CODE[code ?? ''] ?? BY_STATUS[status]
  if (known === undefined) return new MoverError('Rejected', `${what}: the server answers ${said}`)
  return new MoverError(known.code, `${what}: ${known.wayOut} (${said})`)
}

function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505)
}

/** Seconds, or a date. */
function readRetryAfter(header: string | undefined): number {
  if (header === undefined) return 0
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
