/** Parses the text of a configuration: JSON or YAML. No error quotes the text, which may have credentials. */
import { LineCounter, parseDocument } from 'yaml'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../base/json-comment.ts'
import { SystemConfigError } from './system-config-error.ts'

/** The errors of the YAML parser in words. Its own messages may quote the text. */
const MISTAKES: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: 'a text in double quotes has an unknown escape sequence; use single quotes',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BAD_SCALAR_START: 'a value begins with a reserved character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'the line has a second colon; put the value in quotes',
  DUPLICATE_KEY: 'the field is given twice',
  MISSING_CHAR: 'a colon, comma, quote or bracket is missing',
  MULTIPLE_DOCS: 'a second document begins here; put each data system into its own file',
  TAB_AS_INDENT: 'tabs are not allowed as indentation',
}

/** Parses JSON, then YAML, which does not allow the tabs of JSON. Throws `SystemConfigError` with the line of the first error. */
export function parseText(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The text is YAML, or JSON with comments that begin with #, which the YAML parser accepts.
  }
  const comment = findJsonComment(text)
  if (comment !== undefined) throw new SystemConfigError(file, { line: comment.line, reason: JSON_COMMENT_MESSAGE })
  const lines = new LineCounter()
  // With the level `silent`, the parser ignores a second document.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const [error] = document.errors
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0])
    throw new SystemConfigError(file, {
      line,
      reason: `is not valid JSON or YAML: ${MISTAKES[error.code] ?? error.code}`,
    })
  }
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    // Aliases alone fail here: those without an anchor, and those that would fill the memory.
    throw new SystemConfigError(file, { reason: 'has too many aliases, or an alias without an anchor', cause })
  }
}
