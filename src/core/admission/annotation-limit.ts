/** Rejects annotations that an API server rejects after its webhooks, before a decision reads them. */
import type { FieldError } from '../../base/field-errors.ts'
import { MAX_ANNOTATIONS_BYTES } from './object-size.ts'

/**
 * Returns an error if annotations are too long. Mutating webhooks run before the validation of the API server, so they get up to 3 MiB.
 *
 * @param path the path of the annotations in the object
 * @param added the bytes that a decision adds to them
 */
export function annotationSizeErrors(annotations: object = {}, path: string, added = 0): FieldError[] {
  let bytes = added
  // `Object.entries` of 200,000 members takes longer than JSON.parse.
  for (const key in annotations) {
    const value: unknown = (annotations as Record<string, unknown>)[key]
    // A text has at most as many UTF-16 units as bytes.
    bytes += key.length + (typeof value === 'string' ? value.length : 0)
    if (bytes > MAX_ANNOTATIONS_BYTES) {
      return [{ path, code: 'TooLong', message: `must have at most ${MAX_ANNOTATIONS_BYTES} bytes` }]
    }
  }
  return []
}
