/** Measures a JSON text without parsing it: the number of its values determines the memory, and its depth the stack of recursive functions. */

/** A real object has about one value per 20 bytes. 500,000 empty objects use 28 MiB of heap. */
export const MAX_JSON_VALUES = 500_000
/** Objects of Kubernetes have less than 50 levels. Recursive functions reach several thousand. */
export const MAX_JSON_DEPTH = 1_000
/** A shorter text cannot exceed the limit. */
const SMALL_LENGTH = MAX_JSON_VALUES

const COMMA = 0x2c
const BRACE = 0x7b
const BRACE_END = 0x7d
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Whether a text has more values than the limit. Each list and object begins with a bracket, and each further item follows a comma. Strings
 * are skipped with `indexOf`, which is faster than a loop over their characters. The text may be invalid JSON.
 */
export function hasTooManyValues(text: string): boolean {
  if (text.length < SMALL_LENGTH) return false
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === COMMA || unit === BRACE || unit === BRACKET) count++
    else if (unit === QUOTE) i = endOfString(text, i)
  }
  return count > MAX_JSON_VALUES
}

/** Whether lists and objects are nested deeper than the limit. The text may be invalid JSON. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === QUOTE) i = endOfString(text, i)
    else if (unit === BRACE_END || unit === BRACKET_END) depth--
    else if ((unit === BRACE || unit === BRACKET) && ++depth > MAX_JSON_DEPTH) return true
  }
  return false
}

/** Returns the end of the string that begins at `start`: the next quote without an escape. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
