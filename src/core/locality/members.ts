/** Looks into JSON of unknown shape. */

export type Members = Readonly<Record<string, unknown>>

/** A value's members when it is an object. */
export function members(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}
