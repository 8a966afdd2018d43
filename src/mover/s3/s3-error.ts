/** The errors of S3 servers, with the remedy for the user. */
import { elementText } from '../../base/xml.ts'
import type { HttpResponse } from '../http/messages.ts'
import { type ErrorTable, type RefusalError, serverError } from '../http/server-error.ts'

const ACCESS =
  'the credentials do not allow this request; use other keys in the Secret, or allow it in the policy of the bucket'

const REGION = 'set --region, which is the option region of the volume'

const OTHER_REGION = {
  code: 'Rejected',
  message: `the bucket is in another region or at another endpoint; ${REGION}, or --endpoint, which is endpointURL of the volume`,
} as const

const UNKNOWN_KEY = 'the server does not know the access key'

/** Servers have no code of their own for objects with SSE-C. */
const CUSTOMER_KEY = 'SSE-C'

const DENIED = { code: 'AccessDenied', message: ACCESS } as const
const CHANGED = { code: 'SourceChanged', message: 'the object has changed since it was listed' } as const
const DAMAGED = { code: 'ChecksumMismatch', message: 'the data was damaged in transit' } as const

const BY_CODE: ErrorTable['byCode'] = {
  AccessDenied: DENIED,
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
  RequestTimeTooSkewed: { code: 'ClockSkew', message: 'the clock of the node is wrong; synchronize it' },
  AuthorizationHeaderMalformed: { code: 'Rejected', message: `the bucket is in another region; ${REGION}` },
  PermanentRedirect: OTHER_REGION,
  PreconditionFailed: CHANGED,
  BadDigest: DAMAGED,
  XAmzContentSHA256Mismatch: DAMAGED,
  ConditionalRequestConflict: { code: 'SourceChanged', message: 'another client writes the object at the same time' },
  // Also the answer to a repeated CompleteMultipartUpload whose first answer was lost.
  NoSuchUpload: { code: 'SourceChanged', message: 'the multipart upload has ended already' },
  KeyTooLongError: { code: 'UnsafeKey', message: 'the name of the file is too long for a key; rename it' },
  InvalidObjectState: { code: 'Rejected', message: 'the object is archived; restore it first' },
  [CUSTOMER_KEY]: {
    code: 'Rejected',
    message:
      'the object is encrypted with a key of the customer (SSE-C), and movers cannot read such objects; ' +
      'store it with another encryption, such as SSE-KMS, or leave it out with exclude',
  },
}

const BY_STATUS: ErrorTable['byStatus'] = {
  // The response to HEAD has no code.
  301: OTHER_REGION,
  401: DENIED,
  403: DENIED,
  404: { code: 'NotFound', message: 'the object or bucket does not exist; check the source and the endpoint' },
  412: CHANGED,
  416: { code: 'SourceChanged', message: 'the object has become shorter since it was listed' },
}

const TABLE: ErrorTable = {
  byCode: BY_CODE,
  byStatus: BY_STATUS,
  retryable: new Set([
    ...['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException', 'InternalError'],
    // The connection lost a part of the body.
    'IncompleteBody',
  ]),
  redirected: 'check the endpoint and the region',
}

/** Returns the error for a response of status 300 or above, or with an error in its body; `what` names the object. */
export function errorOfResponse(what: string, response: HttpResponse): RefusalError {
  const message = elementText(response.text, 'Message')
  const code = needsCustomerKey(response.status, message) ? CUSTOMER_KEY : elementText(response.text, 'Code')
  return serverError(TABLE, what, response, { code, message })
}

/** The messages of AWS and MinIO, of Ceph and SeaweedFS, and of OpenStack Swift. */
const NEEDS_KEY = /stored using a form of server.side.encryption|server.side.encryption.(?:with.)?customer/i

/** Whether an error of an object needs a key of the customer that encrypts it (SSE-C). Its code does not tell: servers use it for other errors too. */
export function needsCustomerKey(status: number, message: string | undefined): boolean {
  return status === 400 && message !== undefined && NEEDS_KEY.test(message)
}
