/** Measures a value as JSON, without building its text: what a decision writes must fit into etcd. */

/**
 * etcd rejects a larger request by default (`--max-request-bytes`). The API server stores custom resources as JSON, and its own kinds in
 * protobuf, which is shorter.
 */
export const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024

/** The most bytes of all annotations of an object, keys and values (apimachinery, pkg/api/validation, TotalAnnotationSizeLimitB). */
export const MAX_ANNOTATIONS_BYTES = 256 * 1024

/** Whether a value has at most `limit` bytes as JSON in UTF-8. */
export function fitsIntoBytes(value: unknown, limit: number = MAX_OBJECT_BYTES): boolean {
  return jsonBytes(value, limit) <= limit
}

/**
 * Returns the bytes of a value as JSON in UTF-8.
 *
 * @param limit the measurement stops beyond it, and returns any number above it
 */
export function jsonBytes(value: unknown, limit: number = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return textBytes(value, limit)
  if (typeof value !== 'object' || value === null) return String(value).length
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += 1 + jsonBytes(item, limit - bytes)
      if (bytes - 1 > limit) break
    }
    return value.length > 0 ? bytes - 1 : bytes
  }
  let members = 0
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    if (member === undefined) continue
    members++
    bytes += 2 + textBytes(key, limit - bytes)
    bytes += jsonBytes(member, limit - bytes)
    if (bytes - 1 > limit) break
  }
  return members > 0 ? bytes - 1 : bytes
}

/** Printable ASCII, except for the quote and the backslash: one byte for each character. */
const PLAIN = /^[ !#-[\]-~]*$/

function textBytes(text: string, limit: number): number {
  if (text.length > limit || PLAIN.test(text)) return text.length + 2
  return utf8Bytes(JSON.stringify(text))
}

/** Returns the UTF-8 bytes of a text without lone surrogates. */
function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff
    // Both units of a surrogate pair together have four bytes.
    bytes += unit < 0x800 || isSurrogate ? 1 : 2
  }
  return bytes
}
