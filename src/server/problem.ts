/** What a caller did wrong, as an HTTP answer: one JSON shape for all of them. */

export class RequestProblem extends Error {
  override name = 'RequestProblem'
  readonly status: number
  /** The review's uid, where it could be read. */
  readonly uid: string | undefined
  constructor(status: number, message: string, uid?: string) {
    super(message)
    this.status = status
    this.uid = uid
  }
}

/** The caller did nothing wrong: the server has no room for the request now, and its connection is closed. */
export class BusyProblem extends RequestProblem {
  override name = 'BusyProblem'
  constructor(message: string) {
    super(503, message)
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** The body of every answer that is not an AdmissionReview. */
export function problemBody(status: number, message: string): string {
  return `${JSON.stringify({ error: { status, message } })}\n`
}
