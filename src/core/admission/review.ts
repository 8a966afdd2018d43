/** Decodes AdmissionReviews by schema, and encodes the response. Each patch is checked before it is returned. */
import type { Operation } from 'fast-json-patch'
import { type AdmissionRequest, type AdmissionResponse, admissionReviewSchema } from '../../api/admission.ts'
import type { K8sObject } from '../../api/meta.ts'
import { describeErrors } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { cut, type Outcome } from '../outcome.ts'
import { diffJson } from './diff.ts'

const validateReview = compileSchema(admissionReviewSchema)

export type DecodedReview = { request: AdmissionRequest } | { error: string }

/** Decodes the parsed body of a webhook call. Returns the request, or an error that describes the invalid fields. */
export function decodeReview(body: unknown): DecodedReview {
  const errors = validateReview(body)
  if (errors.length > 0) return { error: `not an admission.k8s.io/v1 AdmissionReview: ${describeErrors(errors)}` }
  return { request: (body as { request: AdmissionRequest }).request }
}

/** The patch does not apply to the object of the request: a defect of Lodestone. Such a patch is never sent. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/**
 * Encodes an outcome as the response for the API server. `patch` and `patchType` are set together or not at all.
 *
 * Each patch is checked against `request.object` first: a patch that does not apply would fail the user's request even with `failurePolicy:
 * Ignore` (apiserver, mutating/dispatcher.go).
 *
 * @param toBase64 encodes a text's UTF-8 bytes; core has no Buffer
 * @throws PatchError if the patch does not apply
 */
export function encodeResponse(
  request: AdmissionRequest,
  outcome: Outcome,
  toBase64: (text: string) => string,
): AdmissionResponse {
  const response: AdmissionResponse = { uid: request.uid, allowed: outcome.kind !== 'deny' }
  if (outcome.kind === 'deny') {
    response.status = {
      code: 422,
      reason: outcome.reason ?? 'Invalid',
      message: printable(describeErrors(outcome.errors)),
    }
  }
  if (outcome.kind === 'patch') {
    const patch = provenPatch(request.object, outcome.object)
    if (patch) {
      response.patchType = 'JSONPatch'
      response.patch = toBase64(patch)
    }
  }
  // Warnings are sent in an HTTP header.
  if (outcome.warnings?.length) response.warnings = outcome.warnings.map((warning) => cut(printable(warning)))
  if (outcome.auditAnnotations) response.auditAnnotations = outcome.auditAnnotations
  return response
}

/** Returns the patch as JSON; undefined if nothing changes. */
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
 * Whether an operation applies to the object of the request (RFC 6902 §4). The parent must exist, and so must the member that is replaced
 * or removed. The operations of one diff touch different members, so none depends on another. To apply them to a copy would prove the same,
 * and would cost as much as the decision (docs/dev/performance.md).
 */
function applies({ op, path }: Operation, object: unknown): boolean {
  let parent = object
  let start = 1
  for (let end = path.indexOf('/', start); end > 0; end = path.indexOf('/', start)) {
    parent = readMember(parent, unescaped(path.slice(start, end)))
    start = end + 1
  }
  if (!isObject(parent)) return false
  return op === 'add' || readMember(parent, unescaped(path.slice(start))) !== undefined
}

function readMember(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function unescaped(member: string): string {
  return member.includes('~') ? member.replaceAll('~1', '/').replaceAll('~0', '~') : member
}
