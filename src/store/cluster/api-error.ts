/** Parses error responses of an API server into an `ApiError` with status, reason and the object of the error. */
import { firstCharacters } from '../../base/first-characters.ts'
import { defined, isObject, parseJson } from '../../base/json.ts'
import { parseRetryAfter } from '../../base/net/retry-after.ts'
import { printable } from '../../base/printable.ts'

interface ApiErrorInput {
  /** HTTP status, or the `code` of an ERROR event. */
  status: number
  /** Machine-readable reason of the Status object (`AlreadyExists`, `Expired`…); empty when there is none. */
  reason: string
  message: string
  /** The delay in the header Retry-After or in the Status. */
  retryAfterMs?: number | undefined
  details?: StatusDetails | undefined
}

/** The object that a Status is about; `kind` is the plural name of its resource. */
export interface StatusDetails {
  kind?: string
  name?: string
  /** The machine-readable causes, for example `NamespaceTerminating`. */
  causes?: readonly string[]
}

export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly reason: string
  readonly retryAfterMs: number | undefined
  /** Empty when the Status names no object. */
  readonly details: StatusDetails

  constructor(input: ApiErrorInput) {
    super(printable(input.message))
    this.status = input.status
    this.reason = input.reason
    this.retryAfterMs = input.retryAfterMs
    this.details = input.details ?? {}
  }
}

/** The server ended a watch by an ERROR event. */
export class WatchErrorEvent extends ApiError {
  override name = 'WatchErrorEvent'
}

/** No complete response: the connection failed, the time ran out, or the body is not JSON. The message is one line, with the request. */
export class RequestError extends Error {
  override name = 'RequestError'
}

/** The credentials cannot be read: a missing file, or a credential plugin that fails. The message has no line breaks. */
export class CredentialsError extends Error {
  override name = 'CredentialsError'
}

/** Whether the user lacks the right of a request, or a policy rejects it. */
export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403
}

/** Whether a list or watch position has expired: HTTP 410, or an ERROR event with that code or reason. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
}

/** The longest Retry-After that is honored. A proxy may send the hours of its maintenance, and a timer has a limit of 24 days. */
const MAX_RETRY_AFTER_MS = 300_000

/** Returns how long the server asks to wait before a retry, in ms: at most five minutes, and 0 without a time. */
export function askedDelayMs(error: unknown): number {
  return error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
}

/** Whether the server would reject the same request again. Errors of credentials, timeouts and overload may pass. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status)
}

/**
 * Parses an error response. The message is that of the Kubernetes Status in the body, or else the text of the body. `what` (method and
 * path) begins the message. `retryAfter` is the header, at the time `nowMs`.
 */
export function readApiError(
  what: string,
  status: number,
  body: string,
  retryAfter?: string,
  nowMs = Date.now(),
): ApiError {
  // A proxy may respond with HTML. Then its text is the message.
  const parsed = readStatus(parseJson(body))
  const message = parsed.message ?? (firstCharacters(body.trim(), 300) || 'no further explanation')
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs) ?? parsed.retryAfterMs
  return new ApiError({
    status,
    reason: parsed.reason ?? '',
    message: `${what}: HTTP ${status}: ${message}`,
    retryAfterMs,
    details: parsed.details,
  })
}

/** Parses the Status object of an ERROR event of a watch. */
export function readErrorEvent(what: string, status: unknown): WatchErrorEvent {
  const fields = readStatus(status)
  return new WatchErrorEvent({
    status: fields.code ?? 0,
    reason: fields.reason ?? '',
    message: `${what}: ${fields.message ?? 'an ERROR event without a message'}`,
    retryAfterMs: fields.retryAfterMs,
  })
}

interface StatusFields {
  code?: number
  reason?: string
  message?: string
  retryAfterMs?: number
  details?: StatusDetails
}

function readStatus(value: unknown): StatusFields {
  const { code, reason, message, details } = isObject(value) ? value : {}
  const { retryAfterSeconds: seconds, kind, name, causes } = isObject(details) ? details : {}
  return defined({
    code: typeof code === 'number' ? code : undefined,
    reason: typeof reason === 'string' ? reason : undefined,
    message: (typeof message === 'string' && message) || undefined,
    retryAfterMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined,
    details: defined({
      kind: typeof kind === 'string' ? kind : undefined,
      name: typeof name === 'string' ? name : undefined,
      causes: Array.isArray(causes) ? causes.flatMap(causeReasons) : undefined,
    }),
  })
}

function causeReasons(cause: unknown): string[] {
  return isObject(cause) && typeof cause['reason'] === 'string' ? [cause['reason']] : []
}
