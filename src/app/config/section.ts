/** Declares the configuration: each field has its JSON Schema, its default, its meaning and, derived from the default, its type. */
import { defined } from '../../base/json.ts'
import { SUBDOMAIN_PATTERN } from '../../base/names.ts'

export const text = { type: 'string', minLength: 1 }
/** The name of an object of Kubernetes. The API server rejects every request with another one. */
export const objectName = {
  type: 'string',
  maxLength: 253,
  pattern: `^${SUBDOMAIN_PATTERN}$`,
  errorMessage: 'must be lower-case letters, digits, "-" and ".", e.g. my-app',
}
/** The name of a namespace or a Service. */
export const labelName = {
  type: 'string',
  pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
  errorMessage: 'must be lower-case letters, digits and "-", e.g. team-a',
}
export const flag = { type: 'boolean' }
export const port = { type: 'integer', minimum: 0, maximum: 65_535 }

export interface Field<Value, Schema extends object = object> {
  readonly schema: Schema
  readonly default: Value
  /** For the page docs/reference/configuration.md: with bounds and default beside it, and links relative to that folder. */
  readonly meaning?: string
  /** The fields of a section. */
  readonly fields?: Fields
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The object of the values. A field without a default is optional. */
type Values<F extends Fields> = {
  [K in keyof F as undefined extends F[K]['default'] ? never : K]: F[K]['default']
} & {
  [K in keyof F as undefined extends F[K]['default'] ? K : never]?: Exclude<F[K]['default'], undefined>
}

interface SectionSchema<F extends Fields> {
  type: 'object'
  properties: { [K in keyof F]: F[K]['schema'] }
}

/** Declares a field with a default. */
export function field<Value, Schema extends object>(
  schema: Schema,
  value: Value,
  meaning: string,
): Field<Value, Schema> {
  return { schema, default: value, meaning }
}

/** Declares a field without a default. */
export function optional<Value>(schema: object, meaning: string): Field<Value | undefined> {
  return { schema, default: undefined, meaning }
}

/** Declares a field with one of some texts. */
export function choice<const Value extends string>(
  values: readonly Value[],
  value: NoInfer<Value>,
  meaning: string,
): Field<Value, { enum: readonly Value[] }> {
  return { schema: { enum: values }, default: value, meaning }
}

/** Declares a list of texts. */
export function list(value: string[], meaning: string, items: object = text): Field<string[]> {
  return { schema: { type: 'array', items }, default: value, meaning }
}

/** Joins fields to an object, which may be a field itself. */
export function section<F extends Fields>(fields: F): Field<Values<F>, SectionSchema<F>> {
  const entries = Object.entries(fields)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        entries.map(([name, { schema }]) => [name, schema]),
      ) as SectionSchema<F>['properties'],
    },
    default: defined(Object.fromEntries(entries.map(([name, each]) => [name, each.default]))) as Values<F>,
    fields,
  }
}
