/** Reads members of JSON values of unknown shape. */
import { isObject } from '../../base/json.ts'

export type Members = Readonly<Record<string, unknown>>

/** Returns the value as an object; undefined for any other value. */
export function members(value: unknown): Members | undefined {
  return isObject(value) ? value : undefined
}
