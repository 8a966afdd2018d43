/** Converts error responses of servers: whether a retry may succeed, and the remedy for the user. Each protocol has a table of its codes. */
import { firstCharacters } from '../../base/first-characters.ts'
import { defined } from '../../base/json.ts'
import { parseRetryAfter } from '../../base/net/retry-after.ts'
import type { FailureCode } from '../../core/mover-contract/contract.ts'
import { MoverError } from '../mover-error.ts'
import { RetryableError } from './backoff.ts'
import type { HttpResponse } from './messages.ts'

export type RefusalError = RetryableError | MoverError

/** The server does not implement a part of the request, such as a header. */
export class NotImplementedError extends MoverError {}

/** The server refuses a part of the request, perhaps a header that it does not know. */
export class InvalidArgumentError extends MoverError {}

/** The server does not know the storage class in the request. */
export class InvalidStorageClassError extends MoverError {}

/** The metadata in the request is larger than the server takes. */
export class MetadataTooLargeError extends MoverError {}

/** The errors by whose class a caller sends the request again without the refused part, by their codes. */
const REFUSED_PARTS: Readonly<Record<string, typeof MoverError>> = {
  InvalidArgument: InvalidArgumentError,
  InvalidStorageClass: InvalidStorageClassError,
  MetadataTooLarge: MetadataTooLargeError,
}

interface KnownError {
  code: FailureCode
  message: string
}

/** The errors of a protocol. */
export interface ErrorTable {
  /** By the code in the response, which is more specific than the status. */
  byCode: Readonly<Record<string, KnownError>>
  byStatus: Readonly<Record<number, KnownError>>
  /** The codes after which a retry may succeed, with any status. */
  retryable: ReadonlySet<string>
  /** The remedy after a redirect. */
  redirected: string
}

/** In characters, for a message. */
const MAX_LOCATION = 300
const MAX_DETAILS = 500

/**
 * Returns the error for a response of status 300 or above. A lower status was sent before the server did the work: without a known code, it
 * may succeed next time.
 *
 * @param what names the object
 * @param reason the code and the message in the response, if it has them
 */
export function serverError(
  table: ErrorTable,
  what: string,
  { status, headers }: HttpResponse,
  { code = '', message }: { code?: string | undefined; message?: string | undefined },
): RefusalError {
  const details = firstCharacters([`${status}`, code, message].filter(Boolean).join(' '), MAX_DETAILS)
  const byCode = Object.hasOwn(table.byCode, code) ? table.byCode[code] : undefined
  if (isRetryable(status) || table.retryable.has(code) || (status < 300 && byCode === undefined)) {
    const retryAfterMs = parseRetryAfter(headers['retry-after'], Date.now())
    return new RetryableError(`${what}: ${details}`, defined({ retryAfterMs }))
  }
  if (isRedirect(status) || (byCode === undefined && isOtherRedirect(status, headers))) {
    // The credentials are for this endpoint only. The query of the new location may contain one.
    const to = firstCharacters(headers['location']?.replace(/\?.*/s, '') ?? 'nowhere', MAX_LOCATION)
    return new MoverError('Rejected', `${what}: the server redirects to ${to}; ${table.redirected} (${details})`)
  }
  if (status === 501 || code === 'NotImplemented')
    return new NotImplementedError('Rejected', `${what}: the server answers ${details}`)
  const known = byCode ?? table.byStatus[status]
  if (known === undefined) {
    const Refusal = (Object.hasOwn(REFUSED_PARTS, code) ? REFUSED_PARTS[code] : undefined) ?? MoverError
    return new Refusal('Rejected', `${what}: the server answers ${details}`)
  }
  return new MoverError(known.code, `${what}: ${known.message} (${details})`)
}

/** Whether a status redirects the same request to another URL. */
export function isRedirect(status: number): boolean {
  return status === 307 || status === 308
}

/** Whether a response redirects with a status that may change the method, as proxies do. It is not followed. */
function isOtherRedirect(status: number, { location }: HttpResponse['headers']): boolean {
  return location !== undefined && status >= 301 && status <= 303
}

function isRetryable(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 505)
}
