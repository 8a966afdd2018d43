/** Validates data against a JSON Schema and returns the errors with their paths, the way kubectl shows them. */
import { Ajv, type ValidateFunction } from 'ajv'
import { explainMismatch, isWithinLength, type JsonSchema } from './explain-mismatch.ts'
import type { FieldError } from './field-errors.ts'

/**
 * ajv decides whether data is valid and stops at the first error: with `allErrors` it makes an object per error, and a body of 600 KB
 * can have 300,000. What is invalid is explained within a limit (explain-mismatch.ts).
 *
 * `strict: false` lets a schema carry what Kubernetes adds (x-kubernetes-*), which says nothing about validity here; `date-time` is
 * left to Kubernetes. The schemas are ours: the check of each of them against the schema of schemas, and the optimization of their code,
 * took half of the time that their compilation takes, at every start.
 */
const options = {
  strict: false,
  validateFormats: false,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

/** Instead of ajv's own, which counts the code points of every text: that took longer than parsing. */
const maxLength = {
  keyword: 'maxLength',
  type: 'string',
  schemaType: 'number',
  validate: (limit: number, text: string) => isWithinLength(text, limit),
} as const

export type SchemaValidator = (data: unknown) => FieldError[]

/**
 * Compiles a schema once.
 *
 * @param unknownFields whether members that the schema does not name are errors, as `kubectl --validate=strict` has it
 * @returns a function that lists the first errors and the number of the remaining ones; an empty list means valid
 */
export function compileSchema(schema: object, unknownFields: 'allowed' | 'forbidden' = 'allowed'): SchemaValidator {
  const wanted: JsonSchema = unknownFields === 'forbidden' ? closed(schema) : schema
  const isValid: ValidateFunction = new Ajv(options).removeKeyword('maxLength').addKeyword(maxLength).compile(wanted)
  return (data) => {
    if (isValid(data)) return []
    const errors = explainMismatch(wanted, data)
    // ajv has the last word, should the two ever differ: what it rejects never passes for want of an explanation.
    return errors.length > 0 ? errors : [{ path: '(root)', code: 'Invalid', message: 'does not match its schema' }]
  }
}

function closed(schema: object): object {
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      Array.isArray(value) || typeof value !== 'object' || value === null ? value : closed(value),
    ]),
  )
  const isShape =
    copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined
  return isShape ? { ...copy, additionalProperties: false } : copy
}
