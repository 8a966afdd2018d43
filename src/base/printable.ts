/** Makes text of other programs, such as a message from a cluster, safe to print in one line of a terminal or a log. */

/** Control characters, which break a line or steer a terminal, and the marks that reverse the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu

/** Replaces characters that are not printable by a space. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ')
}

/** Escapes the control characters that JSON and YAML keep within quotes: a terminal would obey them. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
}
