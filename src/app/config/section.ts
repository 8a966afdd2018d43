/** Declares the configuration: one text per field gives its JSON Schema, its default and, derived from the default, its type. */
import { defined } from '../../base/json.ts'

export const text = { type: 'string', minLength: 1 }
export const flag = { type: 'boolean' }
export const port = { type: 'integer', minimum: 0, maximum: 65_535 }

export interface Field<Value, Schema extends object = object> {
  readonly schema: Schema
  readonly default: Value
}

type Fields = Readonly<Record<string, Field<unknown>>>

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
export function field<Value, Schema extends object>(schema: Schema, value: Value): Field<Value, Schema> {
  return { schema, default: value }
}

/** Declares a field without a default. */
export function optional<Value>(schema: object): Field<Value | undefined> {
  return { schema, default: undefined }
}

/** Declares a field with one of some texts. */
export function choice<const Value extends string>(
  values: readonly Value[],
  value: NoInfer<Value>,
): Field<Value, { enum: readonly Value[] }> {
  return { schema: { enum: values }, default: value }
}

/** Declares a list of texts that are not empty. */
export function list(value: string[] = []): Field<string[]> {
  return { schema: { type: 'array', items: text }, default: value }
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
  }
}
