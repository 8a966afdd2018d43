/**
 * The lines of a snapshot, and their limits. A snapshot is JSON Lines in gzip (docs/dev/adr/platform/0035-the-format-of-a-snapshot.md):
 *
 * - the header
 * - `{"kind":"Kind.group"}`: the following rows are objects of this kind
 * - `{"shape":{"metadata":{"name":0},…}}`: the fields of objects, without their values; the next number of shapes
 * - `{"value":…}`: a value that several objects share; the next number of values
 * - `[shape, field, …]`: an object. A field is the number of a value, a text, or a list with any other value.
 * - `{"object":…}`: an object without a shape
 * - `{"end":{"objects":{"Kind.group":2,…}}}`: the last line, with the number of objects of each kind
 */

/** In characters. An API server stores no object above 1.5 MiB, and JSON in JSON needs more characters. */
export const MAX_LINE = 8 * 1024 * 1024
/** In bytes, decompressed. A million bindings with as many claims have about 400 MiB. */
export const MAX_CONTENT = 4 * 1024 * 1024 * 1024
export const MAX_OBJECTS = 16_000_000
/** How deep the open objects below are nested. */
export const MAX_DEPTH = 4

/** How many shapes and shared values a snapshot has at most. */
export interface SharedLimits {
  shapes: number
  values: number
  /** In characters: the length of all shared values. */
  valuesLength: number
}

export const SHARED_LIMITS: SharedLimits = { shapes: 10_000, values: 4_000_000, valuesLength: 256 * 1024 * 1024 }

/** The fields of an object. A field with 0 has a value in the row; a field with a shape is an object. */
export interface Shape {
  [field: string]: 0 | Shape
}

/** The objects whose fields have a value each in a row. All other objects and lists are one value. */
const OPEN: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.annotations',
  'spec',
  'spec.resource',
  'spec.workload',
])

/** The objects that are one value if they repeat: all claims of a source have the same status. */
const OPEN_IF_UNIQUE: ReadonlySet<string> = new Set(['spec.locality', 'status'])

/** Whether each field of the object at a path has a value in the row. */
export function isOpen(path: string): boolean {
  return OPEN.has(path)
}

/** As `isOpen`, for an object that occurs once. */
export function mayBeOpen(path: string): boolean {
  return OPEN_IF_UNIQUE.has(path)
}

/** A member of this name cannot be assigned. */
export const PROTOTYPE = '__proto__'
