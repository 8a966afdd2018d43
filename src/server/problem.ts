/** Errors of callers as HTTP responses with one JSON shape. */
import { printable } from '../base/printable.ts'

export class RequestProblem extends Error {
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

/** A limit of the server is reached: the request is rejected and its connection is closed. */
export class BusyProblem extends RequestProblem {
  override name = 'BusyProblem'
  constructor(message: string) {
    super(503, message)
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Returns the body of a response that is not an AdmissionReview. The message may contain text of the caller, such as names of fields. */
export function problemBody(status: number, message: string): string {
  return `${JSON.stringify({ error: { status, message: printable(message) } })}\n`
}
