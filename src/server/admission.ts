/** One admission call: text in, AdmissionReview out. The catch-all for what a webhook throws. */
import type { AdmissionRequest, AdmissionResponse } from '../api/admission.ts'
import { apiVersionOf, objectKey } from '../api/meta.ts'
import { decodeReview, encodeResponse } from '../core/admission/review.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { GatherContext, Webhook } from '../webhooks/define.ts'
import { problemBody, RequestProblem } from './problem.ts'

export interface AdmissionDependencies {
  store: GatherContext['store']
  propagateDeps: GatherContext['propagateDeps']
  /** Milliseconds since the epoch. */
  now: () => number
  log: Logger
  metrics: Metrics
}

export interface Answer {
  status: number
  body: string
}

/**
 * Serves one webhook.
 *
 * @returns a function from the text of a body to the answer. It throws nothing: bad input is a 4xx; a fault of ours is a 500, so that
 * the operator's `failurePolicy` decides (only a failed call is put to it; a well-formed `allowed: false` always refuses).
 */
export function serveWebhook(webhook: Webhook, dependencies: AdmissionDependencies): (body: string) => Answer {
  const { name } = webhook
  const { store, now, propagateDeps, metrics } = dependencies
  const log = dependencies.log.child({ webhook: name })
  const latency = metrics.latency.labels(name)
  const requests = remember((status) => metrics.requests.labels(name, status))
  const decisions = remember((result) => metrics.decisions.labels(name, result))

  return (body) => {
    const started = performance.now()
    let request: AdmissionRequest | undefined
    let answer: Answer
    try {
      request = readRequest(body, webhook)
      const outcome = webhook.review(request, { store, now: now(), propagateDeps })
      const response = encodeResponse(request, outcome, toBase64)
      const result = resultOf(response)
      decisions(outcome.auditAnnotations?.['decision'] ?? result).inc()
      answer = { status: 200, body: encode(response) }
      log.info(reviewLine(request, response, result, started), 'reviewed')
    } catch (error) {
      const status = error instanceof RequestProblem ? error.status : 500
      const message = error instanceof Error ? error.message : String(error)
      answer = {
        status,
        body: problemBody(status, status === 500 ? `lodestone could not decide: ${message}` : message),
      }
      const uid = error instanceof RequestProblem ? error.uid : undefined
      const line = { ...(uid && { uid }), ...(request && describe(request)), status, ms: since(started) }
      if (status === 500) {
        metrics.faults.labels(name).inc()
        log.error({ ...line, err: error }, 'review failed')
      } else {
        log.warn({ ...line, reason: message }, 'review refused')
      }
    }
    requests(String(answer.status)).inc()
    latency.observe((performance.now() - started) / 1000)
    return answer
  }
}

function readRequest(body: string, { resource }: Webhook): AdmissionRequest {
  if (body === '') throw new RequestProblem(400, 'the body is empty; POST an AdmissionReview')
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    throw new RequestProblem(400, `the body is not JSON: ${(cause as Error).message}`)
  }
  const decoded = decodeReview(parsed)
  if ('error' in decoded) throw new RequestProblem(400, decoded.error, uidIn(parsed))
  const { group, version, kind } = decoded.request.kind
  if (group !== resource.group || kind !== resource.kind || version !== resource.version) {
    const expected = `${resource.kind} of ${apiVersionOf(resource)}`
    throw new RequestProblem(
      400,
      `this path reviews ${expected}, not ${kind} of ${apiVersionOf({ group, version })}`,
      decoded.request.uid,
    )
  }
  return decoded.request
}

/** The uid of what is no proper review, so that its log line can be found; cut, since anything may stand there. */
function uidIn(parsed: unknown): string | undefined {
  const uid = (parsed as { request?: { uid?: unknown } } | null)?.request?.uid
  return typeof uid === 'string' ? uid.slice(0, 64) : undefined
}

function describe(request: AdmissionRequest) {
  return { uid: request.uid, operation: request.operation, object: titleOf(request), user: request.userInfo?.username }
}

function titleOf({ kind, namespace, name, object }: AdmissionRequest): string {
  return `${kind.kind} ${objectKey(namespace, name || object?.metadata?.name || `${object?.metadata?.generateName ?? ''}*`)}`
}

/** The one line of a review, made as one object: what is spread together is made twice. */
function reviewLine(request: AdmissionRequest, response: AdmissionResponse, outcome: string, started: number) {
  const { auditAnnotations, status, warnings } = response
  return {
    uid: request.uid,
    operation: request.operation,
    object: titleOf(request),
    user: request.userInfo?.username,
    dryRun: request.dryRun || undefined,
    outcome,
    decision: auditAnnotations?.['decision'],
    reason: status?.message ?? auditAnnotations?.['reason'],
    warnings: warnings?.length,
    ms: since(started),
  }
}

function resultOf({ allowed, patch }: AdmissionResponse): 'allowed' | 'patched' | 'denied' {
  if (!allowed) return 'denied'
  return patch === undefined ? 'allowed' : 'patched'
}

function encode(response: AdmissionResponse): string {
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function since(started: number): number {
  return Math.round((performance.now() - started) * 1000) / 1000
}

/** Finding a counter by its labels costs more than counting; each is looked up once. */
function remember<T>(find: (label: string) => T): (label: string) => T {
  const found = new Map<string, T>()
  return (label) => {
    let known = found.get(label)
    if (known === undefined) {
      known = find(label)
      found.set(label, known)
    }
    return known
  }
}
