/** Validates data against a JSON Schema and gives every error with its path, the way kubectl shows them. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FieldError, FieldErrorCode } from './field-errors.ts'

/**
 * `strict: false` lets a schema carry what Kubernetes adds (x-kubernetes-*), which says nothing about validity here; `date-time` is
 * left to Kubernetes. The schemas are ours: looking at each of them with the schema of schemas, and making their code shorter before V8
 * does so, took half of the time that compiling them takes, and that is at every start.
 */
const options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

export type SchemaValidator = (data: unknown) => FieldError[]

/**
 * Compiles a schema once.
 *
 * @param unknownFields whether members that the schema does not name are errors, as `kubectl --validate=strict` has it
 */
export function compileSchema(schema: object, unknownFields: 'allowed' | 'forbidden' = 'allowed'): SchemaValidator {
  const validate: ValidateFunction = new Ajv(options).compile(unknownFields === 'forbidden' ? closed(schema) : schema)
  return (data) => (validate(data) ? [] : (validate.errors ?? []).map(toFieldError))
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

function toFieldError(error: ErrorObject): FieldError {
  const at = pathOf(error.instancePath)
  const [code, path, message] = describe(error, at)
  return { path: path === '' ? '(root)' : path, code, message }
}

function describe({ keyword, params, message }: ErrorObject, at: string): [FieldErrorCode, string, string] {
  const child = (name: string) => (at === '' ? name : `${at}.${name}`)
  switch (keyword) {
    case 'required':
      return ['Required', child(String(params['missingProperty'])), 'is required']
    case 'additionalProperties':
      return ['NotSupported', child(String(params['additionalProperty'])), 'is not a field that Lodestone knows']
    case 'enum':
      return ['NotSupported', at, `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`]
    case 'const':
      return ['NotSupported', at, `must be ${JSON.stringify(params['allowedValue'])}`]
    case 'type':
      return ['Invalid', at, `must be of type ${String(params['type'])}`]
    case 'minLength':
      return [
        'Invalid',
        at,
        params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} characters`,
      ]
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return ['TooLong', at, message ?? 'is too long']
    default:
      return ['Invalid', at, message ?? 'is invalid']
  }
}

/** A JSON Pointer as kubectl writes a path: `/spec/a/0` → `spec.a[0]`; a member with dots in its name is bracketed. */
function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => {
      if (/^\d+$/.test(part) || /[./]/.test(part)) return `${path}[${part}]`
      return path === '' ? part : `${path}.${part}`
    }, '')
}
