/** Looks into JSON of unknown shape. */

import { isObject } from '../json.ts'

export type Members = Readonly<Record<string, unknown>>

/** A value's members when it is an object. */
export function members(value: unknown): Members | undefined {
  return isObject(value) ? value : undefined
}
