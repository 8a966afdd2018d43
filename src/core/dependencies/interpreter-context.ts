/** Decodes Karmada's requests for the dependencies of an object by schema, and encodes the responses as the protocol requires. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import {
  type InterpreterContext,
  type InterpreterRequest,
  type InterpreterResponse,
  interpreterContextSchema,
} from '../../api/interpreter.ts'
import { describeErrors } from '../field-errors.ts'
import { compileSchema } from '../schema-errors.ts'

const validateContext = compileSchema(interpreterContextSchema)

export type DecodedContext = { request: InterpreterRequest } | { error: string }

/** Takes the parsed body of a call; gives the request, or what is wrong with it. Throws nothing. */
export function decodeContext(body: unknown): DecodedContext {
  const errors = validateContext(body)
  if (errors.length === 0) return { request: (body as { request: InterpreterRequest }).request }
  return { error: `not a config.karmada.io/v1alpha1 ResourceInterpreterContext: ${describeErrors(errors)}` }
}

/** The answer: the dependencies, or why they are unknown. */
export type Interpretation = { dependencies: readonly DependentObjectReference[] } | { refusal: string }

/**
 * Turns an interpretation into the answer that Karmada takes: the uid is that of the request, and a failure has a status
 * (`VerifyResourceInterpreterContext` in pkg/resourceinterpreter/customized/webhook/request). Without success Karmada changes nothing
 * and asks again later.
 */
export function encodeContext({ uid }: InterpreterRequest, interpretation: Interpretation): InterpreterContext {
  const response: InterpreterResponse =
    'refusal' in interpretation
      ? { uid, successful: false, status: { message: interpretation.refusal, code: BAD_REQUEST } }
      : { uid, successful: true, dependencies: interpretation.dependencies }
  return { apiVersion: 'config.karmada.io/v1alpha1', kind: 'ResourceInterpreterContext', response }
}

/** An HTTP status: the caller should not have sent this request to Lodestone. */
const BAD_REQUEST = 400
