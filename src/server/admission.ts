/** Serves one admission call: decodes an AdmissionReview, decides, and encodes the response. */
import type { AdmissionRequest, AdmissionResponse } from '../api/admission.ts'
import { apiVersionOf, objectKey, type ResourceType } from '../api/meta.ts'
import { describeErrors } from '../base/field-errors.ts'
import type { ClockJump } from '../base/time/clock-jumps.ts'
import { type DecodedReview, decodeReview, encodeResponse } from '../core/admission/review.ts'
import { ANY_KIND, type GatherContext, type Webhook } from '../webhooks/define.ts'
import { type CallDependencies, type Serve, serveCalls } from './call.ts'

/** The members of the context of a review that are the same for every review. */
type FixedContext = 'store' | 'propagateDeps' | 'clusterScopedClaims' | 'timing' | 'matrix' | 'loopsEnabled'

export interface AdmissionDependencies extends CallDependencies, Pick<GatherContext, FixedContext> {
  /** The current rules of the connected Karmada; the strictest if absent. */
  karmadaRules?: (() => GatherContext['karmadaRules']) | undefined
  /** The current configuration of volumes. */
  volumes: () => Pick<GatherContext, 'whenNotReady' | 'volumeLimits'>
  /** Milliseconds since the epoch. */
  now: () => number
  /** The jumps of the clock of `now`; none if absent. */
  jumps?: (() => readonly ClockJump[]) | undefined
}

/** Returns a function from the text of a body to the answer of one webhook. The function throws nothing (see `serveCalls`). */
export function serveWebhook(webhook: Webhook, dependencies: AdmissionDependencies): Serve {
  const {
    store,
    now: clock,
    jumps,
    propagateDeps,
    clusterScopedClaims,
    karmadaRules,
    timing,
    matrix,
    loopsEnabled,
    volumes,
  } = dependencies
  return serveCalls(
    {
      name: webhook.name,
      expects: 'an AdmissionReview',
      logMessages: { answered: 'reviewed', refused: 'review refused', failed: 'review failed' },
      decode: (parsed) => decodeFor(webhook, parsed),
      decide(request) {
        const outcome = webhook.review(request, {
          store,
          propagateDeps,
          clusterScopedClaims,
          // Only a decision on a binding needs them, and waits for them.
          get karmadaRules() {
            return karmadaRules?.()
          },
          timing,
          matrix,
          loopsEnabled,
          ...volumes(),
          now: clock(),
          jumps: jumps?.(),
        })
        const response = encodeResponse(request, outcome, toBase64)
        const result = reviewResult(response)
        return {
          body: encodeReview(response),
          decision: outcome.auditAnnotations?.['decision'] ?? result,
          line: reviewLine(request, response, result),
        }
      },
      describe: describeReview,
    },
    dependencies,
  )
}

function decodeFor({ resources, subresources = [], validateStored }: Webhook, parsed: unknown): DecodedReview {
  const decoded = decodeReview(parsed)
  if ('error' in decoded) return decoded
  const { kind: reviewed, resource, subResource, oldObject } = decoded.request
  const { group, version, kind } = reviewed
  // The object of a subresource may be of another kind, such as a Binding.
  const isOfSubresource = subResource !== undefined && subresources.includes(subResource)
  const isReviewed = (type: ResourceType) =>
    type === ANY_KIND ||
    (group === type.group && kind === type.kind && version === type.version) ||
    (isOfSubresource && resource.group === type.group && resource.resource === type.plural)
  if (!resources.some(isReviewed)) {
    const expected = resources.map((type) => `${type.kind} of ${apiVersionOf(type)}`).join(', ')
    return { error: `this path reviews ${expected}, not ${kind} of ${apiVersionOf({ group, version })}` }
  }
  const errors = (oldObject && validateStored?.(oldObject)) ?? []
  return errors.length > 0 ? { error: `request.oldObject is malformed: ${describeErrors(errors)}` } : decoded
}

/** Identifies a review in a log line. */
export function describeReview(request: AdmissionRequest) {
  return {
    uid: request.uid,
    operation: request.operation,
    object: reviewTitle(request),
    user: request.userInfo?.username,
  }
}

function reviewTitle({ kind, namespace, name, object }: AdmissionRequest): string {
  return `${kind.kind} ${objectKey(namespace, name || object?.metadata?.name || `${object?.metadata?.generateName ?? ''}*`)}`
}

/** The log line of a review, built as one object: a spread of `describeReview` would build the common fields twice. */
function reviewLine(request: AdmissionRequest, response: AdmissionResponse, outcome: string) {
  const { auditAnnotations, status, warnings } = response
  return {
    uid: request.uid,
    operation: request.operation,
    object: reviewTitle(request),
    user: request.userInfo?.username,
    dryRun: request.dryRun || undefined,
    outcome,
    decision: auditAnnotations?.['decision'],
    decisionId: auditAnnotations?.['decision-id'],
    reason: status?.message ?? auditAnnotations?.['reason'],
    warnings: warnings?.length,
  }
}

function reviewResult({ allowed, patch }: AdmissionResponse): 'allowed' | 'patched' | 'denied' {
  if (!allowed) return 'denied'
  return patch === undefined ? 'allowed' : 'patched'
}

/** Returns the body of an answer. */
export function encodeReview(response: AdmissionResponse): string {
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

/** Nearly every patch is ASCII, for which `btoa` is enough. */
function toBase64(text: string): string {
  return Buffer.byteLength(text) === text.length ? btoa(text) : Buffer.from(text).toString('base64')
}
