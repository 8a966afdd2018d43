/** Removes null values of the fields that a JSON Schema declares. */
import { isObject } from '../json.ts'
import type { JsonSchema } from './explain-mismatch.ts'

/**
 * Returns the value without the fields that are null; the same value if there are none. Members of maps stay, because a key without a value is
 * likely a mistake. For instance, a location without clusters must not match like one that is not listed.
 */
export function withoutNullFields(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return value
    // Most items of hostile lists are scalars: a call for each of them takes longer than JSON.parse.
    const kept = value.map((item) => (typeof item === 'object' ? withoutNullFields(items, item) : item))
    return kept.every((item, i) => item === value[i]) ? value : kept
  }
  if (!isObject(value)) return value
  const { properties = {} } = schema
  const members = Object.entries(value)
  const kept = members.flatMap(([name, member]): [string, unknown][] => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (field === undefined) return [[name, member]]
    return member === null ? [] : [[name, withoutNullFields(field, member)]]
  })
  const isSame = kept.length === members.length && kept.every(([name, member]) => member === value[name])
  return isSame ? value : Object.fromEntries(kept)
}
