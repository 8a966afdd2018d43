/** Decodes Karmada's requests for the dependencies of an object by schema, and encodes the responses. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import {
  type InterpreterContext,
  type InterpreterRequest,
  type InterpreterResponse,
  interpreterContextSchema,
} from '../../api/interpreter.ts'
import { describeErrors } from '../../base/field-errors.ts'
import { printable } from '../../base/printable.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'

const validateContext = compileSchema(interpreterContextSchema)

export type DecodedContext = { request: InterpreterRequest } | { error: string }

/** Decodes the parsed body of a call. Returns the request, or an error that describes the invalid fields. */
export function decodeContext(body: unknown): DecodedContext {
  const errors = validateContext(body)
  if (errors.length === 0) return { request: (body as { request: InterpreterRequest }).request }
  return { error: `not a config.karmada.io/v1alpha1 ResourceInterpreterContext: ${describeErrors(errors)}` }
}

/** The result: the dependencies, or the reason why they are unknown. */
export type Interpretation = { dependencies: readonly DependentObjectReference[] } | { refusal: string }

/**
 * Encodes an interpretation as the response for Karmada. The uid must be that of the request, and a failure needs a status
 * (`VerifyResourceInterpreterContext` in pkg/resourceinterpreter/customized/webhook/request). After a failure, Karmada changes nothing and
 * retries later.
 */
export function encodeContext({ uid }: InterpreterRequest, interpretation: Interpretation): InterpreterContext {
  const response: InterpreterResponse =
    'refusal' in interpretation
      ? { uid, successful: false, status: { message: printable(interpretation.refusal), code: BAD_REQUEST } }
      : { uid, successful: true, dependencies: interpretation.dependencies }
  return { apiVersion: 'config.karmada.io/v1alpha1', kind: 'ResourceInterpreterContext', response }
}

/** The HTTP status of a request that is not for Lodestone. */
const BAD_REQUEST = 400
