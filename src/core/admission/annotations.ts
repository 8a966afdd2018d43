/** The annotations of a reviewed object: their size, and a copy with changes. */
import type { FieldError } from '../../base/field-errors.ts'
import { memberNames } from '../../base/json.ts'
import { MAX_ANNOTATIONS_BYTES } from './object-size.ts'

/**
 * Returns an error if annotations are too long. Mutating webhooks run before the validation of the API server, so they get up to 3 MiB.
 *
 * @param path the path of the annotations in the object
 * @param added the bytes that a decision adds to them
 */
export function annotationSizeErrors(annotations: object = {}, path: string, added = 0): FieldError[] {
  let bytes = added
  for (const key of memberNames(annotations)) {
    const value: unknown = (annotations as Record<string, unknown>)[key]
    // A text has at most as many UTF-16 units as bytes.
    bytes += key.length + (typeof value === 'string' ? value.length : 0)
    if (bytes > MAX_ANNOTATIONS_BYTES) {
      return [{ path, code: 'TooLong', message: `must have at most ${MAX_ANNOTATIONS_BYTES} bytes` }]
    }
  }
  return []
}

/**
 * Returns a copy of annotations with other texts; `undefined` removes one.
 *
 * A client may send 10,000 annotations. A spread of them takes twice as long as this loop, and as long as all other steps of a decision. Without a
 * prototype, `__proto__` is a name like each other.
 */
export function withAnnotations(
  annotations: Readonly<Record<string, string>> = {},
  changes: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const changed: Record<string, string> = Object.create(null)
  for (const name of memberNames(annotations)) {
    if (!Object.hasOwn(changes, name)) changed[name] = annotations[name] as string
  }
  for (const [name, text] of Object.entries(changes)) {
    if (text !== undefined) changed[name] = text
  }
  return changed
}
