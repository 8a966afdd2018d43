/** Finds comments of JavaScript in JSON. YAML parsers accept JSON with comments, but read these as a part of a key or a value. */

/** Strings and comments of YAML, which may contain the characters; then a comment of JavaScript. */
const TOKENS = /"(?:[^"\\]|\\.)*"|'[^']*'|(?<=^|\s)#.*|(?<=^|[\s{}[\],])(\/\/|\/\*)/gm

/** Returns the place of the first comment of JavaScript in a text that is JSON; undefined if there is none. Both numbers count from 1. */
export function findJsonComment(text: string): { line: number; column: number } | undefined {
  if (!/^\s*(?:[{[]|\/[/*])/.test(text)) return undefined
  for (const { 1: comment, index } of text.matchAll(TOKENS)) {
    if (comment === undefined) continue
    const lines = text.slice(0, index).split('\n')
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
  }
  return undefined
}

/** The remedy for such a comment. */
export const JSON_COMMENT_MESSAGE = 'is not valid JSON or YAML: comments begin with #, not with // or /*'
