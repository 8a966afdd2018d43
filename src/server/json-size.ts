/** How many values a JSON text has, counted without parsing it: what parsing takes in memory follows from that. */

/** A real object has a value in some 20 bytes. 500,000 empty objects take 28 MiB of heap. */
export const MAX_JSON_VALUES = 500_000
/** A shorter text cannot have so many. */
const SMALL_LENGTH = MAX_JSON_VALUES

const COMMA = 0x2c
const BRACE = 0x7b
const BRACKET = 0x5b

/**
 * Whether a text has more values than the limit. Each value but the first of a list or object follows a comma, and each list or object
 * begins with a bracket. Those inside strings count as well: hardly any string has many.
 */
export function hasTooManyValues(text: string): boolean {
  if (text.length < SMALL_LENGTH) return false
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === COMMA || unit === BRACE || unit === BRACKET) count++
  }
  return count > MAX_JSON_VALUES
}
