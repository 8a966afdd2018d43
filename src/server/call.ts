/** Serves one call, from the text of its body to an answer that is counted and logged: the catch-all for what is thrown. */
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { hasTooManyValues, MAX_JSON_VALUES } from './json-size.ts'
import { problemBody, RequestProblem } from './problem.ts'

export interface CallDependencies {
  log: Logger
  metrics: Metrics
}

export interface Answer {
  status: number
  body: string
}

/** A protocol: what comes in, what goes out, and how it is told. */
interface CallDefinition<Request> {
  /** In log lines and metrics. */
  name: string
  /** What the body is, for those who send none: `an AdmissionReview`. */
  takes: string
  /** The messages of the log lines. */
  told: { answered: string; refused: string; failed: string }
  /** From the parsed body to the request, or to what is wrong with it. */
  decode(parsed: unknown): { request: Request } | { error: string }
  /** Which request it was, for the log line of one that failed. */
  describe(request: Request): object
  /** Throws only when something is broken. */
  answer(request: Request): { body: string; decision: string; line: Record<string, unknown> }
}

/** A decision that takes longer, in ms, is logged as a warning and counted: a usual one takes a twentieth of a millisecond. */
const SLOW_MS = 100

/**
 * Serves one protocol.
 *
 * @returns a function from the text of a body to the answer. It throws nothing: bad input is a 4xx; a fault of ours is a 500, so that
 * the caller decides what follows (only a failed call is put to `failurePolicy`; a well-formed refusal always refuses).
 *
 * @param now a clock in milliseconds
 */
export function serveCalls<Request>(
  { name, takes, told, decode, describe, answer: answerTo }: CallDefinition<Request>,
  { metrics, ...dependencies }: CallDependencies,
  now: () => number = () => performance.now(),
): (body: string) => Answer {
  const log = dependencies.log.child({ webhook: name })
  const count = metrics.countCalls(name)

  function read(body: string): Request {
    if (body === '') throw new RequestProblem(400, `the body is empty; POST ${takes}`)
    if (hasTooManyValues(body)) throw new RequestProblem(413, `the body has more than ${MAX_JSON_VALUES} values`)
    let parsed: unknown
    try {
      parsed = JSON.parse(body)
    } catch (cause) {
      throw new RequestProblem(400, `the body is not JSON: ${(cause as Error).message}`)
    }
    const decoded = decode(parsed)
    if ('error' in decoded) throw new RequestProblem(400, decoded.error, uidIn(parsed))
    return decoded.request
  }

  /** Logging and counting must not undo a decision that was made. */
  function report(tell: () => void): void {
    try {
      tell()
    } catch {
      metrics.faults.labels(name).inc()
    }
  }

  function reportSlow(body: string, ms: number): void {
    if (ms < SLOW_MS) return
    metrics.slowReviews.labels(name).inc()
    log.warn({ characters: body.length, ms: rounded(ms) }, 'slow decision')
  }

  function refuse(error: unknown, request: Request | undefined, ms: number): Answer {
    const status = error instanceof RequestProblem ? error.status : 500
    const message = error instanceof Error ? error.message : String(error)
    report(() => {
      count({ status, seconds: ms / 1000 })
      if (status === 500) metrics.faults.labels(name).inc()
      const uid = error instanceof RequestProblem ? error.uid : undefined
      const line = { ...(uid && { uid }), ...(request && describe(request)), status, ms: rounded(ms) }
      if (status === 500) log.error({ ...line, err: error }, told.failed)
      else log.warn({ ...line, reason: message }, told.refused)
    })
    return { status, body: problemBody(status, status === 500 ? `lodestone could not decide: ${message}` : message) }
  }

  return (body) => {
    const started = now()
    let request: Request | undefined
    try {
      request = read(body)
      const { body: text, decision, line } = answerTo(request)
      const ms = now() - started
      report(() => {
        line['ms'] = rounded(ms)
        log.info(line, told.answered)
        count({ status: 200, decision, seconds: ms / 1000 })
        reportSlow(body, ms)
      })
      return { status: 200, body: text }
    } catch (error) {
      return refuse(error, request, now() - started)
    }
  }
}

/** The uid of what is no proper request, so that its log line can be found; cut, since anything may stand there. */
function uidIn(parsed: unknown): string | undefined {
  const uid = (parsed as { request?: { uid?: unknown } } | null)?.request?.uid
  return typeof uid === 'string' ? uid.slice(0, 64) : undefined
}

/** Milliseconds with three decimals. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
