/** Cuts texts without leaving half of a character. */

/**
 * Returns the first characters of a text, at most `max` UTF-16 code units. Half of a surrogate pair at the end is left out: it is invalid,
 * and the API server would replace it.
 */
export function firstCharacters(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '')
}
