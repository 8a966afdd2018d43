/** AdmissionReviews in and out: decoded by schema, answered with a patch that is proven to apply. */
import type { Operation } from 'fast-json-patch'
import { type AdmissionRequest, type AdmissionResponse, admissionReviewSchema } from '../../api/admission.ts'
import type { K8sObject } from '../../api/meta.ts'
import { describeErrors } from '../field-errors.ts'
import { isObject } from '../json.ts'
import { cut, type Outcome } from '../outcome.ts'
import { compileSchema } from '../schema-errors.ts'
import { diffJson } from './diff.ts'

const validateReview = compileSchema(admissionReviewSchema)

export type DecodedReview = { request: AdmissionRequest } | { error: string }

/** Takes the parsed body of a webhook call; gives the request, or what is wrong with it. */
export function decodeReview(body: unknown): DecodedReview {
  const errors = validateReview(body)
  if (errors.length > 0) return { error: `not an admission.k8s.io/v1 AdmissionReview: ${describeErrors(errors)}` }
  return { request: (body as { request: AdmissionRequest }).request }
}

/** The patch of an outcome does not turn the request's object into the outcome's: a bug of ours, never to be sent. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/**
 * Turns an outcome into the response that the API server takes. `patch` and `patchType` come both or not at all.
 *
 * Before it is sent, the patch is shown to apply to `request.object`. A patch that does not apply would fail the user's request even under
 * `failurePolicy: Ignore` (apiserver, mutating/dispatcher.go).
 *
 * @param toBase64 encodes a text's UTF-8 bytes; the language alone cannot
 * @throws PatchError when the patch does not give the outcome's object
 */
export function encodeResponse(
  request: AdmissionRequest,
  outcome: Outcome,
  toBase64: (text: string) => string,
): AdmissionResponse {
  const response: AdmissionResponse = { uid: request.uid, allowed: outcome.kind !== 'deny' }
  if (outcome.kind === 'deny') {
    response.status = { code: 422, reason: 'Invalid', message: describeErrors(outcome.errors) }
  }
  if (outcome.kind === 'patch') {
    const patch = provenPatch(request.object, outcome.object)
    if (patch) {
      response.patchType = 'JSONPatch'
      response.patch = toBase64(patch)
    }
  }
  if (outcome.warnings?.length) response.warnings = outcome.warnings.map((warning) => cut(oneLine(warning)))
  if (outcome.auditAnnotations) response.auditAnnotations = outcome.auditAnnotations
  return response
}

/** The patch as JSON; undefined when there is nothing to change. */
function provenPatch(object: K8sObject | null | undefined, wanted: K8sObject): string | undefined {
  if (!object) throw new PatchError('an object that is not in the request cannot be patched')
  const operations = diffJson(object, wanted)
  if (operations.length === 0) return undefined
  for (const operation of operations) {
    if (!applies(operation, object)) {
      throw new PatchError(`the patch does not apply to the object of the request: ${operation.op} ${operation.path}`)
    }
  }
  return JSON.stringify(operations)
}

/**
 * Whether an operation applies to the object as it was sent (RFC 6902 §4). The parent must exist, and so must the member that it replaces
 * or removes. The operations of one diff touch different members, so none depends on another. Applying them to a copy would show the same
 * and cost as much as the decision (docs/performance.md).
 */
function applies({ op, path }: Operation, object: unknown): boolean {
  let parent = object
  let start = 1
  for (let end = path.indexOf('/', start); end > 0; end = path.indexOf('/', start)) {
    parent = memberOf(parent, unescaped(path.slice(start, end)))
    start = end + 1
  }
  if (!isObject(parent)) return false
  return op === 'add' || memberOf(parent, unescaped(path.slice(start))) !== undefined
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function unescaped(member: string): string {
  return member.includes('~') ? member.replaceAll('~1', '/').replaceAll('~0', '~') : member
}

/** Warnings travel in an HTTP header: no line breaks, no control characters. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}]+/gu, ' ')
}
