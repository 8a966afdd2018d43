/** Classifies failed requests by the codes of the error and its causes, or by the status, never by the message. */
import { parseRetryAfter } from '../../base/net/retry-after.ts'
import { isTransient } from '../../core/data-source/error-code.ts'
import { LocalityError, type LocalityErrorCode } from '../locality.ts'

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'UND_ERR_SOCKET',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])
const TIMEOUT = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
/**
 * Codes of Node and OpenSSL for a server without a trusted certificate or without TLS. Only a change of the configuration repairs these.
 */
const UNTRUSTED =
  /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$)/
const INVALID_RESPONSE =
  /^(?:HPE_|UND_ERR_HEADERS_OVERFLOW$|UND_ERR_RES_CONTENT_LENGTH_MISMATCH$|UND_ERR_RES_EXCEEDED_MAX_SIZE$)/

/** Converts the error of a request to a `LocalityError`. `what` names the request, without secrets. */
export function errorOfFailure(what: string, error: unknown): LocalityError {
  if (error instanceof LocalityError) return error
  const codes = errorCodes(error)
  for (const code of codes) {
    const meaning = codeMeaning(code)
    if (meaning !== undefined) return new LocalityError(meaning, `${what}: ${code}`, { cause: error })
  }
  return new LocalityError('unreachable', `${what}: ${codes[0] ?? 'failed'}`, { cause: error })
}

function codeMeaning(code: string): LocalityErrorCode | undefined {
  if (TIMEOUT.has(code)) return 'timeout'
  // For example, a credential with a line break, which is invalid in a header.
  if (code === 'UND_ERR_INVALID_ARG' || UNTRUSTED.test(code)) return 'rejected'
  if (INVALID_RESPONSE.test(code)) return 'invalidResponse'
  return UNREACHABLE.has(code) ? 'unreachable' : undefined
}

/** The codes of an error, of its causes and of its aggregated errors: a host with two addresses fails once for each. */
function errorCodes(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 8) return []
  const own = (error as { code?: unknown }).code
  const gathered = error instanceof AggregateError ? error.errors.flatMap((one) => errorCodes(one, depth + 1)) : []
  return [...errorCodes(error.cause, depth + 1), ...gathered, ...(typeof own === 'string' ? [own] : [])]
}

/**
 * Converts an unsuccessful response to a `LocalityError`. `detail` names the error of the system, such as the class of an exception. `now` in ms
 * since the epoch.
 */
export function errorOfStatus(
  { what, status, headers }: { what: string; status: number; headers: Readonly<Record<string, string>> },
  now: number,
  detail?: string,
): LocalityError {
  const message = `${what}: HTTP ${status}${detail === undefined ? '' : ` (${detail})`}`
  const code = codeOfStatus(status)
  const retryAfterMs = isTransient(code) ? parseRetryAfter(headers['retry-after'], now) : undefined
  return new LocalityError(code, message, retryAfterMs === undefined ? {} : { retryAfterMs })
}

function codeOfStatus(status: number): LocalityErrorCode {
  switch (status) {
    case 401:
    case 403:
    case 407:
    case 419: // AuthenticationTimeout, which some Iceberg catalogs answer for an expired token
      return 'unauthorized'
    case 408:
      return 'unavailable'
    case 429:
      return 'throttled'
    case 500: // Nessie, for a warehouse that it does not have
      return 'serverError'
    default:
      if (status >= 500) return 'unavailable'
      return status >= 300 ? 'rejected' : 'invalidResponse'
  }
}
