/** Finds comments of JavaScript in JSON. YAML parsers accept JSON with comments, but read these as a part of a key or a value. */

/** Strings and comments of YAML, which may contain the characters; then a comment of JavaScript. */
const TOKENS = /"(?:[^"\\]|\\.)*"|'[^']*'|(?<=^|\s)#.*|(?<=^|[\s{}[\],])(\/\/|\/\*)/gm

/** Returns the line of the first comment of JavaScript in a text that is JSON; undefined if there is none. Lines count from 1. */
export function findJsonComment(text: string): number | undefined {
  if (!/^\s*(?:[{[]|\/[/*])/.test(text)) return undefined
  for (const { 1: comment, index } of text.matchAll(TOKENS)) {
    if (comment !== undefined) return text.slice(0, index).split('\n').length
  }
  return undefined
}

/** The remedy for such a comment. */
export const JSON_COMMENT_MESSAGE = 'is not valid JSON or YAML: comments begin with #, not with // or /*'
