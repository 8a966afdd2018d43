/** How many values a JSON text has, counted without parsing it: what parsing takes in memory follows from that. */

/** A real object has a value in some 20 bytes. 500,000 empty objects take 28 MiB of heap. */
export const MAX_JSON_VALUES = 500_000
/** A shorter text cannot have so many. */
const SMALL_LENGTH = MAX_JSON_VALUES

/** Each begins a value, or separates one from the next. */
const MARKS = [',', '{', '[']

/**
 * Whether a text has more values than the limit. Each value but the first of a list or object follows a comma, and each list or object
 * begins with a bracket. Those inside strings count as well: hardly any string has many.
 *
 * `indexOf` skips long strings at the speed of memory, which a loop over the characters does not.
 */
export function hasTooManyValues(text: string): boolean {
  if (text.length < SMALL_LENGTH) return false
  let count = 0
  for (const mark of MARKS) {
    for (let i = text.indexOf(mark); i >= 0; i = text.indexOf(mark, i + 1)) {
      count++
      if (count > MAX_JSON_VALUES) return true
    }
  }
  return false
}
