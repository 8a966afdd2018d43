/** Writes words for a shell. */

const PLAIN = /^[\w/:=.,@%+-]+$/
/** A terminal acts on control characters of pasted text, and others hide what it says. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/u

/** Returns a text as one word of bash or zsh. The word is printable. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text
  if (!HIDDEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`
  const escaped = text.replaceAll(/[\\']/g, '\\$&').replaceAll(new RegExp(HIDDEN, 'gu'), escapeCharacter)
  return `$'${escaped}'`
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`
}
