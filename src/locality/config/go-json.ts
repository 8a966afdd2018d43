/**
 * Decodes JSON as Go's encoding/json decodes it into a struct. Fields match without regard to case, and unknown fields are ignored. A later
 * duplicate adds to an earlier one or replaces it, and null leaves the default. Fields that the format of Lodestone rejects are warnings.
 */
import type { FieldError } from '../../base/field-errors.ts'
import { isObject } from '../../base/json.ts'
import { suggest } from '../../base/suggest.ts'
import { cut } from '../../core/outcome.ts'

/** The type of a Go field. The content of `any` is ignored. */
export type GoType =
  | 'string'
  | 'bool'
  | 'int'
  | 'float'
  | 'any'
  | { list: GoType }
  | { map: GoType }
  | {
      struct: Readonly<Record<string, GoType>>
      /** Fields that its own UnmarshalJSON sets in any case, also for an absent or null value. */
      resets?: readonly string[]
    }

/** A warning about a field: what is done with it. */
export interface FieldWarning {
  path: string
  message: string
  /** The number of warnings that this one stands for; absent for one. */
  count?: number
}

/** Collects what the decoder found. */
export interface GoReport {
  errors: FieldError[]
  warnings: FieldWarning[]
}

/** Comments, and strings that may contain their character; a string with a colon behind it is the name of a member. */
const TOKENS = /"((?:[^"\\]|\\.)*)"(\s*:)?|#.*/g

/**
 * Parses a JSON document, with or without comments that begin with #. The name of each member has a number in front, so that members with
 * equal names stay apart. Returns undefined for any other text, such as YAML.
 */
export function parseGoJson(text: string): unknown {
  if (!/^\s*(?:[#{])/.test(text)) return undefined
  let count = 0
  const numbered = text.replace(TOKENS, (token: string, name: string | undefined, colon: string | undefined) => {
    if (name === undefined) return ''
    return colon === undefined ? token : `"${count++}:${name}"${colon}`
  })
  try {
    return JSON.parse(numbered)
  } catch {
    return undefined // Not JSON; config.ts reports the errors of YAML.
  }
}

/** Returns the members of an object of `parseGoJson`, in the order of the text. */
export function goMembers(value: unknown): [string, unknown][] {
  if (!isObject(value)) return []
  return Object.entries(value).map(([name, member]) => [name.slice(name.indexOf(':') + 1), member])
}

/**
 * Decodes a value of `parseGoJson`.
 *
 * @param before the value that the field has already, from an earlier duplicate
 * @returns undefined for an absent value, which is the zero value in Go
 */
export function decodeGo(type: GoType, value: unknown, path: string, report: GoReport, before?: unknown): unknown {
  if (typeof type === 'string') return decodeScalar(type, value, path, report, before)
  if ('struct' in type) return decodeStruct(type, value, path, report, before)
  if (value === null) return undefined
  if ('list' in type) {
    if (!Array.isArray(value)) return wrongType('array', path, report)
    return value.map((item, i) => decodeGo(type.list, item, `${path}[${i}]`, report) ?? null)
  }
  return decodeMap(type.map, value, path, report, before)
}

const SCALARS: Readonly<Record<string, { type: string; is: (value: unknown) => boolean }>> = {
  string: { type: 'string', is: (value) => typeof value === 'string' },
  bool: { type: 'boolean', is: (value) => typeof value === 'boolean' },
  int: { type: 'integer', is: Number.isSafeInteger },
  float: { type: 'number', is: Number.isFinite },
  any: { type: 'object', is: isObject },
}

function decodeScalar(type: string, value: unknown, path: string, report: GoReport, before: unknown): unknown {
  if (value === null) return before
  const scalar = SCALARS[type]
  return scalar?.is(value) ? value : wrongType(scalar?.type ?? type, path, report)
}

function decodeStruct(
  { struct, resets = [] }: Extract<GoType, { struct: object }>,
  value: unknown,
  path: string,
  report: GoReport,
  before: unknown,
): unknown {
  const fields: Record<string, unknown> = isObject(before) ? { ...before } : {}
  for (const name of resets) delete fields[name]
  if (value === null) return fields
  if (!isObject(value)) return wrongType('object', path, report)
  const seen = new Set<string>()
  for (const [name, member] of goMembers(value)) {
    const at = path === '' ? name : `${path}.${name}`
    const field = findField(struct, name)
    const type = field === undefined ? undefined : struct[field]
    if (field === undefined || type === undefined) {
      warn(report, at, `unknown field; ignored, as in volcano-global${suggest(name, Object.keys(struct))}`)
      continue
    }
    if (name !== field) warn(report, at, `read as ${field}, as in volcano-global; write ${field}`)
    if (seen.has(field)) warn(report, at, 'given twice; the last one applies, as in volcano-global')
    seen.add(field)
    fields[field] = decodeGo(type, member, path === '' ? field : `${path}.${field}`, report, fields[field])
  }
  return fields
}

/** Finds the field of a name: the exact one, or else one that differs in case only (encoding/json, foldName). */
function findField(struct: Readonly<Record<string, GoType>>, name: string): string | undefined {
  if (Object.hasOwn(struct, name)) return name
  const folded = fold(name)
  return Object.keys(struct).find((field) => fold(field) === folded)
}

/** Folds case as Go does. Two letters outside ASCII fold to ASCII: the long s, and the sign of Kelvin. */
function fold(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase()
}

function decodeMap(type: GoType, value: unknown, path: string, report: GoReport, before: unknown): unknown {
  if (!isObject(value)) return wrongType('object', path, report)
  const entries = new Map(isObject(before) ? Object.entries(before) : [])
  const seen = new Set<string>()
  for (const [key, member] of goMembers(value)) {
    const at = `${path}[${key}]`
    if (seen.has(key)) warn(report, at, 'given twice; the last one applies, as in volcano-global')
    seen.add(key)
    entries.set(key, decodeGo(type, member, at, report) ?? null)
  }
  return Object.fromEntries(entries)
}

/** Adds a warning. The first ones are listed, and the last one counts the others: a large file can have a million. */
export function warn({ warnings }: GoReport, path: string, message: string): void {
  const last = warnings.at(-1)
  if (warnings.length < MAX_WARNINGS) warnings.push({ path: cut(path, MAX_PATH_LENGTH), message })
  else if (warnings.length === MAX_WARNINGS) warnings.push({ path: '(root)', message: 'and 1 more warnings', count: 1 })
  else if (last?.count !== undefined) {
    last.count++
    last.message = `and ${last.count} more warnings`
  }
}

const MAX_WARNINGS = 20
/** In characters. */
const MAX_PATH_LENGTH = 256

function wrongType(type: string, path: string, { errors }: GoReport): undefined {
  errors.push({ path: path || '(root)', code: 'Invalid', message: `must be of type ${type}` })
  return undefined
}
