/** Explains why data does not match a JSON Schema, as a list of errors with a limited length. */
import { ErrorList, type FieldError, type FieldErrorCode } from '../field-errors.ts'
import { isObject } from '../json.ts'
import { suggest } from '../suggest.ts'

/** The part of JSON Schema that our schemas use. */
export interface JsonSchema {
  type?: string | readonly string[]
  properties?: Record<string, JsonSchema>
  required?: readonly string[]
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  /** Replaces the message of `pattern`. */
  errorMessage?: string
}

/** Checks a value of the right type against the limit of a keyword; returns undefined if the value is valid. */
type Check = (limit: never, value: never) => [FieldErrorCode, string] | undefined

/** An empty value means the default, and is not worth a mention. */
function mustBeOneOf(allowed: readonly unknown[], value: unknown): string {
  const words = allowed.filter((one) => one !== '').map(String)
  return `must be one of ${words.join(', ')}${typeof value === 'string' ? suggest(value, words) : ''}`
}

/** The ends of the integers that an API server stores. A number above 2^53 has lost digits, so the last ones of int64 count as their neighbor. */
const INTEGERS: Readonly<Record<string, { least: number; most: number; texts: readonly [string, string] }>> = {
  int32: { least: -(2 ** 31), most: 2 ** 31 - 1, texts: ['-2147483648', '2147483647'] },
  int64: { least: -(2 ** 63), most: 2 ** 63, texts: ['-9223372036854775808', '9223372036854775807'] },
}

/** Whether a number is one of its format. Formats of other numbers have no limit. */
export function isOfFormat(format: string, value: number): boolean {
  const { least, most } = INTEGERS[format] ?? {}
  return least === undefined || most === undefined || (value >= least && value <= most)
}

const CHECKS: Readonly<Record<string, Check>> = {
  const: (wanted: unknown, value: unknown) =>
    value === wanted ? undefined : ['NotSupported', `must be ${JSON.stringify(wanted)}`],
  enum: (allowed: readonly unknown[], value: unknown) =>
    allowed.includes(value) ? undefined : ['NotSupported', mustBeOneOf(allowed, value)],
}

const CHECKS_BY_TYPE: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  string: {
    minLength: (limit: number, value: string) => {
      if (value.length >= 2 * limit || characters(value) >= limit) return undefined
      return ['Invalid', limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`]
    },
    maxLength: (limit: number, value: string) =>
      isWithinLength(value, limit) ? undefined : ['TooLong', `must have at most ${limit} characters`],
    pattern: (pattern: string, value: string) =>
      new RegExp(pattern, 'u').test(value) ? undefined : ['Invalid', `must match pattern "${pattern}"`],
  },
  number: {
    minimum: (limit: number, value: number) =>
      value >= limit ? undefined : ['Invalid', `must be greater than or equal to ${limit}`],
    maximum: (limit: number, value: number) =>
      value <= limit ? undefined : ['Invalid', `must be less than or equal to ${limit}`],
    format: (format: string, value: number) => {
      if (isOfFormat(format, value)) return undefined
      const [least, most] = INTEGERS[format]?.texts ?? []
      return [
        'Invalid',
        value < 0 ? `must be greater than or equal to ${least}` : `must be less than or equal to ${most}`,
      ]
    },
  },
  array: {
    minItems: (limit: number, value: readonly unknown[]) =>
      value.length >= limit ? undefined : ['Invalid', `must have at least ${limit} items`],
    maxItems: (limit: number, value: readonly unknown[]) =>
      value.length <= limit ? undefined : ['TooLong', `must have at most ${limit} items, has ${value.length}`],
  },
  object: {
    maxProperties: (limit: number, value: object) => {
      const count = Object.keys(value).length
      return count <= limit ? undefined : ['TooLong', `must have at most ${limit} members, has ${count}`]
    },
  },
}

/**
 * Lists the errors of data that does not match its schema. The cost grows with the data, not with the number of errors. The items and
 * members of a value with a wrong type or length are not checked.
 *
 * @returns the first errors in the order of the schema, and the number of the remaining ones
 */
export function explainMismatch(schema: JsonSchema, data: unknown): FieldError[] {
  const errors = new ErrorList()
  explain(schema, data, () => '', errors)
  return errors.errors()
}

/** @param path returns the path; called only for the errors that are listed */
function explain(schema: JsonSchema, value: unknown, path: () => string, errors: ErrorList): void {
  const type = jsonType(value)
  if (schema.type !== undefined && !isOfType(schema.type, type, value)) {
    errors.add(() => {
      const wanted = typeof schema.type === 'string' ? schema.type : schema.type?.join(' or ')
      return at(path, 'Invalid', `must be of type ${wanted}`)
    })
    return
  }
  if (!passes(schemaChecks(schema, type), schema, value, path, errors)) return
  if (Array.isArray(value)) explainItems(schema, value, path, errors)
  else if (isObject(value)) explainMembers(schema, value, path, errors)
}

type ChecksOfType = Map<string, readonly (readonly [keyword: string, check: Check])[]>

/** Cached checks: a list may have a million items with the same schema. */
const checks = new WeakMap<JsonSchema, ChecksOfType>()

/** Returns the checks of a schema for values of a type; those of any type come first. */
function schemaChecks(schema: JsonSchema, type: string): readonly (readonly [keyword: string, check: Check])[] {
  const byType: ChecksOfType = checks.get(schema) ?? new Map()
  checks.set(schema, byType)
  const known = byType.get(type)
  if (known) return known
  const all = Object.entries({ ...CHECKS, ...CHECKS_BY_TYPE[type] })
  const found = all.filter(([keyword]) => Object.hasOwn(schema, keyword))
  byType.set(type, found)
  return found
}

function passes(
  found: readonly (readonly [keyword: string, check: Check])[],
  schema: JsonSchema,
  value: unknown,
  path: () => string,
  errors: ErrorList,
): boolean {
  let isValid = true
  for (const [keyword, check] of found) {
    const problem = check((schema as Record<string, unknown>)[keyword] as never, value as never)
    if (problem === undefined) continue
    const [code, message] = problem
    errors.add(() => at(path, code, keyword === 'pattern' ? (schema.errorMessage ?? message) : message))
    isValid = false
  }
  return isValid
}

function explainItems({ items }: JsonSchema, list: readonly unknown[], path: () => string, errors: ErrorList): void {
  if (!items) return
  for (let i = 0; i < list.length; i++) {
    const item = list[i]
    // The rest of a long list is only counted.
    if (errors.isFull && items.type !== undefined && !isOfType(items.type, jsonType(item), item)) errors.count()
    else explain(items, item, errors.isFull ? path : () => `${path()}[${i}]`, errors)
  }
}

function explainMembers(
  { properties = {}, required = [], additionalProperties = true }: JsonSchema,
  object: Record<string, unknown>,
  path: () => string,
  errors: ErrorList,
): void {
  for (const name of required) {
    if (object[name] === undefined) errors.add(() => at(() => member(path(), name), 'Required', 'is required'))
  }
  for (const name of Object.keys(object)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    if (schema === false) {
      errors.add(() => {
        const message = `unknown field${suggest(name, Object.keys(properties))}`
        return at(() => member(path(), name), 'NotSupported', message)
      })
    } else if (isObject(schema) && object[name] !== undefined) {
      explain(schema, object[name], () => member(path(), name), errors)
    }
  }
}

function at(path: () => string, code: FieldErrorCode, message: string): FieldError {
  return { path: path() || '(root)', code, message }
}

/** Appends a member to a path in kubectl's notation: a name with a dot or a slash, or of digits only, is in brackets. */
function member(path: string, name: string): string {
  if (/^\d+$/.test(name) || /[./]/.test(name)) return `${path}[${name}]`
  return path === '' ? name : `${path}.${name}`
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

function isOfType(wanted: string | readonly string[], type: string, value: unknown): boolean {
  const isOne = (name: string) => name === type || (name === 'integer' && Number.isInteger(value))
  return typeof wanted === 'string' ? isOne(wanted) : wanted.some(isOne)
}

/**
 * Whether a text has at most this many code points, as the API server counts. A text has at most as many code points as UTF-16 units, so a
 * text with few units is not counted.
 */
export function isWithinLength(text: string, limit: number): boolean {
  return text.length <= limit || characters(text) <= limit
}

/** Counts Unicode code points, as JSON Schema does. */
function characters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
