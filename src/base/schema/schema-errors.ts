/** Validates data against a JSON Schema and returns the errors with their paths, in kubectl's notation. */
import { Ajv, type ValidateFunction } from 'ajv'
import type { FieldError } from '../field-errors.ts'
import { closedSchema } from './closed-schema.ts'
import { explainMismatch, isOfFormat, isWithinLength, type JsonSchema } from './explain-mismatch.ts'

/**
 * ajv decides whether data is valid and stops at the first error. With `allErrors` it would create an object per error, and a body of 600
 * KB can have 300,000. explain-mismatch.ts lists the errors of invalid data, with a limit.
 *
 * `strict: false` allows the extensions of Kubernetes (x-kubernetes-*), which do not affect validity here. Kubernetes validates
 * `date-time`. The schemas belong to this repository, so ajv neither validates them nor optimizes their code: both took half of the
 * compilation time at every start.
 */
const options = {
  strict: false,
  validateFormats: false,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

/** Replaces ajv's own keyword, which counts the code points of every text and took longer than parsing. */
const maxLength = {
  keyword: 'maxLength',
  type: 'string',
  schemaType: 'number',
  validate: (limit: number, text: string) => isWithinLength(text, limit),
} as const

/** Of the formats, those of integers count: kube-apiserver rejects a number that its type cannot store (kube-openapi, IsValueValidAgainstRange). */
const format = {
  keyword: 'format',
  type: 'number',
  schemaType: 'string',
  validate: isOfFormat,
} as const

export interface SchemaValidator {
  /** Lists the first errors and counts the others; an empty list means valid. */
  (data: unknown): FieldError[]
  /** For callers that need no errors. */
  isValid(data: unknown): boolean
}

/** Compiles the schemas that are not compiled yet. */
const pending = new Set<() => unknown>()

/**
 * Returns the validator of a schema. The schema is compiled when the validator is first called: a command that reads one manifest does not
 * wait for the schemas of all kinds. A server calls `compilePendingSchemas` before its first request.
 *
 * @param unknownFields whether unknown members are errors, as with `kubectl --validate=strict`
 */
export function compileSchema(schema: object, unknownFields: 'allowed' | 'forbidden' = 'allowed'): SchemaValidator {
  const wanted: JsonSchema = unknownFields === 'forbidden' ? closedSchema(schema) : schema
  let compiled: ValidateFunction | undefined
  const compile = () => {
    pending.delete(compile)
    compiled ??= new Ajv(options)
      .removeKeyword('maxLength')
      .removeKeyword('format')
      .addKeyword(maxLength)
      .addKeyword(format)
      .compile(wanted)
    return compiled
  }
  pending.add(compile)
  const isValid = (data: unknown): boolean => (compiled ?? compile())(data)
  const listErrors = (data: unknown): FieldError[] => {
    if (isValid(data)) return []
    const errors = explainMismatch(wanted, data)
    // If the two ever differ, ajv decides: data that it rejects is always an error, also without an explanation.
    return errors.length > 0 ? errors : [{ path: '(root)', code: 'Invalid', message: 'does not match its schema' }]
  }
  return Object.assign(listErrors, { isValid })
}

/** Compiles the schemas of all validators that were never called, so that no request pays for a compilation. */
export function compilePendingSchemas(): void {
  for (const compile of pending) compile()
}
