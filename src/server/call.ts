/** Serves one call: from the text of its body to a counted and logged answer. An unexpected error becomes HTTP 500. */
import { hasTooManyValues, isTooDeep, MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../base/json-size.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { problemBody, RequestProblem } from './problem.ts'

export interface CallDependencies {
  log: Logger
  metrics: Metrics
}

export interface Answer {
  status: number
  body: string
}

/**
 * Decides on the text of a body.
 *
 * @param traceparent the trace of the caller, for the log line
 */
export type Serve = (body: string, traceparent?: string) => Answer

/** A protocol: parsed body → request → decision. */
export interface Protocol<Request> {
  /** The name in log lines and metrics. */
  name: string
  /** The expected body, for error messages: `an AdmissionReview`. */
  expects: string
  /** The messages of the log lines. */
  logMessages: { answered: string; refused: string; failed: string }
  /** Decodes the parsed body to a request, or to an error. */
  decode(parsed: unknown): { request: Request } | { error: string }
  /** Throws only on internal faults. */
  decide(request: Request): Decision
  /** Identifies a request in the log line of a failed decision. */
  describe(request: Request): object
}

/** A decision about a request. */
export interface Decision {
  /** The body of the answer. */
  body: string
  /** The name of the decision in the metrics. */
  decision: string
  /** The log line. */
  line: Record<string, unknown>
}

/** In ms. A slower decision is logged as a warning and counted; most take 0.05 ms. */
const SLOW_MS = 100

/**
 * Serves one protocol.
 *
 * @returns a function from the text of a body to the answer. It throws nothing: invalid input is a 4xx, an internal fault a 500. Only a
 * failed call is subject to `failurePolicy`; a valid answer with a denial always denies.
 *
 * @param now a clock in milliseconds
 */
export function serveCalls<Request>(
  { name, expects, logMessages, decode, decide, describe }: Protocol<Request>,
  { metrics, ...dependencies }: CallDependencies,
  now: () => number = () => performance.now(),
): Serve {
  const log = dependencies.log.child({ webhook: name })
  const count = metrics.countCalls(name)

  function read(body: string): Request {
    if (body === '') throw new RequestProblem(400, `the body is empty; POST ${expects}`)
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

  /** Ignores a fault in logging or counting, so that it does not change a decision. */
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

  function refuse(error: unknown, request: Request | undefined, ms: number, traceparent: string | undefined): Answer {
    const status = error instanceof RequestProblem ? error.status : 500
    const message = error instanceof Error ? error.message : String(error)
    report(() => {
      count({ status, seconds: ms / 1000 })
      if (status === 500) metrics.faults.labels(name).inc()
      const uid = error instanceof RequestProblem ? error.uid : undefined
      const line = { uid, ...(request && describe(request)), traceparent, status, ms: rounded(ms) }
      if (status === 500) log.error({ ...line, err: error }, logMessages.failed)
      else log.warn({ ...line, reason: message }, logMessages.refused)
    })
    return { status, body: problemBody(status, status === 500 ? `lodestone could not decide: ${message}` : message) }
  }

  return (body, traceparent) => {
    const started = now()
    let request: Request | undefined
    try {
      request = read(body)
      const { body: text, decision, line } = decide(request)
      const ms = now() - started
      report(() => {
        line['ms'] = rounded(ms)
        if (traceparent !== undefined) line['traceparent'] = traceparent
        log.info(line, logMessages.answered)
        count({ status: 200, decision, seconds: ms / 1000 })
        reportSlow(body, ms)
      })
      return { status: 200, body: text }
    } catch (error) {
      return refuse(asProblem(error, body), request, now() - started, traceparent)
    }
  }
}

/** Returns the problem of a body whose depth has exhausted the stack, and any other error as it is. */
function asProblem(error: unknown, body: string): unknown {
  return error instanceof RangeError && isTooDeep(body)
    ? new RequestProblem(400, `the body is nested more than ${MAX_JSON_DEPTH} levels deep`)
    : error
}

/** Returns the uid of an invalid request, for its log line; cut, since it may have any length. */
function uidIn(parsed: unknown): string | undefined {
  const uid = (parsed as { request?: { uid?: unknown } } | null)?.request?.uid
  return typeof uid === 'string' ? uid.slice(0, 64) : undefined
}

/** Milliseconds with three decimals. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
