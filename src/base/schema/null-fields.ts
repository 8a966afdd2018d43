/** Removes null values of the fields that a JSON Schema declares. */
import { isObject } from '../json.ts'
import type { JsonSchema } from './explain-mismatch.ts'

/**
 * Returns the value without the fields that are null. Members of maps stay, because a key without a value is likely a mistake. For instance,
 * a location without clusters must not match like one that is not listed.
 */
export function withoutNullFields(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => withoutNullFields(items, item))
  }
  if (!isObject(value)) return value
  const { properties = {} } = schema
  const members = Object.entries(value).flatMap(([name, member]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (field === undefined) return [[name, member]]
    return member === null ? [] : [[name, withoutNullFields(field, member)]]
  })
  return Object.fromEntries(members)
}
