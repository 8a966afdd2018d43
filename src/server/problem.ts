/** Problems: why a request gets no decision, as HTTP responses with one JSON shape. */
import { printable } from '../base/printable.ts'

export interface Problem {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  /** The limit of the server that the request exceeds. The metric of rejected requests counts it. */
  readonly limit?: ShedLimit
}

/** A limit for all requests together. At the limit, the server rejects requests that it could decide otherwise. */
export type ShedLimit = 'bytes' | 'in-flight'

/** kube-apiserver retries within the timeout of its call. To close the connection frees the bytes of the request. */
const RETRY_HEADERS: Readonly<Record<ShedLimit, Readonly<Record<string, string>>>> = {
  'in-flight': { 'retry-after': '1' },
  bytes: { 'retry-after': '1', connection: 'close' },
}

/** Returns the problem of a request that exceeds a limit of the server. */
export function busy(limit: ShedLimit, message: string): Problem {
  return { status: 503, message, headers: RETRY_HEADERS[limit], limit }
}

/** A problem that is thrown. */
export class RequestProblem extends Error implements Problem {
  override name = 'RequestProblem'
  readonly status: number
  /** The uid of the review, if it was readable. */
  readonly uid: string | undefined
  constructor(status: number, message: string, uid?: string) {
    super(message)
    this.status = status
    this.uid = uid
  }
}

/** The byte budget dropped a request before its body was complete. */
export class BusyProblem extends RequestProblem {
  override name = 'BusyProblem'
  readonly limit = 'bytes'
  readonly headers = RETRY_HEADERS.bytes
  constructor(message: string) {
    super(503, message)
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Returns the body of a response that is not an AdmissionReview. The message may contain text of the caller, such as names of fields.
 *
 * @param more further fields of the problem, which are printable
 */
export function problemBody(status: number, message: string, more: object = {}): string {
  return `${JSON.stringify({ error: { status, message: printable(message), ...more } })}\n`
}
