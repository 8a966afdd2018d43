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
export function serveWebhook(
  webhook: Webhook,
  { store, now, log, metrics }: AdmissionDependencies,
): (body: string) => Answer {
  const { name } = webhook
  const latency = metrics.latency.labels(name)
  const requests = new Map<number, { inc(): void }>()

  function count(status: number): void {
    let counter = requests.get(status)
    if (!counter) {
      counter = metrics.requests.labels(name, String(status))
      requests.set(status, counter)
    }
    counter.inc()
  }

  return (body) => {
    const started = performance.now()
    let request: AdmissionRequest | undefined
    let answer: Answer
    try {
      request = readRequest(body, webhook)
      const outcome = webhook.review(request, { store, now: now() })
      const line = describe(request)
      const response = encodeResponse(request, outcome, toBase64)
      const result = resultOf(response)
      metrics.decisions.labels(name, outcome.auditAnnotations?.['decision'] ?? result).inc()
      answer = { status: 200, body: encode(response) }
      log.info({ ...line, webhook: name, ...explain(response), outcome: result, ms: since(started) }, 'reviewed')
    } catch (error) {
      const status = error instanceof RequestProblem ? error.status : 500
      const message = error instanceof Error ? error.message : String(error)
      answer = {
        status,
        body: problemBody(status, status === 500 ? `lodestone could not decide: ${message}` : message),
      }
      const uid = error instanceof RequestProblem ? error.uid : undefined
      const line = { ...(uid && { uid }), ...(request && describe(request)), webhook: name, status, ms: since(started) }
      if (status === 500) {
        metrics.faults.labels(name).inc()
        log.error({ ...line, err: error }, 'review failed')
      } else {
        log.warn({ ...line, reason: message }, 'review refused')
      }
    }
    count(answer.status)
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

function describe({ uid, kind, namespace, name, object, operation, userInfo, dryRun }: AdmissionRequest) {
  const called = name || object?.metadata?.name || `${object?.metadata?.generateName ?? ''}*`
  return {
    uid,
    operation,
    object: `${kind.kind} ${objectKey(namespace, called)}`,
    user: userInfo?.username,
    ...(dryRun && { dryRun }),
  }
}

function explain({ warnings, auditAnnotations, status }: AdmissionResponse) {
  const reason = status?.message ?? auditAnnotations?.['reason']
  return {
    ...(auditAnnotations?.['decision'] && { decision: auditAnnotations['decision'] }),
    ...(reason && { reason }),
    ...(warnings && { warnings: warnings.length }),
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
